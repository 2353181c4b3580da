/** Heatmap and flow as vectors: cells as rectangles while they are few, all else as it is painted on screen. */
import { itemAt } from "../../protocol/required";
import { penOf } from "../canvas";
import { ramp } from "../color/ramp";
import { rampIndex, signedIndex } from "../color/scale";
import type { Palette } from "../color/theme";
import { svg } from "../dom";
import { VectorContext } from "../vector-context";
import { windowOf } from "./axis";
import { CellPainter, paintBoundaries, paintMarginal, paintOverflow, paintRest } from "./cells";
import { type FlowData, paintFlow } from "./flow";
import { paintLabels, textOf } from "./labels";
import { paintAxisNames, paintMarks } from "./marks";
import { type Geometry, GRID_FROM, type HeatmapData, type Highlights, type Track } from "./types";

/** More rectangles than this make a file that no editor opens: then the cells are an image. */
export const CELLS_MAX = 4000;

function cellNodes(
  data: HeatmapData,
  g: Geometry,
  colors: Palette,
  hatch: (color: string) => string,
): SVGElement[] {
  const [top, bottom] = windowOf(g.rows, g.top, g.top + g.height);
  const [first, last] = windowOf(g.columns, g.left, g.left + g.width);
  if ((bottom - top) * (last - first) > CELLS_MAX) return [cellsAsImage(data, g, colors)];
  const { css } = ramp(data.ramp, colors.mode);
  const apart = ({ size }: Track): number => (size >= GRID_FROM ? 1 : 0);
  const [beside, above] = [apart(g.columns), apart(g.rows)];
  const forbidden = data.allowed === null ? "" : hatch(colors.muted);
  const elements: SVGElement[] = [];
  for (let i = top; i < bottom; i++) {
    for (let j = first; j < last; j++) {
      const at = i * data.columns + j;
      const value = itemAt(data.values, at);
      const index =
        data.ramp === "signed"
          ? signedIndex(value, data.max)
          : rampIndex(value, data.max, data.scale);
      elements.push(
        svg("rect", {
          x: g.columns.start + j * g.columns.size + beside,
          y: g.rows.start + i * g.rows.size + above,
          width: g.columns.size - beside,
          height: g.rows.size - above,
          fill: data.allowed?.[at] === 0 ? forbidden : itemAt(css, index),
        }),
      );
    }
  }
  return elements;
}

function cellsAsImage(data: HeatmapData, g: Geometry, colors: Palette): SVGElement {
  const RATIO = 2;
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(g.width * RATIO);
  canvas.height = Math.round(g.height * RATIO);
  const context = penOf(canvas);
  context.scale(RATIO, RATIO);
  context.translate(-g.left, -g.top);
  new CellPainter().paint(context, g, data, colors);
  const { left: x, top: y, width, height } = g;
  return svg("image", { x, y, width, height, href: canvas.toDataURL("image/png") });
}

/** The map as it is on screen (column labels on end where `upright`). */
export function heatmapNodes(
  data: HeatmapData,
  g: Geometry,
  highlights: Highlights,
  colors: Palette,
  upright = true,
): SVGElement {
  const vector = new VectorContext();
  const { pen } = vector;
  pen.save();
  pen.beginPath();
  pen.rect(g.left, g.top, g.width, g.height);
  pen.clip();
  vector.append(...cellNodes(data, g, colors, (color) => vector.hatch(color)));
  paintOverflow(pen, g, data, colors);
  pen.restore();
  paintBoundaries(pen, g, data.boundaries, colors);
  paintMarginal(pen, g, { ...data, marginalTop: "all" }, colors);
  const { rest, max, scale } = data;
  if (rest) paintRest(pen, g, { values: rest, max, scale, rows: g.rows }, colors);
  paintAxisNames(pen, g, data.axes, colors);
  paintMarks(pen, g, { ...highlights, hover: null }, colors);
  paintLabels(pen, g, textOf(data), { ...highlights, hover: null }, colors, upright);
  return vector.element;
}

/** The flow from the left edge 0 to `width`, as it is on screen. */
export function flowNodes(
  data: FlowData,
  g: Geometry,
  highlights: Highlights,
  width: number,
  colors: Palette,
): SVGElement {
  const vector = new VectorContext();
  paintFlow(vector.pen, width, data, g, { ...highlights, hover: null }, colors);
  return vector.element;
}
