/** Cells as one image, redrawn only when the numbers, the colors or the level of detail change. */

import type { Boundary } from "../../figures/derive/boundaries";
import { maxPool } from "../../figures/derive/matrix";
import { itemAt } from "../../protocol/required";
import { hatching, heatImage, penOf, pixelRatio } from "../canvas";
import { ramp } from "../color/ramp";
import { rampIndex } from "../color/scale";
import type { Palette } from "../color/theme";
import type { Track } from "./axis";
import { type Extent, type Geometry, GRID_FROM, type HeatmapData, MARGINAL, REST } from "./types";

/** Name of the column of the rests of rows, and its distance from the plot (px). */
export const REST_NAME = "rest";
export const LABEL_LIFT = 4;
/** Opacity of the hatching over a color. */
export const HATCH_OPACITY = 0.55;
/** Sentences nearer than this (px) are many. */
const CROWDED = 48;
/** Opaque for a forbidden cell (0), clear for any other. */
const FORBIDDEN = Uint32Array.from({ length: 256 }, (_, i) => (i === 0 ? 0xffffffff : 0));

/**
 * Number of pixels of a side of the image: one a cell, or, where a cell is smaller than a device pixel, as
 * many as the map has whole device pixels. Never more: an image that is shrunk on its way to the screen
 * loses columns, and with them a link.
 */
export function imagePixels(size: number, extent: number, ratio: number): number {
  return Math.max(1, Math.min(size, Math.floor(extent * ratio)));
}

/** True if both forbid the same cells; every head comes with a mask of its own. */
export function sameMask(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === b) return true;
  if (a === null || b === null || a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

interface CellImage {
  readonly canvas: HTMLCanvasElement;
  readonly width: number;
  readonly height: number;
  readonly mode: string;
}

export class CellPainter {
  #image: CellImage | null = null;
  #forbidden: HTMLCanvasElement | null = null;
  /** The hatching as it was drawn last, and what it was drawn from: another head with the same mask has the same. */
  #sheet = document.createElement("canvas");
  #drawn = "";

  forgetCells(): void {
    this.#image = null;
  }

  forgetMask(): void {
    this.#forbidden = null;
    this.#drawn = "";
  }

  paint(context: CanvasRenderingContext2D, g: Geometry, data: HeatmapData, colors: Palette): void {
    const { rows, columns } = data;
    const ratio = pixelRatio();
    const [wide, tall] = [g.columns.size * columns, g.rows.size * rows];
    const width = imagePixels(columns, wide, ratio);
    const height = imagePixels(rows, tall, ratio);
    const image = this.#image;
    if (image?.width !== width || image.height !== height || image.mode !== colors.mode) {
      const pooled = maxPool(data.values, [rows, columns], [height, width]);
      const { words } = ramp(data.ramp, colors.mode);
      const signed = data.ramp === "signed";
      const canvas = heatImage(pooled.data, height, width, words, {
        top: data.scale === "unit" && !signed ? 1 : data.max,
        root: data.scale === "sqrt",
        signed,
      });
      this.#image = { canvas, width, height, mode: colors.mode };
    }
    context.save();
    context.beginPath();
    context.rect(g.left, g.top, g.width, g.height);
    context.clip();
    context.imageSmoothingEnabled = false;
    // On whole device pixels, and pooled images at their own size: every pixel of the image is one on screen.
    const whole = (value: number): number => Math.round(value * ratio) / ratio;
    context.drawImage(
      (this.#image as CellImage).canvas,
      whole(g.columns.start),
      whole(g.rows.start),
      width < columns ? width / ratio : wide,
      height < rows ? height / ratio : tall,
    );
    paintOverflow(context, g, data, colors);
    if (data.allowed !== null) this.#paintMask(context, g, data.allowed, data, colors);
    paintGrid(context, g, colors);
    context.restore();
  }

  #paintMask(
    context: CanvasRenderingContext2D,
    g: Geometry,
    allowed: Uint8Array,
    { rows, columns }: Extent,
    colors: Palette,
  ): void {
    const ratio = pixelRatio();
    const { ground, muted } = colors;
    const { left, top, width, height } = g;
    const at = [g.columns.start - left, g.rows.start - top] as const;
    const size = [g.columns.size * columns, g.rows.size * rows] as const;
    const sheet = this.#sheet;
    const wanted = [ratio, width, height, ...at, ...size, ground, muted].join();
    if (this.#drawn !== wanted) {
      this.#forbidden ??= heatImage(allowed, rows, columns, FORBIDDEN, {
        top: 1,
        root: false,
        signed: false,
      });
      sheet.width = Math.round(width * ratio);
      sheet.height = Math.round(height * ratio);
      const pen = penOf(sheet);
      pen.scale(ratio, ratio);
      pen.imageSmoothingEnabled = false;
      pen.drawImage(this.#forbidden, ...at, ...size);
      pen.globalCompositeOperation = "source-in";
      pen.fillStyle = ground;
      pen.fillRect(0, 0, width, height);
      pen.globalCompositeOperation = "source-atop";
      pen.fillStyle = hatching(pen, muted);
      pen.fillRect(0, 0, width, height);
      this.#drawn = wanted;
    }
    context.drawImage(sheet, left, top, width, height);
  }
}

/** Cells that pass the end of the ramp, a call for each run of them in a row or a column. */
export function eachOverflow(
  {
    rows,
    columns,
    values,
    max,
    overflow,
  }: Pick<HeatmapData, "rows" | "columns" | "values" | "max" | "overflow">,
  call: (row: number, column: number, rows: number, columns: number) => void,
): void {
  const runs = (
    count: number,
    passes: (i: number) => boolean,
    run: (from: number, length: number) => void,
  ): void => {
    let start = -1;
    for (let i = 0; i <= count; i++) {
      const inside = i < count && passes(i);
      if (inside && start < 0) start = i;
      if (inside || start < 0) continue;
      run(start, i - start);
      start = -1;
    }
  };
  const past = (row: number, column: number): boolean =>
    (values[row * columns + column] as number) > max;
  for (const row of overflow.rows) {
    const passes = (column: number): boolean => past(row, column);
    runs(columns, passes, (from, length) => call(row, from, 1, length));
  }
  for (const column of overflow.columns) {
    // The row has the cell in which two special units meet.
    const passes = (row: number): boolean => past(row, column) && !overflow.rows.includes(row);
    runs(rows, passes, (from, length) => call(from, column, length, 1));
  }
}

function paintOverflow(
  context: CanvasRenderingContext2D,
  g: Geometry,
  data: HeatmapData,
  colors: Palette,
): void {
  if (data.overflow.rows.length + data.overflow.columns.length === 0) return;
  context.beginPath();
  eachOverflow(data, (row, column, rows, columns) => {
    const [width, height] = [g.columns.size, g.rows.size];
    context.rect(
      g.columns.start + column * width,
      g.rows.start + row * height,
      columns * width,
      rows * height,
    );
  });
  context.fillStyle = hatching(context, colors.ground);
  context.globalAlpha = HATCH_OPACITY;
  context.fill();
  context.globalAlpha = 1;
}

function paintGrid(context: CanvasRenderingContext2D, g: Geometry, colors: Palette): void {
  context.fillStyle = colors.ground;
  const lines = ({ start, size, count }: Track, line: (at: number) => void): void => {
    if (size < GRID_FROM) return;
    for (let i = 1; i < count; i++) line(Math.round(start + i * size));
  };
  lines(g.columns, (x) => context.fillRect(x, g.top, 1, g.height));
  lines(g.rows, (y) => context.fillRect(g.left, y, g.width, 1));
}

/** Starts of sentences (dashed) and segments (solid): ink with a rim, to be seen on any color. */
export function paintBoundaries(
  context: CanvasRenderingContext2D,
  g: Geometry,
  data: HeatmapData,
  colors: Palette,
): void {
  context.save();
  context.beginPath();
  context.rect(g.left, g.top, g.width, g.height);
  context.clip();
  const lines = (
    boundaries: readonly Boundary[],
    { start, size, count }: Track,
    trace: (at: number) => void,
  ): void => {
    const apart = (size * count) / (boundaries.length + 1);
    for (const { at, kind } of boundaries) {
      // Many sentences: their lines step back behind the cells.
      const strength = kind === "segment" ? 1 : apart >= CROWDED ? 0.55 : 0.25;
      for (const [color, width, alpha] of [
        [colors.ground, 2, 0.5],
        [colors.ink, 1, 0.8],
      ] as const) {
        context.strokeStyle = color;
        context.lineWidth = width;
        context.globalAlpha = alpha * strength;
        context.setLineDash(kind === "sentence" ? [3, 4] : []);
        context.beginPath();
        trace(Math.round(start + at * size) + 0.5);
        context.stroke();
      }
    }
  };
  lines(data.boundaries.columns, g.columns, (x) => {
    context.moveTo(x, g.top);
    context.lineTo(x, g.top + g.height);
  });
  lines(data.boundaries.rows, g.rows, (y) => {
    context.moveTo(g.left, y);
    context.lineTo(g.left + g.width, y);
  });
  context.restore();
}

/** A bar below each column. */
export function paintMarginal(
  context: CanvasRenderingContext2D,
  g: Geometry,
  { marginal, marginalName, columns }: HeatmapData,
  colors: Palette,
  nameEnd: number,
): void {
  const foot = g.top + g.height + MARGINAL.gap + MARGINAL.height;
  let most = 0;
  for (let j = 0; j < columns; j++) most = Math.max(most, marginal[j] as number);
  context.save();
  context.beginPath();
  context.rect(g.left, g.top + g.height, g.width, MARGINAL.gap + MARGINAL.height + 1);
  context.clip();
  context.fillStyle = colors.line;
  context.fillRect(g.left, foot, g.width, 1);
  context.fillStyle = colors.muted;
  const width = g.columns.size;
  const inset = width >= GRID_FROM ? 1 : 0;
  const first = Math.max(0, Math.floor((g.left - g.columns.start) / width));
  const last = Math.min(columns, Math.ceil((g.left + g.width - g.columns.start) / width));
  // Columns narrower than a pixel share one, the tallest is seen: a rectangle each would be slow.
  const share = Math.max(1, Math.floor(1 / width));
  for (let j = first; j < last; j += share) {
    let tallest = 0;
    for (let k = j; k < Math.min(j + share, last); k++)
      tallest = Math.max(tallest, marginal[k] as number);
    const tall = most > 0 ? (tallest / most) * MARGINAL.height : 0;
    const x = g.columns.start + j * width;
    context.fillRect(x + inset, foot - tall, Math.max(width - inset, 0.5), tall);
  }
  context.restore();
  context.font = `10px ${colors.font}`;
  context.fillStyle = colors.muted;
  context.textAlign = "right";
  context.textBaseline = "alphabetic";
  context.fillText(marginalName, nameEnd, foot);
}

/** Left edge of the column of the rests of rows, and the top and height of each row in the window. */
export function restCells({ left, top, width, height, rows }: Geometry): {
  x: number;
  cells: { row: number; y: number; height: number }[];
} {
  const first = Math.max(0, Math.floor((top - rows.start) / rows.size));
  const last = Math.min(rows.count, Math.ceil((top + height - rows.start) / rows.size));
  const inset = rows.size >= GRID_FROM ? 1 : 0;
  const cells = Array.from({ length: last - first }, (_, k) => {
    const at = rows.start + (first + k) * rows.size + inset;
    const y = Math.max(top, at);
    const end = Math.min(top + height, at - inset + rows.size);
    return { row: first + k, y, height: Math.max(end - y, 0.5) };
  });
  return { x: left + width + REST.gap, cells };
}

/** The column of the rests of rows, in the colors of the cells; hatched where a number passes the end of the ramp. */
export function paintRest(
  context: CanvasRenderingContext2D,
  g: Geometry,
  { rest, max, scale }: Pick<HeatmapData, "rest" | "max" | "scale">,
  colors: Palette,
): void {
  if (!rest) return;
  const { css } = ramp("weight", colors.mode);
  const { x, cells } = restCells(g);
  // Whole device pixels: between rows that end within one, the ground would shine through.
  const ratio = pixelRatio();
  const whole = (at: number): number => Math.round(at * ratio) / ratio;
  for (const { row, y, height } of cells) {
    const value = itemAt(rest, row);
    const top = whole(y);
    const down = Math.max(whole(y + height) - top, 1 / ratio);
    context.fillStyle = itemAt(css, rampIndex(value, max, scale));
    context.fillRect(x, top, REST.width, down);
    if (value <= max || scale === "unit") continue;
    context.globalAlpha = HATCH_OPACITY;
    context.fillStyle = hatching(context, colors.ground);
    context.fillRect(x, top, REST.width, down);
    context.globalAlpha = 1;
  }
  context.save();
  context.translate(x + REST.width / 2, g.top - LABEL_LIFT);
  context.rotate(-Math.PI / 2);
  context.font = `10px ${colors.font}`;
  context.fillStyle = colors.muted;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(REST_NAME, 0, 0);
  context.restore();
}
