/** The heads on the grid's canvas: as thumbnails, as shades of a figure, as roles. */

import { penOf } from "../../draw/canvas";
import { category, categoryColor } from "../../draw/color/category";
import { inkOn, RAMP_SIZE, ramp } from "../../draw/color/ramp";
import { rampIndex } from "../../draw/color/scale";
import type { Palette } from "../../draw/color/theme";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { NdArray } from "../../protocol/types";
import type { Scale } from "../../state/selection";

/** Positions of the cells of the head grid, px; `step` is a cell and the gap after it; on its `side`, layers are columns. */
export interface GridCells {
  readonly layers: number;
  readonly heads: number;
  readonly cell: number;
  readonly step: number;
  readonly side: boolean;
}

/** The smallest cell that a letter fits into, px. */
const LETTER_CELL = 12;

/** Smallest end of a thumbnail's ramp, as a share of the head's largest weight: 8 of its 255 steps. */
const FINEST = (8 / 255) ** 2;

const WAITING: Readonly<Record<string, string>> = {
  role: "clustering the heads …",
  effect: "switching off each head …",
};

const THUMBNAIL_NOTES: Readonly<Partial<Record<Scale, string>>> = {
  unit: "each thumbnail is shaded from 0 to 1",
  words: "each thumbnail is shaded up to its own strongest weight, special tokens apart",
};

/** The scale of the thumbnails. */
export const thumbnailNote = (scale: Scale): string =>
  THUMBNAIL_NOTES[scale] ?? "each thumbnail is shaded up to its own strongest weight";

/** The kernel's work for a shade that is not here yet. */
export const waitingFor = (metric: string): string => WAITING[metric] ?? "tagging the words …";

function place(index: number, { heads, step, side }: GridCells): readonly [x: number, y: number] {
  const [across, down] = [(index % heads) * step, Math.floor(index / heads) * step];
  return side ? [down, across] : [across, down];
}

/** Size of the cells of `count` layers, px. */
export const sizeOf = (
  { heads, step, side }: GridCells,
  count: number,
): readonly [width: number, height: number] =>
  side ? [count * step, heads * step] : [heads * step, count * step];

/** Steps of the ramp for the 256 values of a thumbnail, which are roots of shares of `max`, where the ramp ends at `top`. */
export function thumbnailSteps(max: number, top: number, scale: Scale): Uint8Array {
  const steps = new Uint8Array(RAMP_SIZE);
  for (let v = 0; v < RAMP_SIZE; v++) steps[v] = rampIndex((v / 255) ** 2 * max, top, scale);
  return steps;
}

let sheet: HTMLCanvasElement | null = null;

/** A canvas of that size at least for what is copied from it at once: a new one would cost its memory at every key. */
function sheetOf(width: number, height: number): HTMLCanvasElement {
  sheet ??= document.createElement("canvas");
  if (sheet.width < width) sheet.width = width;
  if (sheet.height < height) sheet.height = height;
  return sheet;
}

/**
 * `thumbs` `[L, H, t, u]`, each drawn over the whole of its cell: roots of the shares of `largest` `[L, H]`, NaN where it is not computed yet; `words`: the
 * largest between words. Of all layers, or of `only` one: the others stay.
 */
export function paintThumbnails(
  context: CanvasRenderingContext2D,
  cells: GridCells,
  { mode, line }: Palette,
  scale: Scale,
  thumbs: NdArray,
  largest: NdArray,
  words: NdArray | undefined,
  only?: number,
): void {
  const { layers, heads, cell } = cells;
  const [top, bottom] = only === undefined ? [0, layers] : [only, only + 1];
  const [tall, wide] = [itemAt(thumbs.shape, 2), itemAt(thumbs.shape, 3)];
  const { words: shades } = ramp("weight", mode);
  const sheet = sheetOf(heads * wide, (bottom - top) * tall);
  const pen = penOf(sheet);
  const image = pen.createImageData(heads * wide, (bottom - top) * tall);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = top * heads; i < bottom * heads; i++) {
    const max = largest.data[i] as number;
    const between = (scale === "words" && words?.data[i]) || max;
    // Below, the steps of a thumbnail are too coarse to tell weights apart: all would be the darkest.
    const most = Math.max(between, FINEST * max);
    const steps = thumbnailSteps(max, most, scale);
    const x = (i % heads) * wide;
    const y = (Math.floor(i / heads) - top) * tall;
    for (let r = 0; r < tall; r++) {
      const from = (i * tall + r) * wide;
      const to = (y + r) * image.width + x;
      for (let c = 0; c < wide; c++)
        pixels[to + c] = shades[steps[thumbs.data[from + c] as number] as number] as number;
    }
  }
  pen.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = Math.max(tall, wide) > cell;
  context.imageSmoothingQuality = "high";
  context.strokeStyle = line;
  context.clearRect(...place(top * heads, cells), ...sizeOf(cells, bottom - top));
  for (let i = top * heads; i < bottom * heads; i++) {
    const [row, column] = [Math.floor(i / heads), i % heads];
    const [x, y] = place(i, cells);
    if (Number.isNaN(largest.data[i])) {
      context.strokeRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
      continue;
    }
    const [left, above] = [column * wide, (row - top) * tall];
    context.drawImage(sheet, left, above, wide, tall, x, y, cell, cell);
  }
}

/**
 * From the least to the most of the figures, signed ones from zero outwards; what is N/A is an empty cell with a
 * dash.
 */
export function paintFigures(
  context: CanvasRenderingContext2D,
  cells: GridCells,
  { mode, line, muted }: Palette,
  figures: ArrayLike<number>,
  signed = false,
): { readonly least: number; readonly most: number } {
  const { cell } = cells;
  const { css } = ramp(signed ? "signed" : "metric", mode);
  const all = Array.from(figures);
  const defined = all.filter((value) => !Number.isNaN(value));
  const ends = [Math.min(...defined), Math.max(...defined)] as const;
  const far = Math.max(-ends[0], ends[1]);
  const [least, most] = signed ? [-far, far] : ends;
  const span = most > least ? most - least : 1;
  all.forEach((value, i) => {
    const [x, y] = place(i, cells);
    if (Number.isNaN(value)) {
      context.strokeStyle = line;
      context.strokeRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
      context.fillStyle = muted;
      context.fillRect(x + cell / 2 - 2, y + cell / 2 - 0.5, 4, 1);
      return;
    }
    context.fillStyle = css[Math.round(((value - least) / span) * (RAMP_SIZE - 1))] ?? line;
    context.fillRect(x, y, cell, cell);
  });
  return { least, most };
}

/** A color and, where it fits, a letter for each role. */
export function paintRoles(
  context: CanvasRenderingContext2D,
  cells: GridCells,
  { mode, font }: Palette,
  labels: ArrayLike<number>,
): void {
  const { cell } = cells;
  context.font = `600 ${Math.min(12, cell - 4)}px ${font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  Array.from(labels).forEach((role, i) => {
    const [x, y] = place(i, cells);
    context.fillStyle = categoryColor(role, mode);
    context.fillRect(x, y, cell, cell);
    if (cell < LETTER_CELL) return;
    context.fillStyle = inkOn(category(role).rgb[mode]);
    context.fillText(category(role).letter, x + cell / 2, y + cell / 2 + 0.5);
  });
}

/** Index of the largest figure; null where all are N/A. */
export function largestOf(figures: ArrayLike<number>): number | null {
  const best = firstLargest(figures);
  return best < 0 ? null : best;
}
