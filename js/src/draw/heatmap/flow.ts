/** The bipartite flow: rows of the heatmap on the left, keys on the right, a line a link. */

import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import { fitCanvas, fitText } from "../canvas";
import { type Mode, ramp } from "../color/ramp";
import { rampIndex } from "../color/scale";
import type { Palette } from "../color/theme";
import type { Range } from "./axis";
import { fontOf, strongOf } from "./labels";
import type { Longest } from "./layout";
import type { AxesText, AxisNames, Cell, Geometry, HeatmapData, Highlights, Track } from "./types";

export interface FlowLink {
  readonly query: number;
  readonly key: number;
  readonly weight: number;
}

/** Links next to a map, with the labels at both sides. */
export interface FlowData {
  /** The weakest first: the strongest are drawn last. */
  readonly links: readonly FlowLink[];
  /** Links of the focus row to keys out of sight; null where none are drawn. */
  readonly leaving: readonly FlowLink[] | null;
  readonly max: number;
  readonly scale: Scale;
  readonly text: AxesText;
  readonly axes: AxisNames;
  /** Width of the longest label at each side (px). */
  readonly longest: Longest;
  /** Lines are as thick as in rows of at least this height (px). */
  readonly rowLeast: number;
  /** Opacity of the links of other rows than the focus. */
  readonly faint: number;
}

const PAD = 8;
const GUTTER_MAX = 96;
/** Share of the width that the labels of an axis may take, if the other ones take as much. */
const GUTTER_SHARE = 0.3;
const LINE = { least: 0.75, most: 5 } as const;
/** Height beyond the plot to which links lead that leave it (px). */
const STUB = 10;
/** Faint links that are drawn, the strongest: more are one gray area, and take seconds. */
export const FAINT_MAX = 4000;
/** A line paler than this is lost on the ground; its width still tells. */
const PALEST = 48;

/** Width of a link (px): by its weight, and never wider than half a row. */
export function linkWidth({ max, rowLeast }: FlowData, weight: number, g: Geometry): number {
  const row = Math.max(rowLeast, Math.min(g.rows.size, keyTrack(g).size));
  const thick = Math.min(LINE.most, Math.max(LINE.least, row * 0.5));
  return LINE.least + Math.min(weight / (max || 1), 1) * (thick - LINE.least);
}

/** Keys are drawn next to the rows: the window of the columns, turned upright and as high as the rows. */
export function keyTrack({ columns: { start, size, count }, ...g }: Geometry): Track {
  const turned = g.height / g.width;
  return { start: g.top + (start - g.left) * turned, size: size * turned, count };
}

/** Widths of the label columns at the left and the right edge (px); long rows have what short keys leave. */
export function flowGutters(
  { longest }: Pick<FlowData, "longest">,
  width: number,
): readonly [number, number] {
  const gutter = (most: number, room: number): number =>
    Math.min(Math.ceil(most), GUTTER_MAX, room);
  const right = gutter(longest.columns, width * GUTTER_SHARE);
  return [gutter(longest.rows, 2 * width * GUTTER_SHARE - right) + PAD, right + PAD];
}

/** Links at or above the threshold inside a window, the weakest first. */
export function linksAbove(
  { values, columns: stride }: Pick<HeatmapData, "values" | "columns">,
  threshold: number,
  rows: Range,
  columns: Range,
): FlowLink[] {
  const above: FlowLink[] = [];
  for (let query = rows[0]; query < rows[1]; query++) {
    for (let key = columns[0]; key < columns[1]; key++) {
      const weight = values[query * stride + key] as number;
      if (weight >= threshold && weight > 0) above.push({ query, key, weight });
    }
  }
  return above.sort((a, b) => a.weight - b.weight);
}

/** Ends of a link; one to a key out of sight `leaves` at the edge beyond which that lies. */
export function linkEnds(g: Geometry, from: number, to: number) {
  const keys = keyTrack(g);
  const middle = ({ start, size }: Track, i: number): number => start + (i + 0.5) * size;
  const edge = (key: number): number =>
    middle(keys, key) < g.top ? g.top - STUB : g.top + g.height + STUB;
  return (query: number, key: number, leaves = false) =>
    [from, middle(g.rows, query), to, leaves ? edge(key) : middle(keys, key)] as const;
}

/** Control points of a curve between two places that leaves and arrives horizontally. */
export const curveOf = (x0: number, y0: number, x1: number, y1: number) => {
  const middle = (x0 + x1) / 2;
  return [middle, y0, middle, y1, x1, y1] as const;
};

/** Color of a link. */
const linkColor = ({ max, scale }: FlowData, weight: number, mode: Mode): string =>
  itemAt(ramp("weight", mode).css, Math.max(PALEST, rampIndex(weight, max, scale)));

export const flowHeight = ({ top, height }: Geometry): number => top + height + PAD;

/** Draw the flow next to a map of this geometry; keys use the window of the columns. */
export function drawFlow(
  canvas: HTMLCanvasElement,
  width: number,
  data: FlowData,
  g: Geometry,
  highlights: Highlights,
  colors: Palette,
): void {
  const context = fitCanvas(canvas, width, flowHeight(g));
  paintFlow(context, width, data, g, highlights, colors);
}

export function paintFlow(
  context: CanvasRenderingContext2D,
  width: number,
  data: FlowData,
  g: Geometry,
  highlights: Highlights,
  colors: Palette,
): void {
  const { top, height, rows } = g;
  const { links, leaving, axes, text } = data;
  const keys = keyTrack(g);
  const [before, after] = flowGutters(data, width);
  const [from, to] = [before, width - after];
  const ends = linkEnds(g, from, to);
  const { row, hover, pair } = highlights;
  const [litRow, litKey] = hover !== null ? [hover.row, hover.column] : [row, -1];
  const highlighted = ({ query, key }: FlowLink): boolean => {
    if (litRow < 0 && litKey < 0) return true;
    if (litRow >= 0 && litKey >= 0) return query === litRow || key === litKey;
    return litRow >= 0 ? query === litRow : key === litKey;
  };
  const line = (line: ReturnType<typeof ends>, color: string, thick: number): void => {
    context.beginPath();
    context.moveTo(line[0], line[1]);
    context.bezierCurveTo(...curveOf(...line));
    context.strokeStyle = color;
    context.lineWidth = thick;
    context.stroke();
  };
  const beyond = leaving === null ? 1 : STUB;
  context.save();
  context.beginPath();
  context.rect(0, top - beyond, width, height + 2 * beyond);
  context.clip();
  for (const pass of [false, true]) {
    context.globalAlpha = pass ? 0.9 : data.faint;
    for (const link of pass ? links : links.slice(-FAINT_MAX)) {
      if (highlighted(link) !== pass) continue;
      const { query, key, weight } = link;
      line(ends(query, key), linkColor(data, weight, colors.mode), linkWidth(data, weight, g));
    }
  }
  context.setLineDash([2, 3]);
  context.globalAlpha = 0.8;
  for (const { query, key, weight } of leaving ?? [])
    line(ends(query, key, true), linkColor(data, weight, colors.mode), 1.25);
  context.setLineDash([]);
  context.globalAlpha = 1;
  if (pair !== null && pair.row >= 0 && pair.column >= 0)
    line(ends(pair.row, pair.column), colors.accent, 2);
  context.restore();

  context.textBaseline = "middle";
  const strong = strongOf(highlights);
  for (const left of [true, false]) {
    const [axis, track] = left ? [text.rows, rows] : [text.columns, keys];
    const room = (left ? before : after) - PAD + 2;
    const size = axis.font(track);
    context.textAlign = left ? "right" : "left";
    for (const label of axis.labels(
      track,
      [top, top + height],
      left ? strong.rows : strong.columns,
    )) {
      context.font = fontOf(label.bold, size, colors);
      context.fillStyle = label.bold ? colors.ink : colors.muted;
      context.fillText(fitText(context, label.text, room), left ? from - 6 : to + 6, label.at);
    }
  }
  context.font = `10px ${colors.font}`;
  context.fillStyle = colors.muted;
  context.textBaseline = "alphabetic";
  if (top < 20) return;
  const foot = top - (leaving === null ? 8 : STUB + 4);
  // A name wider than the labels reaches over the links.
  context.textAlign = "right";
  context.fillText(axes.rows, Math.max(from - 6, context.measureText(axes.rows).width), foot);
  context.textAlign = "left";
  context.fillText(axes.columns, to + 6, foot);
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
