/** A heat map on its two canvases: cells below; cursor, pin and labels above. */

import { maxPool } from "../../figures/derive/matrix";
import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import { fitText, hatching, heatImage, penOf, pixelRatio } from "../canvas";
import { inkOn, ramp } from "../color/ramp";
import { signedIndex } from "../color/scale";
import type { Palette } from "../color/theme";
import { giveWay, isSign, pickLabels } from "../heatmap/axis";
import type { Track } from "../heatmap/types";
import { type CellAt, type Geometry, GUTTER_PAD } from "./layout";

export interface CellsData {
  readonly rows: number;
  readonly columns: number;
  /** `[rows, columns]`; NaN = impossible, hatched. */
  readonly values: Float32Array;
  /** Upper end of the ramp. */
  readonly top: number;
  readonly scale: Scale;
  /** From `-top` to `top` around a true zero, whatever the scale. */
  readonly signed?: boolean;
  /** Text inside a cell of this width and height (px); null: none. */
  readonly mark?: (value: number, width: number, height: number) => string | null;
  /** Numbers that cells of value 0 show in pale colors, `[rows, columns]`. */
  readonly faint?: Float32Array | null;
  readonly rowLabels: readonly string[];
  readonly columnLabels: readonly string[];
}

/** Marked cells: under the cursor, pinned, and the chosen row (-1: none). */
interface CellMarks {
  readonly cursor: CellAt | null;
  readonly pinned: CellAt | null;
  readonly row: number;
}

const FONT = 11;
/** Least side of a cell with a text in it (px). */
const MARKED = 10;
const LABEL_GAP = 13;
/** From this size on cells stand apart (px). */
const APART_FROM = 8;

/** Widths of the longest names of rows and of columns (px). */
export function longestLabels(
  canvas: HTMLCanvasElement,
  { rowLabels, columnLabels }: CellsData,
  font: string,
): { row: number; column: number } {
  const pen = penOf(canvas);
  pen.font = `600 ${FONT}px ${font}`;
  const longest = (labels: readonly string[]): number =>
    labels.reduce((most, label) => Math.max(most, pen.measureText(label).width), 0);
  return { row: longest(rowLabels), column: longest(columnLabels) };
}

export function paintCells(
  context: CanvasRenderingContext2D,
  data: CellsData,
  g: Geometry,
  colors: Palette,
): void {
  const { values, rows, columns, top, scale, signed = false } = data;
  const ratio = pixelRatio();
  const pooled = maxPool(
    values,
    [rows, columns],
    [Math.max(1, Math.round(g.height * ratio)), Math.max(1, Math.round(g.width * ratio))],
  );
  const image = heatImage(pooled.data, pooled.shape[0], pooled.shape[1], {
    words: ramp(signed ? "signed" : "weight", colors.mode).words,
    top: scale === "unit" && !signed ? 1 : top,
    root: scale === "sqrt" && !signed,
    signed,
  });
  context.imageSmoothingEnabled = false;
  context.drawImage(image, g.left, g.top, g.width, g.height);
  hatch(context, values, g, colors);
  paintFaint(context, data, g, colors);
  context.fillStyle = colors.ground;
  if (g.columns.size >= APART_FROM) {
    for (let j = 1; j < columns; j++) {
      context.fillRect(g.left + j * g.columns.size, g.top, 1, g.height);
    }
  }
  if (g.rows.size >= APART_FROM) {
    for (let i = 1; i < rows; i++) {
      context.fillRect(g.left, g.top + i * g.rows.size, g.width, 1);
    }
  }
  context.strokeStyle = colors.line;
  context.strokeRect(g.left - 0.5, g.top - 0.5, g.width + 1, g.height + 1);
  paintTexts(context, data, g, colors);
}

/** Part of a color in a cell that does not count. */
const FAINT = 0.3;

/** Pale cells for those numbers that do not count. */
function paintFaint(
  context: CanvasRenderingContext2D,
  { values, faint, rows, columns, top, signed = false }: CellsData,
  g: Geometry,
  colors: Palette,
): void {
  if (faint == null) return;
  const { css } = ramp(signed ? "signed" : "weight", colors.mode);
  context.globalAlpha = FAINT;
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      if (values[i * columns + j] !== 0) continue;
      const value = itemAt(faint, i * columns + j);
      context.fillStyle = itemAt(css, signedIndex(value, top));
      const [left, width] = [g.left + j * g.columns.size, g.columns.size];
      context.fillRect(left, g.top + i * g.rows.size, width, g.rows.size);
    }
  }
  context.globalAlpha = 1;
}

/** Texts in the cells of a signed map, where they have room. */
function paintTexts(
  context: CanvasRenderingContext2D,
  { values, faint, rows, columns, top, mark, signed = false }: CellsData,
  g: Geometry,
  colors: Palette,
): void {
  const [width, height] = [g.columns.size, g.rows.size];
  if (mark === undefined || !signed || Math.min(width, height) < MARKED) return;
  const { rgb } = ramp("signed", colors.mode);
  context.font = `${FONT}px ${colors.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const own = values[i * columns + j] as number;
      const pale = faint != null && own === 0;
      const value = pale ? itemAt(faint, i * columns + j) : own;
      const text = Number.isNaN(value) ? null : mark(value, width, height);
      // A sign alone says nothing about a number that does not count.
      if (text === null || (pale && !/\d/.test(text))) continue;
      context.fillStyle = pale ? colors.muted : inkOn(itemAt(rgb, signedIndex(value, top)));
      context.fillText(text, g.left + (j + 0.5) * width, g.top + (i + 0.5) * height);
    }
  }
}

/** Impossible cells, run by run. */
function hatch(
  context: CanvasRenderingContext2D,
  values: Float32Array,
  { left, top, rows, columns }: Geometry,
  colors: Palette,
): void {
  if (!values.some(Number.isNaN)) return;
  const pattern = hatching(context, colors.muted);
  for (let i = 0; i < rows.count; i++) {
    const impossible = (j: number): boolean =>
      j < columns.count && Number.isNaN(values[i * columns.count + j]);
    for (let j = 0; j < columns.count; j++) {
      if (!impossible(j)) continue;
      const first = j;
      while (impossible(j)) j++;
      for (const fill of [colors.ground, pattern]) {
        context.fillStyle = fill;
        context.fillRect(
          left + first * columns.size,
          top + i * rows.size,
          (j - first) * columns.size,
          rows.size,
        );
      }
    }
  }
}

export function paintOver(
  context: CanvasRenderingContext2D,
  data: CellsData,
  g: Geometry,
  colors: Palette,
  marks: CellMarks,
): void {
  // Small cells get room inside a frame, which would cover them.
  const high = Math.max(0, (6 - g.rows.size) / 2);
  const box = ({ row, column }: CellAt, color: string, line: number): void => {
    const grow = Math.max(0, (6 - g.columns.size) / 2);
    context.strokeStyle = color;
    context.lineWidth = line;
    context.strokeRect(
      g.left + column * g.columns.size - grow,
      g.top + row * g.rows.size - high,
      g.columns.size + 2 * grow,
      g.rows.size + 2 * high,
    );
  };
  if (marks.row >= 0) {
    context.strokeStyle = colors.ink;
    context.lineWidth = 1.5;
    context.strokeRect(
      g.left,
      g.top + marks.row * g.rows.size - high,
      g.width,
      g.rows.size + 2 * high,
    );
  }
  if (marks.cursor !== null) {
    box(marks.cursor, colors.ground, 3);
    box(marks.cursor, colors.ink, 1.5);
  }
  if (marks.pinned !== null) {
    box(marks.pinned, colors.ground, 4);
    box(marks.pinned, colors.accent, 2);
  }
  paintLabels(context, data, g, colors, marks);
}

function paintLabels(
  context: CanvasRenderingContext2D,
  { values, rows, columns, rowLabels, columnLabels }: CellsData,
  g: Geometry,
  colors: Palette,
  { cursor, pinned, row }: CellMarks,
): void {
  context.textBaseline = "middle";
  context.direction = "ltr";
  // If not all labels fit, the strongest rows and columns have theirs.
  const strongest = (count: number, at: (i: number, k: number) => number, across: number) =>
    Float32Array.from({ length: count }, (_, i) => {
      let most = 0;
      for (let k = 0; k < across; k++)
        most = Math.max(most, Math.abs(values[at(i, k)] as number) || 0);
      return most;
    });
  const write = (
    track: Track,
    extent: number,
    priority: Float32Array,
    highlighted: readonly number[],
    put: (i: number, middle: number) => void,
  ): void => {
    const strong = [...new Set(highlighted)].filter((i) => i >= 0);
    const chosen = pickLabels(track, [track.start, track.start + extent], LABEL_GAP, priority);
    for (const i of [...giveWay(chosen, strong, track, LABEL_GAP), ...strong]) {
      const bold = strong.includes(i);
      context.font = `${bold ? "600 " : ""}${FONT}px ${colors.font}`;
      context.fillStyle = bold ? colors.ink : colors.muted;
      put(i, track.start + (i + 0.5) * track.size);
    }
  };
  const cells = [cursor, pinned].filter((cell) => cell !== null);
  write(
    g.rows,
    g.height,
    strongest(rows, (i, k) => i * columns + k, columns),
    [...cells.map((cell) => cell.row), row],
    (i, middle) => {
      context.textAlign = "right";
      const room = g.left - GUTTER_PAD;
      context.fillText(fitText(context, itemAt(rowLabels, i), room + 1), room + 2, middle);
    },
  );
  write(
    g.columns,
    g.width,
    strongest(columns, (j, k) => k * columns + j, rows),
    cells.map(({ column }) => column),
    (j, middle) => {
      if (!g.upright || isSign(itemAt(columnLabels, j))) {
        context.textAlign = "center";
        context.fillText(itemAt(columnLabels, j), middle, g.top - 10);
        return;
      }
      context.save();
      context.translate(middle, g.top - 6);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(fitText(context, itemAt(columnLabels, j), g.top - GUTTER_PAD + 1), 0, 0);
      context.restore();
    },
  );
}
