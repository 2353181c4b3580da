/** Heatmap and flow as vectors: cells as rectangles while they are few, labels always as text. */

import type { Boundary } from "../../figures/derive/boundaries";
import { itemAt } from "../../protocol/required";
import { penOf } from "../canvas";
import { ramp } from "../color/ramp";
import { rampIndex, signedIndex } from "../color/scale";
import type { Palette } from "../color/theme";
import { svg } from "../dom";
import { windowOf } from "./axis";
import {
  boundaryStrength,
  CellPainter,
  eachOverflow,
  HATCH_OPACITY,
  LABEL_LIFT,
  REST_NAME,
  restCells,
} from "./cells";
import { type FlowData, flowGutters, keyTrack, linkColor, linkPath, linkWidth } from "./flow";
import { strongOf, textOf } from "./labels";
import type { Track } from "./types";
import {
  type AxisText,
  type Geometry,
  GRID_FROM,
  GUTTER_PAD,
  type HeatmapData,
  type Highlights,
  type Label,
  MARGINAL,
  REST,
} from "./types";

/** More rectangles than this make a file that no editor opens: then the cells are an image. */
export const CELLS_MAX = 4000;

type Attributes = Readonly<Record<string, string | number>>;
const round = (value: number): number => Math.round(value * 100) / 100;

const uniqueId = (name: string): string => `aw-${name}-${Math.random().toString(36).slice(2)}`;

/** Text in a file cannot be measured: a letter counts as half its height, a wide one (CJK) as all of it. */
function cut(text: string, room: number, font: number): string {
  const characters = [...text];
  const wide = (character: string): number => (character > "\u2e80" ? 1 : 0.56) * font;
  let used = 0;
  const fits = characters.findIndex((character) => {
    used += wide(character);
    return used > room;
  });
  return fits < 0 ? text : `${characters.slice(0, Math.max(1, fits - 1)).join("")}…`;
}

const labelText = (
  text: string,
  bold: boolean,
  font: number,
  colors: Palette,
  attributes: Attributes,
): SVGElement =>
  svg(
    "text",
    {
      "font-size": font,
      fill: bold ? colors.ink : colors.muted,
      ...(bold ? { "font-weight": 600 } : {}),
      "dominant-baseline": "central",
      direction: "ltr",
      "unicode-bidi": "isolate",
      ...attributes,
    },
    text,
  );

/** Labels of an axis as the canvas has them; `place`: where one stands. */
function labelNodes(
  axis: AxisText,
  track: Track,
  range: readonly [number, number],
  strong: readonly number[],
  room: number,
  colors: Palette,
  place: (at: number) => Attributes,
): SVGElement[] {
  const font = axis.font(track);
  return axis
    .labels(track, range, strong)
    .map(({ at, text, bold }: Label) =>
      labelText(cut(text, room, font), bold, font, colors, place(at)),
    );
}

function cellNodes(data: HeatmapData, g: Geometry, colors: Palette): SVGElement[] {
  const [top, bottom] = windowOf(g.rows, g.top, g.top + g.height);
  const [first, last] = windowOf(g.columns, g.left, g.left + g.width);
  if ((bottom - top) * (last - first) > CELLS_MAX) return [cellsAsImage(data, g, colors)];
  const { css } = ramp(data.ramp, colors.mode);
  const [hatch, passing] = [uniqueId("hatch"), uniqueId("overflow")];
  const apart = ({ size }: Track): number => (size >= GRID_FROM ? 1 : 0);
  const [beside, above] = [apart(g.columns), apart(g.rows)];
  const elements: SVGElement[] = [];
  const pattern = (id: string, stroke: string): void => {
    const line = svg("path", { d: "M0 6L6 0", stroke, "stroke-width": 1 });
    const tile = { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" };
    elements.push(svg("defs", {}, svg("pattern", tile, line)));
  };
  if (data.allowed !== null) pattern(hatch, colors.muted);
  if (data.overflow.rows.length + data.overflow.columns.length > 0) pattern(passing, colors.ground);
  for (let i = top; i < bottom; i++) {
    for (let j = first; j < last; j++) {
      const value = itemAt(data.values, i * data.columns + j);
      const forbidden = data.allowed !== null && data.allowed[i * data.columns + j] === 0;
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
          fill: forbidden ? `url(#${hatch})` : itemAt(css, index),
        }),
      );
    }
  }
  eachOverflow(data, (row, column, rows, columns) =>
    elements.push(
      svg("rect", {
        x: g.columns.start + column * g.columns.size + beside,
        y: g.rows.start + row * g.rows.size + above,
        width: columns * g.columns.size - beside,
        height: rows * g.rows.size - above,
        fill: `url(#${passing})`,
        opacity: HATCH_OPACITY,
      }),
    ),
  );
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
  return svg("image", {
    x: g.left,
    y: g.top,
    width: g.width,
    height: g.height,
    href: canvas.toDataURL("image/png"),
  });
}

/** The narrow column of the rests of rows; nothing where rows sum to 1. */
function restNodes({ rest, max, scale }: HeatmapData, g: Geometry, colors: Palette): SVGElement[] {
  if (!rest) return [];
  const { css } = ramp("weight", colors.mode);
  const { x, cells } = restCells(g, g.rows);
  const top = g.top - LABEL_LIFT;
  return [
    ...cells.map(({ row, y, height }) =>
      svg("rect", {
        x,
        y,
        width: REST.width,
        height,
        fill: itemAt(css, rampIndex(itemAt(rest, row), max, scale)),
      }),
    ),
    labelText(REST_NAME, false, 10, colors, {
      transform: `translate(${round(x + REST.width / 2 + 3)} ${top}) rotate(-90)`,
    }),
  ];
}

/** Cells, boundaries, marks, labels (column labels on end where `upright`) and the bars of what keys receive. */
export function heatmapNodes(
  data: HeatmapData,
  g: Geometry,
  highlights: Highlights,
  colors: Palette,
  upright = true,
): SVGElement {
  const { row, pair } = highlights;
  const clip = uniqueId("plot");
  const frame = { x: g.left, y: g.top, width: g.width, height: g.height };
  const plot = svg("g", { "clip-path": `url(#${clip})` }, ...cellNodes(data, g, colors));
  const line = (kind: Boundary["kind"], d: string): void =>
    plot.append(
      svg("path", {
        d,
        stroke: colors.ink,
        "stroke-opacity": 0.8,
        ...(kind === "sentence" ? { "stroke-dasharray": "4 3" } : {}),
      }),
    );
  const drawn = (boundaries: readonly Boundary[], { size, count }: Track): readonly Boundary[] => {
    const strengthOf = boundaryStrength(size * count, boundaries.length);
    return boundaries.filter(({ kind }) => strengthOf(kind) > 0);
  };
  for (const { at, kind } of drawn(data.boundaries.columns, g.columns)) {
    line(kind, `M${round(g.columns.start + at * g.columns.size)} ${g.top}v${g.height}`);
  }
  for (const { at, kind } of drawn(data.boundaries.rows, g.rows)) {
    line(kind, `M${g.left} ${round(g.rows.start + at * g.rows.size)}h${g.width}`);
  }
  const box = (x: number, y: number, width: number, height: number, stroke: string) =>
    svg("rect", { x, y, width, height, fill: "none", stroke, "stroke-width": 1.5 });
  const rowTop = g.rows.start + row * g.rows.size;
  if (row >= 0) plot.append(box(g.left - 8, rowTop, g.width + 16, g.rows.size, colors.ink));
  if (pair !== null) {
    const x = g.columns.start + pair.column * g.columns.size;
    const y = g.rows.start + pair.row * g.rows.size;
    plot.append(box(x, y, g.columns.size, g.rows.size, colors.accent));
  }

  const text = textOf(data);
  const strong = strongOf(highlights);
  const span = [g.left, g.left + g.width] as const;
  const room = { rows: g.left - GUTTER_PAD, columns: g.top - GUTTER_PAD };
  const rows = labelNodes(
    text.rows,
    g.rows,
    [g.top, g.top + g.height],
    strong.rows,
    room.rows,
    colors,
    (y) => ({ x: room.rows, y, "text-anchor": "end" }),
  );
  const columns = labelNodes(
    text.columns,
    g.columns,
    span,
    strong.columns,
    upright ? room.columns : g.columns.size,
    colors,
    (x) =>
      upright
        ? { transform: `translate(${round(x)} ${room.columns}) rotate(-90)` }
        : { x, y: room.columns - 5, "text-anchor": "middle" },
  );

  const foot = g.top + g.height + MARGINAL.gap + MARGINAL.height;
  const most = data.marginal.reduce((a, b) => Math.max(a, b), 0);
  const [first, last] = windowOf(g.columns, ...span);
  const bars = Array.from({ length: last - first }, (_, k) => {
    const j = first + k;
    const tall = most > 0 ? (itemAt(data.marginal, j) / most) * MARGINAL.height : 0;
    const x = Math.max(g.left, g.columns.start + j * g.columns.size);
    return `M${round(x)} ${round(foot - tall)}h${round(g.columns.size)}v${round(tall)}h${-round(g.columns.size)}z`;
  });
  return svg(
    "g",
    {},
    svg("defs", {}, svg("clipPath", { id: clip }, svg("rect", frame))),
    plot,
    ...rows,
    ...columns,
    svg("path", { d: bars.join(""), fill: colors.muted }),
    ...restNodes(data, g, colors),
    labelText(data.marginalName, false, 10, colors, {
      x: g.left - GUTTER_PAD,
      y: foot - 4,
      "text-anchor": "end",
    }),
  );
}

/** The flow from the left edge 0 to `width`: a path a link, tokens on both sides. */
export function flowNodes(
  data: FlowData,
  g: Geometry,
  highlights: Highlights,
  width: number,
  colors: Palette,
): SVGElement {
  const range = [g.top, g.top + g.height] as const;
  const [before, after] = flowGutters(data, width);
  const [from, to] = [before, width - after];
  const { row } = highlights;
  const { path, ends } = linkPath(g, from, to);
  const paths = data.links.map(({ query, key, weight }) =>
    svg("path", {
      d: path(ends(query, key)) ?? "",
      fill: "none",
      stroke: linkColor(data, weight, colors.mode),
      "stroke-opacity": row < 0 || query === row ? 0.9 : data.faint,
      "stroke-width": linkWidth(data, weight, g),
    }),
  );
  const { rows, columns } = strongOf(highlights);
  return svg(
    "g",
    {},
    ...paths,
    ...labelNodes(data.text.rows, g.rows, range, rows, before - GUTTER_PAD, colors, (y) => ({
      x: from - 6,
      y,
      "text-anchor": "end",
    })),
    ...labelNodes(
      data.text.columns,
      keyTrack(g),
      range,
      columns,
      after - GUTTER_PAD,
      colors,
      (y) => ({
        x: to + 6,
        y,
        "text-anchor": "start",
      }),
    ),
  );
}
