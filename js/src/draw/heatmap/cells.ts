/** Cells as one image, redrawn only when the numbers, the colors or the level of detail change. */

import { maxPool } from "../../figures/derive/matrix";
import { hatching, heatImage, penOf, pixelRatio } from "../canvas";
import { ramp } from "../color/ramp";
import type { Palette } from "../color/theme";
import { type Geometry, GRID_FROM, type HeatmapData, MARGINAL } from "./types";

/** How strong the hatching over a color is. */
export const BEYOND = 0.55;
/** Sentences nearer than this (px) are many. */
const CROWDED = 48;
/** Opaque for a forbidden cell, clear for any other. */
const FORBIDDEN = Uint32Array.from({ length: 256 }, (_, i) => (i > 0 ? 0xffffffff : 0));

/**
 * How many pixels a side of the image has: one a cell, or, where a cell is smaller than a device pixel, as
 * many as the map has whole device pixels. Never more: an image that is shrunk on its way to the screen
 * loses columns, and with them a link.
 */
export function imagePixels(size: number, extent: number, ratio: number): number {
  return Math.max(1, Math.min(size, Math.floor(extent * ratio)));
}

export class CellPainter {
  #image: { canvas: HTMLCanvasElement; pixels: number; mode: string } | null = null;
  #forbidden: HTMLCanvasElement | null = null;
  #sheet = document.createElement("canvas");

  forgetCells(): void {
    this.#image = null;
  }

  forgetMask(): void {
    this.#forbidden = null;
  }

  paint(context: CanvasRenderingContext2D, g: Geometry, data: HeatmapData, colors: Palette): void {
    const { size } = data;
    const ratio = pixelRatio();
    const extent = g.rows.size * size;
    const pixels = imagePixels(size, extent, ratio);
    if (this.#image?.pixels !== pixels || this.#image.mode !== colors.mode) {
      const pooled = maxPool(data.values, [size, size], [pixels, pixels]);
      const { words } = ramp(data.ramp, colors.mode);
      const signed = data.ramp === "signed";
      const canvas = heatImage(pooled.data, pixels, pixels, words, {
        top: data.scale === "unit" && !signed ? 1 : data.max,
        root: data.scale === "sqrt",
        signed,
      });
      this.#image = { canvas, pixels, mode: colors.mode };
    }
    context.save();
    context.beginPath();
    context.rect(g.left, g.top, g.side, g.side);
    context.clip();
    context.imageSmoothingEnabled = false;
    // On whole device pixels, and pooled images at their own size: every pixel of the image is one on screen.
    const whole = (value: number): number => Math.round(value * ratio) / ratio;
    const drawn = pixels < size ? pixels / ratio : extent;
    context.drawImage(
      this.#image.canvas,
      whole(g.columns.start),
      whole(g.rows.start),
      drawn,
      drawn,
    );
    paintBeyond(context, g, data, colors);
    if (data.allowed !== null) this.#paintMask(context, g, data.allowed, size, colors);
    if (g.rows.size >= GRID_FROM) paintGrid(context, g, size, colors);
    context.restore();
  }

  #paintMask(
    context: CanvasRenderingContext2D,
    g: Geometry,
    allowed: Uint8Array,
    size: number,
    colors: Palette,
  ): void {
    this.#forbidden ??= heatImage(
      Float32Array.from(allowed, (value) => (value === 0 ? 1 : 0)),
      size,
      size,
      FORBIDDEN,
      { top: 1, root: false, signed: false },
    );
    const ratio = pixelRatio();
    const extent = g.rows.size * size;
    const sheet = this.#sheet;
    sheet.width = Math.round(g.side * ratio);
    sheet.height = sheet.width;
    const pen = penOf(sheet);
    pen.scale(ratio, ratio);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.#forbidden, g.columns.start - g.left, g.rows.start - g.top, extent, extent);
    pen.globalCompositeOperation = "source-in";
    pen.fillStyle = colors.ground;
    pen.fillRect(0, 0, g.side, g.side);
    pen.globalCompositeOperation = "source-atop";
    pen.fillStyle = hatching(pen, colors.muted);
    pen.fillRect(0, 0, g.side, g.side);
    context.drawImage(sheet, g.left, g.top, g.side, g.side);
  }
}

/** Cells that pass the end of the ramp, a call for each run of them in a row or a column. */
export function eachBeyond(
  { size, values, max, beyond }: Pick<HeatmapData, "size" | "values" | "max" | "beyond">,
  call: (row: number, column: number, rows: number, columns: number) => void,
): void {
  for (const unit of beyond) {
    for (const across of [true, false]) {
      let start = -1;
      for (let i = 0; i <= size; i++) {
        const at = across ? unit * size + i : i * size + unit;
        // Where two special units meet the row has the cell.
        const passes = i < size && (values[at] as number) > max && (across || !beyond.includes(i));
        if (passes && start < 0) start = i;
        if (passes || start < 0) continue;
        if (across) call(unit, start, 1, i - start);
        else call(start, unit, i - start, 1);
        start = -1;
      }
    }
  }
}

function paintBeyond(
  context: CanvasRenderingContext2D,
  g: Geometry,
  data: HeatmapData,
  colors: Palette,
): void {
  if (data.beyond.length === 0) return;
  context.beginPath();
  eachBeyond(data, (row, column, rows, columns) => {
    const [width, height] = [g.columns.size, g.rows.size];
    context.rect(
      g.columns.start + column * width,
      g.rows.start + row * height,
      columns * width,
      rows * height,
    );
  });
  context.fillStyle = hatching(context, colors.ground);
  context.globalAlpha = BEYOND;
  context.fill();
  context.globalAlpha = 1;
}

function paintGrid(
  context: CanvasRenderingContext2D,
  g: Geometry,
  size: number,
  colors: Palette,
): void {
  context.fillStyle = colors.ground;
  for (let i = 1; i < size; i++) {
    context.fillRect(Math.round(g.columns.start + i * g.columns.size), g.top, 1, g.side);
    context.fillRect(g.left, Math.round(g.rows.start + i * g.rows.size), g.side, 1);
  }
}

/** Where a sentence (dashed) or a segment (solid) begins: ink with a rim, to be seen on any color. */
export function paintBoundaries(
  context: CanvasRenderingContext2D,
  g: Geometry,
  data: HeatmapData,
  colors: Palette,
): void {
  context.save();
  context.beginPath();
  context.rect(g.left, g.top, g.side, g.side);
  context.clip();
  const apart = (g.rows.size * data.size) / (data.boundaries.length + 1);
  for (const { at, kind } of data.boundaries) {
    const x = Math.round(g.columns.start + at * g.columns.size) + 0.5;
    const y = Math.round(g.rows.start + at * g.rows.size) + 0.5;
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
      context.moveTo(x, g.top);
      context.lineTo(x, g.top + g.side);
      context.moveTo(g.left, y);
      context.lineTo(g.left + g.side, y);
      context.stroke();
    }
  }
  context.restore();
}

/** A bar below each column. */
export function paintMarginal(
  context: CanvasRenderingContext2D,
  g: Geometry,
  { marginal, marginalName, size }: HeatmapData,
  colors: Palette,
  nameEnd: number,
): void {
  const foot = g.top + g.side + MARGINAL.gap + MARGINAL.height;
  let most = 0;
  for (let j = 0; j < size; j++) most = Math.max(most, marginal[j] as number);
  context.save();
  context.beginPath();
  context.rect(g.left, g.top + g.side, g.side, MARGINAL.gap + MARGINAL.height + 1);
  context.clip();
  context.fillStyle = colors.line;
  context.fillRect(g.left, foot, g.side, 1);
  context.fillStyle = colors.muted;
  const width = g.columns.size;
  const inset = width >= GRID_FROM ? 1 : 0;
  const first = Math.max(0, Math.floor((g.left - g.columns.start) / width));
  const last = Math.min(size, Math.ceil((g.left + g.side - g.columns.start) / width));
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
