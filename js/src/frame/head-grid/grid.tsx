/** The cells of the head grid: a canvas, and a real button a head on top of it. */

import { exact } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { Button } from "../../ui/controls";
import { memo } from "../../ui/memo";
import type { GridInput } from "./input";
import type { About, GridModel } from "./model";

/** The smallest cell above which two digits have room; below it, every so many columns are named. */
const LABEL_CELL = 13;
const NAMED = { upright: 2, side: 5 } as const;

const Head = ({
  layer,
  head,
  about: { label, value, role },
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
    unnamed,
  }: {
    readonly model: GridModel;
    readonly layer: number;
    /** Class of a label that has no room. */
    readonly unnamed: string;
    readonly about: readonly About[];
    readonly pressed: number | "all" | null;
    readonly entry: number;
  }) => (
    <>
      <span
        class={`aw-grid-layer${unnamed}`}
        aria-hidden="true"
        data-number={layer}
        title={`Mean of the heads of layer ${layer}`}
      >
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
  const { layers, heads, side, columns, selection, layered, about, cell, waiting, parts } = model;
  const { layer: row, head } = selection.value;
  const byLayer = layered.value;
  const mean = head === "mean" || byLayer;
  const words = about.value;
  const [, column] = input.chosen();
  const tight = cell.value < LABEL_CELL && columns > 10;
  const unnamed = (i: number, across: boolean): string =>
    tight && across && i % NAMED[side ? "side" : "upright"] !== 0 ? " is-unnamed" : "";
  const lines = { along: "2 / -1", layer: `${row + 2} / ${row + 3}` };
  return (
    <div
      class={`aw-grid ${side ? "is-side" : "is-upright"}${byLayer ? " is-layers" : ""}`}
      role="group"
      aria-label="Heads by layer"
      aria-busy={waiting.value !== null || undefined}
      data-aw-mean={mean ? "" : undefined}
      style={{ "--aw-cell": `${cell.value}px`, "--aw-heads": heads, "--aw-layers": layers }}
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
        <span class="aw-grid-across">{side ? "layer" : "head"}</span>
        <span class="aw-grid-down">{side ? "head" : "layer"}</span>
      </span>
      {Array.from({ length: heads }, (_, k) => (
        <span
          key={`h${k}`}
          class={`aw-grid-number${unnamed(k, !side)}`}
          aria-hidden="true"
          data-number={k}
          title={`Head ${k} of the chosen layer`}
        >
          {k}
        </span>
      ))}
      {Array.from({ length: layers }, (_, l) => (
        <Row
          model={model}
          key={`l${l}`}
          layer={l}
          unnamed={unnamed(l, side)}
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
        style={
          side
            ? { gridColumn: lines.layer, gridRow: lines.along }
            : { gridColumn: lines.along, gridRow: lines.layer }
        }
      />
    </div>
  );
});
