/** The bipartite flow: rows of the heatmap on the left, keys on the right, a line a link. */

import { linkHorizontal } from "d3-shape";
import { itemAt } from "../../protocol/required";
import { fitCanvas, fitText } from "../canvas";
import { ramp } from "../color/ramp";
import { rampIndex } from "../color/scale";
import type { Palette } from "../color/theme";
import { giveWay, pickLabels, type Track } from "./axis";
import type { Longest } from "./layout";
import { labelFont, labelWeights } from "./marks";
import type { Cell, Geometry, HeatmapData, Highlights } from "./types";

export interface FlowData
  extends Pick<
    HeatmapData,
    | "rows"
    | "columns"
    | "values"
    | "max"
    | "scale"
    | "rowLabels"
    | "columnLabels"
    | "axes"
    | "marginal"
  > {
  readonly longest: Longest;
  readonly threshold: number;
}

const LABEL_GAP = 13;
const PAD = 8;
const GUTTER_MAX = 96;
/** Share of the width that the labels of an axis may take, if the other ones take as much. */
const GUTTER_SHARE = 0.3;
const LINE = { least: 0.75, most: 5 } as const;
const FAINT = 0.12;
/** Faint links that are drawn, the strongest: more are one gray area, and take seconds. */
export const FAINT_MAX = 4000;
/** A line paler than this is lost on the ground; its width still tells. */
export const PALEST = 48;

interface Link {
  readonly source: [number, number];
  readonly target: [number, number];
}

/** Width of a link (px): by its weight, and never wider than half a row. */
export function linkWidth(value: number, max: number, row: number): number {
  const thick = Math.min(LINE.most, Math.max(LINE.least, row * 0.5));
  return LINE.least + Math.min(value / (max || 1), 1) * (thick - LINE.least);
}

/** Keys are drawn next to the rows: the window of the columns, turned upright and as high as the rows. */
export function keyTrack({ columns: { start, size, count }, ...g }: Geometry): Track {
  const turned = g.height / g.width;
  return { start: g.top + (start - g.left) * turned, size: size * turned, count };
}

/** Widths of the label columns at the left and the right edge (px); long rows have what short keys leave. */
export function flowGutters({ longest }: FlowData, width: number): readonly [number, number] {
  const gutter = (most: number, room: number): number =>
    Math.min(Math.ceil(most), GUTTER_MAX, room);
  const right = gutter(longest.columns, width * GUTTER_SHARE);
  return [gutter(longest.rows, 2 * width * GUTTER_SHARE - right) + PAD, right + PAD];
}

/** Links at or above the threshold inside the window, weakest first: the strongest are drawn last. */
export function linksAbove(
  { values, columns: stride, threshold }: Pick<FlowData, "values" | "columns" | "threshold">,
  rows: readonly [number, number],
  columns: readonly [number, number],
): Uint32Array {
  const above: number[] = [];
  for (let i = rows[0]; i < rows[1]; i++) {
    for (let j = columns[0]; j < columns[1]; j++) {
      const value = values[i * stride + j] as number;
      if (value >= threshold && value > 0) above.push(i * stride + j);
    }
  }
  return Uint32Array.from(above).sort((a, b) => (values[a] as number) - (values[b] as number));
}

/** First and one past the last position of a track inside `[from, to]`. */
export function windowOf(
  track: { start: number; size: number; count: number },
  from: number,
  to: number,
): [number, number] {
  return [
    Math.max(0, Math.floor((from - track.start) / track.size + 1e-6)),
    Math.min(track.count, Math.ceil((to - track.start) / track.size - 1e-6)),
  ];
}

/** Draw the flow next to a heatmap of this geometry; keys use the window of the columns. Returns links drawn. */
export function drawFlow(
  canvas: HTMLCanvasElement,
  width: number,
  data: FlowData,
  geometry: Geometry,
  highlights: Highlights,
  colors: Palette,
): number {
  const { top, height, rows } = geometry;
  const keys = keyTrack(geometry);
  const context = fitCanvas(canvas, width, top + height + PAD);
  const [before, after] = flowGutters(data, width);
  const [from, to] = [before, width - after];
  const y = (track: typeof rows, i: number): number => track.start + (i + 0.5) * track.size;

  const links = linksAbove(
    data,
    windowOf(rows, top, top + height),
    windowOf(keys, top, top + height),
  );
  const { css } = ramp("weight", colors.mode);
  const path = linkHorizontal<Link, [number, number]>().context(context);
  const { row, hover, pair, group } = highlights;
  const [litRow, litKey] = hover !== null ? [hover.row, hover.column] : [row, -1];
  const highlighted = (i: number, j: number): boolean => {
    if (litRow < 0 && litKey < 0) return true;
    if (litRow >= 0 && litKey >= 0) return i === litRow || j === litKey;
    return litRow >= 0 ? i === litRow : j === litKey;
  };
  context.save();
  context.beginPath();
  context.rect(0, top - 1, width, height + 2);
  context.clip();
  for (const pass of [false, true]) {
    for (const cell of pass ? links : links.subarray(-FAINT_MAX)) {
      const [i, j] = [Math.floor(cell / data.columns), cell % data.columns];
      if (highlighted(i, j) !== pass) continue;
      const value = data.values[cell] as number;
      context.beginPath();
      path({ source: [from, y(rows, i)], target: [to, y(keys, j)] });
      context.globalAlpha = pass ? 0.9 : FAINT;
      context.strokeStyle = itemAt(css, Math.max(PALEST, rampIndex(value, data.max, data.scale)));
      context.lineWidth = linkWidth(value, data.max, Math.min(rows.size, keys.size));
      context.stroke();
    }
  }
  if (pair !== null && pair.row >= 0 && pair.column >= 0) {
    context.globalAlpha = 1;
    context.beginPath();
    path({ source: [from, y(rows, pair.row)], target: [to, y(keys, pair.column)] });
    context.strokeStyle = colors.accent;
    context.lineWidth = 2;
    context.stroke();
  }
  context.restore();

  context.textBaseline = "middle";
  const write = (track: typeof rows, highlighted: readonly number[], at: number, left: boolean) => {
    context.textAlign = left ? "right" : "left";
    const labels = left ? data.rowLabels : data.columnLabels;
    const font = labelFont(track);
    const strong = [...new Set(highlighted)].filter(
      (i) => i >= 0 && y(track, i) > top && y(track, i) < top + height,
    );
    const chosen = pickLabels(track, [top, top + height], LABEL_GAP, labelWeights(data, left));
    for (const i of [...giveWay(chosen, strong, track, LABEL_GAP), ...strong]) {
      const bold = strong.includes(i);
      context.font = `${bold ? "600 " : ""}${font}px ${colors.font}`;
      context.fillStyle = bold ? colors.ink : colors.muted;
      const room = (left ? before : after) - PAD + 2;
      context.fillText(fitText(context, itemAt(labels, i), room), at, y(track, i));
    }
  };
  write(rows, [row, hover?.row ?? -1, pair?.row ?? -1, ...group.rows], from - 6, true);
  write(keys, [hover?.column ?? -1, pair?.column ?? -1, ...group.columns], to + 6, false);
  context.font = `10px ${colors.font}`;
  context.fillStyle = colors.muted;
  context.textBaseline = "alphabetic";
  if (top >= 20) {
    // A name wider than the labels reaches over the links.
    const ends = (name: string): number => Math.max(from - 6, context.measureText(name).width);
    context.textAlign = "right";
    context.fillText(data.axes.rows, ends(data.axes.rows), top - 8);
    context.textAlign = "left";
    context.fillText(data.axes.columns, to + 6, top - 8);
  }
  return links.length;
}

/** The query or key under a point of the canvas. */
export function flowAt(geometry: Geometry, width: number, x: number, y: number): Cell | null {
  const { top, height, rows } = geometry;
  if (y < top || y >= top + height) return null;
  const onLeft = x < width / 2;
  const track = onLeft ? rows : keyTrack(geometry);
  const index = Math.floor((y - track.start) / track.size);
  if (index < 0 || index >= track.count) return null;
  return onLeft ? { row: index, column: -1 } : { row: -1, column: index };
}
