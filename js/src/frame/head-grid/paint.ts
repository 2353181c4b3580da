/** The heads on the grid's canvas: as thumbnails, as shades of a figure, as roles. */

import { penOf } from "../../draw/canvas";
import { category, categoryColor } from "../../draw/color/category";
import { inkOn, type Mode, RAMP_SIZE, ramp } from "../../draw/color/ramp";
import { rampIndex } from "../../draw/color/scale";
import type { Palette } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { roleName } from "../../figures/head-figures";
import { itemAt } from "../../protocol/required";
import type { NdArray } from "../../protocol/types";
import type { Scale } from "../../state/selection";
import type { GridCells } from "../../views/contract";

/** The smallest cell that a letter fits into, px. */
const LETTER_CELL = 12;

const WAITING: Readonly<Record<string, string>> = {
  role: "clustering the heads …",
  effect: "switching off each head …",
};

const THUMBNAIL_NOTES: Readonly<Partial<Record<Scale, string>>> = {
  unit: "each from 0 to 1",
  words: "each to its largest weight between words",
};

/** The scale of the thumbnails. */
export const thumbnailNote = (scale: Scale): string =>
  THUMBNAIL_NOTES[scale] ?? "each to its largest weight";

/** The kernel's work for a shade that is not here yet. */
export const waitingFor = (metric: string): string => WAITING[metric] ?? "tagging the words …";

const place = (index: number, { heads, step }: GridCells): readonly [x: number, y: number] => [
  (index % heads) * step,
  Math.floor(index / heads) * step,
];

/** Steps of the ramp for the 256 values of a thumbnail, which are roots of shares of `max`, where the ramp ends at `top`. */
export const thumbnailSteps = (max: number, top: number, scale: Scale): readonly number[] =>
  Array.from({ length: RAMP_SIZE }, (_, v) => rampIndex((v / 255) ** 2 * max, top, scale));

/**
 * `thumbs` `[L, H, t, t]`: roots of the shares of `largest` `[L, H]`, NaN where it is not computed yet; `words`: the
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
  const { layers, heads, cell, step } = cells;
  const [top, bottom] = only === undefined ? [0, layers] : [only, only + 1];
  const side = itemAt(thumbs.shape, 2);
  const { words: shades } = ramp("weight", mode);
  const sheet = document.createElement("canvas");
  sheet.width = heads * side;
  sheet.height = (bottom - top) * side;
  const pen = penOf(sheet);
  const image = pen.createImageData(sheet.width, sheet.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = top * heads; i < bottom * heads; i++) {
    const max = largest.data[i] as number;
    const most = (scale === "words" && words?.data[i]) || max;
    const colors = thumbnailSteps(max, most, scale).map((step) => shades[step] as number);
    const x = (i % heads) * side;
    const y = (Math.floor(i / heads) - top) * side;
    for (let r = 0; r < side; r++) {
      const from = (i * side + r) * side;
      const to = (y + r) * sheet.width + x;
      for (let c = 0; c < side; c++)
        pixels[to + c] = colors[thumbs.data[from + c] as number] as number;
    }
  }
  pen.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = side > cell;
  context.imageSmoothingQuality = "high";
  context.strokeStyle = line;
  context.clearRect(0, top * step, heads * step, (bottom - top) * step);
  for (let i = top * heads; i < bottom * heads; i++) {
    const [row, column] = [Math.floor(i / heads), i % heads];
    const [x, y] = place(i, cells);
    if (Number.isNaN(largest.data[i])) {
      context.strokeRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
      continue;
    }
    context.drawImage(sheet, column * side, (row - top) * side, side, side, x, y, cell, cell);
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
  const known = all.filter((value) => !Number.isNaN(value));
  const ends = [Math.min(...known), Math.max(...known)] as const;
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

/** Roles by their letters. */
export const roleItems = (names: readonly string[], mode: Mode): HTMLElement[] =>
  names.map((name, role) => {
    const { letter, rgb } = category(role);
    const swatch = h("i", { class: "aw-grid-role", "aria-hidden": "true" }, letter);
    swatch.style.background = categoryColor(role, mode);
    swatch.style.color = inkOn(rgb[mode]);
    return h("li", {}, swatch, roleName(name));
  });

/** Where the largest figure is; null where all are N/A. */
export function largestOf(figures: ArrayLike<number>): number | null {
  let best: number | null = null;
  for (let i = 0; i < figures.length; i++) {
    const value = figures[i] as number;
    if (value > (best === null ? Number.NEGATIVE_INFINITY : (figures[best] as number))) best = i;
  }
  return best;
}
