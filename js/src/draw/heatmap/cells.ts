/** Cells as one image, redrawn only when the numbers, the colors or the level of detail change. */

import type { Boundary } from "../../figures/derive/boundaries";
import { maximum, maxPool } from "../../figures/derive/matrix";
import { itemAt } from "../../protocol/required";
import { hatching, heatImage, pixelRatio } from "../canvas";
import { ramp } from "../color/ramp";
import { rampIndex } from "../color/scale";
import type { Palette } from "../color/theme";
import { windowOf } from "./axis";
import { textOf } from "./labels";
import { type Longest, layoutHeatmap } from "./layout";
import type { Track } from "./types";
import {
  type Boundaries,
  type Geometry,
  GRID_FROM,
  GUTTER_PAD,
  type HeatmapData,
  MARGINAL,
  type MapData,
  REST,
  type Rest,
} from "./types";

/** Name of the column of the rests of rows, and its distance from the plot (px). */
const REST_NAME = "rest";
const LABEL_LIFT = 4;
/** Opacity of the hatching over a color. */
const HATCH_OPACITY = 0.55;
/** Columns up to this width (px) share bars of a pixel. */
const SHARED_BELOW = 0.5;
/** Sentences nearer than this (px) are many. */
const CROWDED = 48;
/** Nearer than this (px) their lines are left out. */
const DENSE = 10;
/**
 * Number of pixels of a side of the image: one a cell, or, where a cell is smaller than a device pixel, as
 * many as the map has whole device pixels. Never more: an image that is shrunk on its way to the screen
 * loses columns, and with them a link.
 */
export function imagePixels(size: number, extent: number, ratio: number): number {
  return Math.max(1, Math.min(size, Math.floor(extent * ratio)));
}

/** Draw an image of cells within the plot; hatched where it is clear, if anything there is forbidden. */
export function paintImage(
  context: CanvasRenderingContext2D,
  image: HTMLCanvasElement,
  [left, top, width, height]: readonly [number, number, number, number],
  masked: boolean,
  colors: Palette,
): void {
  if (masked) {
    for (const fill of [colors.ground, hatching(context, colors.muted)]) {
      context.fillStyle = fill;
      context.fillRect(left, top, width, height);
    }
  }
  context.imageSmoothingEnabled = false;
  context.drawImage(image, left, top, width, height);
}

/** A matrix that is in the page, as one image. */
export class CellPainter {
  /** Data of a map; `longest`: widths of the labels. */
  map(
    data: HeatmapData,
    longest: (pen: CanvasRenderingContext2D, font: string) => Longest,
  ): MapData {
    const { rest, max, scale } = data;
    return {
      ...data,
      layout: (pen, room, font) => layoutHeatmap(data, longest(pen, font), room),
      paint: (context, g, colors) => this.paint(context, g, data, colors),
      text: textOf(data),
      marginalTop: "all",
      rest: rest ? ({ rows }) => ({ values: rest, max, scale, rows }) : null,
    };
  }

  #image: HTMLCanvasElement | null = null;
  #drawn: readonly unknown[] = [];

  paint(context: CanvasRenderingContext2D, g: Geometry, data: HeatmapData, colors: Palette): void {
    const { rows, columns, values, allowed, scale, max } = data;
    const ratio = pixelRatio();
    const [wide, tall] = [g.columns.size * columns, g.rows.size * rows];
    const width = imagePixels(columns, wide, ratio);
    const height = imagePixels(rows, tall, ratio);
    const wanted = [values, allowed, scale, data.ramp, max, width, height, colors.mode];
    if (this.#image === null || wanted.some((part, i) => part !== this.#drawn[i])) {
      const [from, to] = [[rows, columns] as const, [height, width] as const];
      const signed = data.ramp === "signed";
      const coloring = {
        words: ramp(data.ramp, colors.mode).words,
        top: scale === "unit" && !signed ? 1 : max,
        root: scale === "sqrt",
        signed,
      };
      const mask = allowed && maxPool(allowed, from, to).data;
      const isClear = mask && ((cell: number): boolean => mask[cell] === 0);
      this.#image = heatImage(maxPool(values, from, to).data, height, width, coloring, isClear);
      this.#drawn = wanted;
    }
    // On whole device pixels, and pooled images at their own size: every pixel of the image is one on screen.
    const whole = (value: number): number => Math.round(value * ratio) / ratio;
    const box = [
      whole(g.columns.start) - g.left,
      whole(g.rows.start) - g.top,
      width < columns ? width / ratio : wide,
      height < rows ? height / ratio : tall,
    ] as const;
    context.save();
    // Hatching begins at the corner of the plot.
    context.translate(g.left, g.top);
    paintImage(context, this.#image, box, allowed !== null, colors);
    context.restore();
    paintOverflow(context, g, data, colors);
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

export function paintOverflow(
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

/** Lines between cells that are large. */
export function paintGrid(context: CanvasRenderingContext2D, g: Geometry, colors: Palette): void {
  context.fillStyle = colors.ground;
  const lines = (track: Track, from: number, extent: number, line: (at: number) => void): void => {
    if (track.size < GRID_FROM) return;
    const [first, end] = windowOf(track, from, from + extent);
    for (let i = Math.max(first, 1); i < end; i++) line(Math.round(track.start + i * track.size));
  };
  lines(g.columns, g.left, g.width, (x) => context.fillRect(x, g.top, 1, g.height));
  lines(g.rows, g.top, g.height, (y) => context.fillRect(g.left, y, g.width, 1));
}

/**
 * Strength of the lines between units, by their number and the length of the plot (px). Many sentences: their lines step
 * back behind the cells, and are left out where they would be a pattern of their own.
 */
export const boundaryStrength =
  (extent: number, n: number) =>
  (kind: Boundary["kind"]): number => {
    const apart = extent / (n + 1);
    return kind === "segment" ? 1 : apart >= CROWDED ? 0.55 : apart >= DENSE ? 0.15 : 0;
  };

/** Starts of sentences (dashed) and segments (solid): ink with a rim, to be seen on any color. */
export function paintBoundaries(
  context: CanvasRenderingContext2D,
  g: Geometry,
  { rows, columns }: Boundaries,
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
    const strengthOf = boundaryStrength(size * count, boundaries.length);
    for (const { at, kind } of boundaries) {
      const strength = strengthOf(kind);
      if (strength === 0) continue;
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
  lines(columns, g.columns, (x) => {
    context.moveTo(x, g.top);
    context.lineTo(x, g.top + g.height);
  });
  lines(rows, g.rows, (y) => {
    context.moveTo(g.left, y);
    context.lineTo(g.left + g.width, y);
  });
  context.restore();
}

/** A bar below each column; narrow columns share one, as high as the largest of them. */
export function paintMarginal(
  context: CanvasRenderingContext2D,
  g: Geometry,
  {
    marginal,
    marginalName,
    marginalTop,
  }: Pick<MapData, "marginal" | "marginalName" | "marginalTop">,
  colors: Palette,
): void {
  const foot = g.top + g.height + MARGINAL.gap + MARGINAL.height;
  const [first, last] = windowOf(g.columns, g.left, g.left + g.width);
  const largest = (from: number, to: number): number => maximum(marginal.subarray(from, to));
  const most = marginalTop === "all" ? maximum(marginal) : largest(first, last);
  context.save();
  context.beginPath();
  context.rect(g.left, g.top + g.height, g.width, MARGINAL.gap + MARGINAL.height + 1);
  context.clip();
  context.fillStyle = colors.line;
  context.fillRect(g.left, foot, g.width, 1);
  context.fillStyle = colors.muted;
  const width = g.columns.size;
  const inset = width >= GRID_FROM ? 1 : 0;
  const bars = width > SHARED_BELOW ? last - first : Math.min(g.width, last - first);
  const end = (bar: number): number => first + Math.floor((bar * (last - first)) / bars);
  for (let bar = 0; bar < bars; bar++) {
    const [from, to] = [end(bar), Math.max(end(bar) + 1, end(bar + 1))];
    const tall = most > 0 ? (largest(from, to) / most) * MARGINAL.height : 0;
    const x = g.columns.start + from * width + inset;
    context.fillRect(x, foot - tall, Math.max((to - from) * width - inset, 0.5), tall);
  }
  context.restore();
  context.font = `10px ${colors.font}`;
  context.fillStyle = colors.muted;
  context.textAlign = "right";
  context.textBaseline = "alphabetic";
  context.fillText(marginalName, g.left - GUTTER_PAD, foot);
}

/** Left edge of the column of the rests of rows, and the top and height of each row in the window. */
function restCells(
  { left, top, width, height }: Geometry,
  rows: Track,
): {
  x: number;
  cells: { row: number; y: number; height: number }[];
} {
  const [first, last] = windowOf(rows, top, top + height);
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
  { values, max, scale, rows }: Rest,
  colors: Palette,
): void {
  const { css } = ramp("weight", colors.mode);
  const { x, cells } = restCells(g, rows);
  // Whole device pixels: between rows that end within one, the ground would shine through.
  const ratio = pixelRatio();
  const whole = (at: number): number => Math.round(at * ratio) / ratio;
  for (const { row, y, height } of cells) {
    const value = itemAt(values, row);
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
