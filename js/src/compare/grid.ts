/** The head grid of a difference: distances, or the change of a metric, one cell a head of A. */

import { ramp } from "../draw/color/ramp";
import { signedIndex } from "../draw/color/scale";
import { modeOf, onTheme } from "../draw/color/theme";
import { consume, h, step } from "../draw/dom";
import { exact, formatNumber } from "../figures/format";
import { metricName, spokenHead } from "../figures/names";
import { itemAt } from "../protocol/required";
import type { State } from "../state/selection";
import { type Compared, farthest, type Sources } from "./data";
import { metricChanges } from "./panels/heads";
import { signedLegend, signedNumber } from "./signs";

const DISTANCE = "distance";
/** Least share of the largest change that has a mark in its cell. */
const MARKED = 0.15;

export function differenceGrid(
  place: HTMLElement,
  compared: Compared,
  sources: Sources,
  state: State,
  signal: AbortSignal,
): void {
  const { n_layers: nLayers, n_heads: nHeads } = sources.a.meta.model;
  const changes = metricChanges({ compared, sources });
  const shade = h(
    "select",
    { class: "aw-select", "aria-label": "Shade the heads by", "data-aw-part": "difference-shade" },
    h("option", { value: DISTANCE }, "distance"),
    ...changes.map(({ key }) => h("option", { value: key }, `${metricName(key)}, B − A`)),
  );
  const rows = h("div", { class: "aw-compare-grid", style: `--aw-heads: ${nHeads}` });
  const legend = h("div", { class: "aw-compare-legend" });
  place.append(
    h("div", { class: "aw-panel-head" }, h("h3", { class: "aw-title" }, "Heads"), shade),
    rows,
    legend,
  );
  const columns = Array.from({ length: nHeads }, (_, head) =>
    h("span", { class: "aw-compare-axis" }, String(head)),
  );
  const cells: HTMLButtonElement[] = [];
  rows.append(h("span"), ...columns);
  for (let layer = 0; layer < nLayers; layer++) {
    rows.append(h("span", { class: "aw-compare-axis" }, String(layer)));
    for (let head = 0; head < nHeads; head++) {
      const cell = h("button", {
        class: "aw-compare-head",
        "data-layer": layer,
        "data-head": head,
      });
      cells.push(cell);
      rows.append(cell);
    }
  }
  const placeOf = (target: EventTarget | null): number =>
    cells.indexOf((target as Element).closest("button") as HTMLButtonElement);
  rows.addEventListener("click", ({ target }) => {
    const i = placeOf(target);
    if (i >= 0) state.set({ layer: Math.floor(i / nHeads), head: i % nHeads });
  });
  rows.addEventListener("keydown", (event) => {
    const i = placeOf(event.target);
    if (i < 0) return;
    const [layer, head] = [Math.floor(i / nHeads), i % nHeads];
    const down = event.key === "ArrowUp" || event.key === "ArrowDown";
    const next = down ? step(event.key, layer, nLayers) : step(event.key, head, nHeads);
    if (next === null) return;
    consume(event);
    state.set(down ? { layer: next, head } : { layer, head: next });
    itemAt(cells, down ? next * nHeads + head : layer * nHeads + next).focus();
  });

  const paint = (): void => {
    const change = changes.find(({ key }) => key === shade.value);
    const { distances, reasons } = compared;
    if (change === undefined && distances === null) {
      legend.textContent = reasons.distances ?? "No head can be compared.";
    }
    const values = Float32Array.from(cells, (_, i) =>
      change === undefined
        ? (distances?.data[i] ?? Number.NaN)
        : (change.b[i] ?? Number.NaN) - (change.a[i] ?? Number.NaN),
    );
    const top =
      change === undefined
        ? (farthest(compared)?.distance ?? 0)
        : values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);
    const { css } = ramp(change === undefined ? "metric" : "signed", modeOf(place));
    cells.forEach((cell, i) => {
      const value = itemAt(values, i);
      const none = Number.isNaN(value);
      const index =
        change === undefined
          ? Math.min(255, Math.round((255 * (none ? 0 : value)) / (top || 1)))
          : signedIndex(value, top);
      const spoken = none
        ? "no partner"
        : change === undefined
          ? `distance ${formatNumber(value)}`
          : `${metricName(change.key)} ${signedNumber(value)}`;
      const name = `${spokenHead(Math.floor(i / nHeads), i % nHeads)}: ${spoken}`;
      cell.style.background = none ? "" : itemAt(css, index);
      cell.classList.toggle("is-absent", none);
      cell.dataset.awValue = exact(value);
      cell.title = name;
      cell.setAttribute("aria-label", name);
      // The sign, for readers who cannot tell the colors.
      const marked = change !== undefined && Math.abs(value) >= MARKED * top && top > 0;
      cell.textContent = marked ? (value > 0 ? "+" : "−") : "";
      cell.classList.toggle("is-strong", marked && Math.abs(value) > top / 2);
    });
    if (change !== undefined) legend.replaceChildren(signedLegend(place, top));
    else if (distances !== null) {
      const stops = [0, 64, 128, 192, 255].map((i) => css[i]).join(", ");
      legend.replaceChildren(
        h(
          "p",
          { class: "aw-ramp" },
          h("span", {}, "0"),
          h("span", {
            class: "aw-ramp-bar",
            style: `background: linear-gradient(to right, ${stops})`,
          }),
          h("span", {}, formatNumber(top)),
        ),
        h("p", {}, "Jensen–Shannon distance of each head from its partner; at most 0.833."),
      );
    }
  };
  const mark = (): void => {
    const { layer, head } = state.get();
    cells.forEach((cell, i) => {
      const chosen = Math.floor(i / nHeads) === layer && (head === "mean" || i % nHeads === head);
      cell.setAttribute("aria-pressed", String(chosen));
      cell.tabIndex = chosen || (head === "mean" && i === layer * nHeads) ? 0 : -1;
    });
  };
  shade.addEventListener("change", paint);
  state.on(["layer", "head"], mark, signal);
  onTheme(place, paint, signal);
  paint();
  mark();
}
