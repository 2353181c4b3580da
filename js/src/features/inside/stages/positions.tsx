/** Learned and sinusoidal position encodings side by side. */

import { signal } from "@preact/signals-core";
import { type Mode, ramp } from "../../../draw/color/ramp";
import { signedIndex } from "../../../draw/color/scale";
import { consume } from "../../../draw/dom";
import { formatNumber } from "../../../figures/format";
import { isAbort, messageOf } from "../../../protocol/failure";
import { itemAt } from "../../../protocol/required";
import { largestAbsolute } from "../../../protocol/ties";
import type { NdArray } from "../../../protocol/types";
import { memo } from "../../../ui/memo";
import { setTo } from "../../../ui/mount";
import { Num } from "../../../ui/number";
import type { StageContext } from "../content";
import { firstWindow, tableWindow } from "../data";

const MAX_POSITIONS = 64;
const MIN_POSITIONS = 16;

const TABLES = [
  ["position_table", "Learned by this model"],
  ["sinusoid", "Sinusoidal (Vaswani et al. 2017)"],
] as const;
/** Title of a table that the model computes. */
const COMPUTED = "Sinusoidal, as this model orders it: sines, then cosines";

const Heat = memo(function Heat({
  table: { data, shape },
  mode,
}: {
  readonly table: NdArray;
  readonly mode: Mode;
}) {
  const [rows, columns] = shape as readonly [number, number];
  const paint = (canvas: HTMLCanvasElement | null): void => {
    const context = canvas?.getContext("2d") ?? null;
    if (context === null) return;
    const image = context.createImageData(columns, rows);
    const { words } = ramp("signed", mode);
    const top = largestAbsolute(data);
    const pixels = new Uint32Array(image.data.buffer);
    data.forEach((value, i) => {
      pixels[i] = itemAt(words, signedIndex(value, top));
    });
    context.putImageData(image, 0, 0);
  };
  return <canvas width={columns} height={rows} aria-hidden="true" ref={paint} />;
});

function heatMap(table: NdArray, name: string, title: string, { token, mode }: StageContext) {
  const [rows, columns] = table.shape as readonly [number, number];
  const legend = `${rows} positions down, dimensions 0 to ${columns - 1} across; ± ${formatNumber(largestAbsolute(table.data))}`;
  /** The number that is read. */
  const read = signal<{ readonly row: number; readonly column: number } | null>(null);
  let last = { row: Math.min(token, rows - 1), column: 0 };
  const inside = (index: number, size: number): number => Math.min(Math.max(index, 0), size - 1);
  const go = (row: number, column: number): void => {
    last = { row: inside(row, rows), column: inside(column, columns) };
    read.value = last;
  };
  const onKey = (event: KeyboardEvent): void => {
    const shift = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[
      event.key
    ];
    if (shift === undefined) return;
    go(last.row + itemAt(shift, 0), last.column + itemAt(shift, 1));
    consume(event);
  };
  const HeatMap = memo(() => (
    <figure class="aw-inside-table">
      <h4 class="aw-title">{title}</h4>
      <div
        class="aw-inside-heat"
        role="application"
        aria-roledescription="heat map"
        aria-label={`${title}: ${legend}. Arrow keys read single values.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys read its numbers
        tabIndex={0}
        data-aw-part="positions"
        data-tensor={name}
        onPointerMove={({ currentTarget, clientX, clientY }) => {
          const box = currentTarget.getBoundingClientRect();
          go(
            Math.floor(((clientY - box.top) / box.height) * rows),
            Math.floor(((clientX - box.left) / box.width) * columns),
          );
        }}
        onPointerLeave={setTo(read, null)}
        onKeyDown={onKey}
      >
        <Heat table={table} mode={mode.value} />
        <i
          class="aw-inside-heat-row"
          hidden={token >= rows}
          style={{ top: `${(100 * token) / rows}%`, height: `${100 / rows}%` }}
        />
      </div>
      <figcaption class="aw-view-note" aria-live="polite">
        {read.value === null
          ? legend
          : `position ${read.value.row}, dimension ${read.value.column}: `}
        {read.value !== null && (
          <Num value={itemAt(table.data, read.value.row * columns + read.value.column)} />
        )}
      </figcaption>
    </figure>
  ));
  return <HeatMap key={name} />;
}

/** Both tables, or why there are none. */
export async function positionTables(stage: StageContext) {
  const { view, arch, signal } = stage;
  const { source } = view;
  const { tokens, model } = source.meta;
  let reason = arch.missing.position_table ?? null;
  let tables: NdArray[] = [];
  const rows = Math.min(
    Math.max(tokens.text.length, MIN_POSITIONS),
    MAX_POSITIONS,
    model.max_length,
  );
  const columns = [0, Math.min(firstWindow("position_table"), arch.embedding)] as const;
  if (reason === null) {
    try {
      tables = await Promise.all(
        TABLES.map(([name]) => tableWindow(source, name, rows, columns, signal)),
      );
    } catch (error) {
      if (isAbort(error)) throw error;
      reason = messageOf(error);
    }
  }
  return (
    <section class="aw-inside-positions" aria-label="Position encodings">
      {reason !== null && <p class="aw-view-note">{reason}</p>}
      {tables.map((table, i) => {
        const [name, caption] = itemAt(TABLES, i);
        const title = name === "position_table" && arch.sinusoidal ? COMPUTED : caption;
        return heatMap(table, name, title, stage);
      })}
    </section>
  );
}
