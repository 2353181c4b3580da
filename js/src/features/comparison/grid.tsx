/** The head grid of a difference: distances, or the change of a metric, one cell a head of A. */

import { signal } from "@preact/signals-core";
import { type Mode, ramp } from "../../draw/color/ramp";
import { signedIndex } from "../../draw/color/scale";
import { consume, step } from "../../draw/dom";
import { exact, formatNumber, formatSigned } from "../../figures/format";
import { metricName, spokenHead } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { Selection, State } from "../../state/selection";
import { Button, Select } from "../../ui/controls";
import { setter } from "../../ui/mount";
import { type Compared, farthest, metricChanges, type Sources } from "./data";
import { ChangeLegend } from "./figures";

const DISTANCE = "distance";
/** Least share of the largest change that has a mark in its cell. */
const MARKED = 0.15;

/** `View` draws the grid for a selection. */
export function createGrid(compared: Compared, sources: Sources, state: State) {
  const { n_layers: layers, n_heads: heads } = sources.a.meta.model;
  const changes = metricChanges(compared, sources);
  const shade = signal(DISTANCE);
  const options = [
    [DISTANCE, "distance"] as const,
    ...changes.map(({ key }) => [key, `${metricName(key)}, B − A`] as const),
  ];

  function press(event: KeyboardEvent): void {
    const grid = event.currentTarget as Element;
    const { layer: l, head: k } = (event.target as HTMLElement).dataset;
    if (l === undefined) return;
    const [layer, head] = [Number(l), Number(k)];
    const down = event.key === "ArrowUp" || event.key === "ArrowDown";
    const next = down ? step(event.key, layer, layers) : step(event.key, head, heads);
    if (next === null) return;
    consume(event);
    const to = down ? { layer: next, head } : { layer, head: next };
    state.set(to);
    grid.querySelector<HTMLElement>(`[data-layer="${to.layer}"][data-head="${to.head}"]`)?.focus();
  }

  return function View({
    selection: { layer, head },
    mode,
  }: {
    readonly selection: Selection;
    readonly mode: Mode;
  }) {
    const change = changes.find(({ key }) => key === shade.value);
    const { distances, reasons } = compared;
    const values = Array.from({ length: layers * heads }, (_, i) =>
      change === undefined
        ? (distances?.data[i] ?? Number.NaN)
        : (change.b[i] ?? Number.NaN) - (change.a[i] ?? Number.NaN),
    );
    const top =
      change === undefined
        ? (farthest(compared)?.distance ?? 0)
        : Math.max(...values.map((value) => Math.abs(value) || 0));
    const { css } = ramp(change === undefined ? "metric" : "signed", mode);
    const cell = (value: number, i: number) => {
      const [l, k] = [Math.floor(i / heads), i % heads];
      const none = Number.isNaN(value);
      const index =
        change === undefined
          ? Math.min(255, Math.round((255 * (none ? 0 : value)) / (top || 1)))
          : signedIndex(value, top);
      const what = none
        ? "no partner"
        : change === undefined
          ? `distance ${formatNumber(value)}`
          : `${metricName(change.key)} ${formatSigned(value)}`;
      const name = `${spokenHead(l, k)}: ${what}`;
      const marked = change !== undefined && Math.abs(value) >= MARKED * top && top > 0;
      const strong = marked && Math.abs(value) > top / 2;
      const chosen = l === layer && (head === "mean" || k === head);
      return (
        <Button
          key={`${l}.${k}`}
          class={`aw-compare-head${none ? " is-absent" : ""}${strong ? " is-strong" : ""}`}
          style={{ background: none ? "" : itemAt(css, index) }}
          data-layer={l}
          data-head={k}
          data-aw-value={exact(value)}
          title={name}
          label={name}
          aria-pressed={chosen}
          tabIndex={chosen ? 0 : -1}
          onClick={() => state.set({ layer: l, head: k })}
        >
          {/* The sign, for readers who cannot tell the colors. */}
          {marked && (value > 0 ? "+" : "−")}
        </Button>
      );
    };
    const axis = (i: number) => (
      <span class="aw-compare-axis" key={i}>
        {i}
      </span>
    );
    return (
      <>
        <div class="aw-panel-head">
          <h3 class="aw-title">Heads</h3>
          <Select
            label="Shade the heads by"
            part="difference-shade"
            options={options}
            value={shade.value}
            choose={setter(shade)}
          />
        </div>
        <div
          class="aw-compare-grid"
          role="group"
          aria-label="Heads by layer"
          style={{ "--aw-heads": heads }}
          onKeyDown={press}
        >
          <span />
          {Array.from({ length: heads }, (_, k) => axis(k))}
          {Array.from({ length: layers }, (_, l) => [
            axis(l),
            ...values
              .slice(l * heads, (l + 1) * heads)
              .map((value, k) => cell(value, l * heads + k)),
          ])}
        </div>
        <div class="aw-muted">
          {change !== undefined ? (
            <ChangeLegend top={top} mode={mode} />
          ) : distances === null ? (
            (reasons.distances ?? "No head can be compared.")
          ) : (
            <>
              <p class="aw-ramp">
                <span>0</span>
                <span
                  class="aw-ramp-bar"
                  style={{
                    background: `linear-gradient(to right, ${[0, 64, 128, 192, 255].map((i) => css[i]).join(", ")})`,
                  }}
                />
                <span>{formatNumber(top)}</span>
              </p>
              <p>Jensen–Shannon distance of each head from its partner; at most 0.833.</p>
            </>
          )}
        </div>
      </>
    );
  };
}
