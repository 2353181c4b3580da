/** The cells of the head grid: a canvas, and a real button a head on top of it. */

import { exact } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { Button } from "../../ui/controls";
import { memo } from "../../ui/memo";
import type { GridInput } from "./input";
import type { About, GridModel } from "./model";

/** The smallest cell above which two digits have room. */
const LABEL_CELL = 13;

const Head = ({
  layer,
  head,
  about: { label, title, value, role },
  pressed,
  entry,
  off,
  absent,
}: {
  readonly layer: number;
  readonly head: number;
  readonly about: About;
  readonly pressed: boolean;
  readonly entry: boolean;
  readonly off: boolean;
  readonly absent: boolean;
}) => (
  <Button
    class={`aw-grid-head${absent ? " is-absent" : ""}${off ? " is-off" : ""}`}
    label={label}
    title={title}
    tabIndex={entry ? 0 : -1}
    aria-pressed={pressed}
    aria-disabled={absent || undefined}
    data-layer={layer}
    data-head={head}
    data-aw-value={value === undefined ? undefined : exact(value)}
    data-aw-role={role}
  />
);

/** A layer: drawn again only where the chosen head comes or goes. */
const Row = memo(
  ({
    model: { heads, off, isSaved },
    layer,
    about: words,
    pressed,
    entry,
  }: {
    readonly model: GridModel;
    readonly layer: number;
    readonly about: readonly About[];
    readonly pressed: number | "all" | null;
    readonly entry: number;
  }) => (
    <>
      <span class="aw-grid-row" aria-hidden="true">
        {layer}
      </span>
      {Array.from({ length: heads }, (_, k) => (
        <Head
          key={k}
          layer={layer}
          head={k}
          about={itemAt(words, layer * heads + k)}
          pressed={pressed === "all" || pressed === k}
          entry={entry === k}
          off={off.isOff(layer, k)}
          absent={!isSaved(layer, k)}
        />
      ))}
    </>
  ),
);

export const Grid = memo(function Grid({
  model,
  input,
}: {
  readonly model: GridModel;
  readonly input: GridInput;
}) {
  const { layers, heads, selection, layered, about, cell, waiting, parts } = model;
  const { layer: row, head } = selection.value;
  const byLayer = layered.value;
  const mean = head === "mean" || byLayer;
  const words = about.value;
  const [, column] = input.chosen();
  return (
    <div
      class={`aw-grid${byLayer ? " is-layers" : ""}${cell.value < LABEL_CELL && heads > 10 ? " is-tight" : ""}`}
      role="group"
      aria-label="Heads by layer"
      aria-busy={waiting.value !== null || undefined}
      data-aw-mean={mean ? "" : undefined}
      style={{ "--aw-cell": `${cell.value}px`, "--aw-heads": heads }}
      ref={(element) => {
        if (element !== null) parts.grid = element;
      }}
      onClick={input.click}
      onKeyDown={input.press}
    >
      <canvas
        class="aw-grid-canvas"
        aria-hidden="true"
        ref={(element) => {
          if (element !== null) parts.canvas = element;
        }}
      />
      <span class="aw-grid-corner" aria-hidden="true">
        <span class="aw-grid-heads">head</span>
        <span class="aw-grid-layers">layer</span>
      </span>
      {Array.from({ length: heads }, (_, k) => (
        <span key={`h${k}`} class={`aw-grid-column${k % 2 ? " is-odd" : ""}`} aria-hidden="true">
          {k}
        </span>
      ))}
      {Array.from({ length: layers }, (_, l) => (
        <Row
          model={model}
          key={`l${l}`}
          layer={l}
          about={words}
          pressed={l !== row ? null : byLayer ? 0 : mean ? "all" : head}
          entry={l === row ? (byLayer ? 0 : column) : -1}
        />
      ))}
      {/* The column heads are the first row of the CSS grid, whose lines count from 1. */}
      <span
        class="aw-grid-mean"
        aria-hidden="true"
        hidden={!mean}
        style={{ gridColumn: "2 / -1", gridRow: `${row + 2} / ${row + 3}` }}
      />
    </div>
  );
});
