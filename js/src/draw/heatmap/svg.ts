/** Heatmap and flow as vectors: cells as rectangles while they are few, labels always as text. */

import { linkHorizontal } from "d3-shape";
import { itemAt } from "../../protocol/required";
import { penOf } from "../canvas";
import { ramp } from "../color/ramp";
import { rampIndex, signedIndex } from "../color/scale";
import type { Palette } from "../color/theme";
import { giveWay, pickLabels, type Track } from "./axis";
import { BEYOND, CellPainter, eachBeyond } from "./cells";
import {
  type FlowData,
  GUTTER_MOST,
  keyTrack,
  linksAbove,
  linkWidth,
  PALEST,
  windowOf,
} from "./flow";
import {
  type Geometry,
  GRID_FROM,
  GUTTER_PAD,
  type HeatmapData,
  type Highlights,
  LABEL_GAP,
  MARGINAL,
} from "./types";

const SVG = "http://www.w3.org/2000/svg";
/** More rectangles than this make a file that no editor opens: then the cells are an image. */
export const CELLS_MOST = 4000;

type Attributes = Readonly<Record<string, string | number>>;
const round = (value: number): number => Math.round(value * 100) / 100;

export function node<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes,
  ...children: readonly (SVGElement | string)[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, typeof value === "number" ? String(round(value)) : value);
  }
  element.append(...children);
  return element;
}

const uniqueId = (name: string): string => `aw-${name}-${Math.random().toString(36).slice(2)}`;

/** Labels of an axis as the canvas picks them: the highlighted ones and as many others as fit. */
function written(
  track: Track,
  [from, to]: readonly [number, number],
  lit: readonly number[],
  weight: ArrayLike<number>,
): { index: number; at: number; bold: boolean }[] {
  const at = (i: number): number => track.start + (i + 0.5) * track.size;
  const strong = [...new Set(lit)].filter((i) => i >= 0 && at(i) >= from && at(i) <= to);
  const chosen = giveWay(
    pickLabels(track, [from, to], LABEL_GAP, weight),
    strong,
    track,
    LABEL_GAP,
  );
  return [...chosen, ...strong].map((index) => ({
    index,
    at: at(index),
    bold: strong.includes(index),
  }));
}

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
  node(
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

function cellNodes(data: HeatmapData, g: Geometry, colors: Palette): SVGElement[] {
  const [top, bottom] = windowOf(g.rows, g.top, g.top + g.side);
  const [first, last] = windowOf(g.columns, g.left, g.left + g.side);
  if ((bottom - top) * (last - first) > CELLS_MOST) return [cellsAsImage(data, g, colors)];
  const { css } = ramp(data.ramp, colors.mode);
  const [hatch, passing] = [uniqueId("hatch"), uniqueId("beyond")];
  const gap = g.rows.size >= GRID_FROM ? 1 : 0;
  const elements: SVGElement[] = [];
  const pattern = (id: string, stroke: string): void => {
    const line = node("path", { d: "M0 6L6 0", stroke, "stroke-width": 1 });
    const tile = { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" };
    elements.push(node("defs", {}, node("pattern", tile, line)));
  };
  if (data.allowed !== null) pattern(hatch, colors.muted);
  if (data.beyond.length > 0) pattern(passing, colors.ground);
  for (let i = top; i < bottom; i++) {
    for (let j = first; j < last; j++) {
      const value = itemAt(data.values, i * data.size + j);
      const forbidden = data.allowed !== null && data.allowed[i * data.size + j] === 0;
      const index =
        data.ramp === "signed"
          ? signedIndex(value, data.max)
          : rampIndex(value, data.max, data.scale);
      elements.push(
        node("rect", {
          x: g.columns.start + j * g.columns.size + gap,
          y: g.rows.start + i * g.rows.size + gap,
          width: g.columns.size - gap,
          height: g.rows.size - gap,
          fill: forbidden ? `url(#${hatch})` : itemAt(css, index),
        }),
      );
    }
  }
  eachBeyond(data, (row, column, rows, columns) =>
    elements.push(
      node("rect", {
        x: g.columns.start + column * g.columns.size + gap,
        y: g.rows.start + row * g.rows.size + gap,
        width: columns * g.columns.size - gap,
        height: rows * g.rows.size - gap,
        fill: `url(#${passing})`,
        opacity: BEYOND,
      }),
    ),
  );
  return elements;
}

function cellsAsImage(data: HeatmapData, g: Geometry, colors: Palette): SVGElement {
  const RATIO = 2;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.round(g.side * RATIO);
  const context = penOf(canvas);
  context.scale(RATIO, RATIO);
  context.translate(-g.left, -g.top);
  new CellPainter().paint(context, g, data, colors);
  return node("image", {
    x: g.left,
    y: g.top,
    width: g.side,
    height: g.side,
    href: canvas.toDataURL("image/png"),
  });
}

/** Cells, boundaries, marks, labels (column labels on end where `upright`) and the bars of what keys receive. */
export function heatmapNodes(
  data: HeatmapData,
  g: Geometry,
  { row, pair, hover, group }: Highlights,
  colors: Palette,
  upright = true,
): SVGElement {
  const clip = uniqueId("plot");
  const frame = { x: g.left, y: g.top, width: g.side, height: g.side };
  const plot = node("g", { "clip-path": `url(#${clip})` }, ...cellNodes(data, g, colors));
  for (const { at, kind } of data.boundaries) {
    const x = g.columns.start + at * g.columns.size;
    const y = g.rows.start + at * g.rows.size;
    plot.append(
      node("path", {
        d: `M${round(x)} ${g.top}V${g.top + g.side}M${g.left} ${round(y)}H${g.left + g.side}`,
        stroke: colors.ink,
        "stroke-opacity": 0.8,
        ...(kind === "sentence" ? { "stroke-dasharray": "4 3" } : {}),
      }),
    );
  }
  const box = (x: number, y: number, width: number, height: number, stroke: string) =>
    node("rect", { x, y, width, height, fill: "none", stroke, "stroke-width": 1.5 });
  const rowTop = g.rows.start + row * g.rows.size;
  if (row >= 0) plot.append(box(g.left - 8, rowTop, g.side + 16, g.rows.size, colors.ink));
  if (pair !== null) {
    const x = g.columns.start + pair.column * g.columns.size;
    const y = g.rows.start + pair.row * g.rows.size;
    plot.append(box(x, y, g.columns.size, g.rows.size, colors.accent));
  }

  const font = Math.max(10, Math.min(12, Math.floor(g.rows.size * 0.8)));
  const lit = [hover?.row ?? -1, row, pair?.row ?? -1, ...group];
  const rows = written(g.rows, [g.top, g.top + g.side], lit, data.marginal).map((label) =>
    labelText(
      cut(itemAt(data.labels, label.index), g.left - GUTTER_PAD, font),
      label.bold,
      font,
      colors,
      {
        x: g.left - GUTTER_PAD,
        y: label.at,
        "text-anchor": "end",
      },
    ),
  );
  const litKeys = [hover?.column ?? -1, pair?.column ?? -1, ...group];
  const span = [g.left, g.left + g.side] as const;
  const columns = written(g.columns, span, litKeys, data.marginal).map((label) => {
    const foot = g.top - GUTTER_PAD;
    const name = cut(itemAt(data.labels, label.index), upright ? foot : g.columns.size, font);
    return upright
      ? labelText(name, label.bold, font, colors, {
          transform: `translate(${round(label.at)} ${foot}) rotate(-90)`,
        })
      : labelText(name, label.bold, font, colors, {
          x: label.at,
          y: foot - 5,
          "text-anchor": "middle",
        });
  });

  const foot = g.top + g.side + MARGINAL.gap + MARGINAL.height;
  const most = data.marginal.reduce((a, b) => Math.max(a, b), 0);
  const [first, last] = windowOf(g.columns, ...span);
  const bars = Array.from({ length: last - first }, (_, k) => {
    const j = first + k;
    const tall = most > 0 ? (itemAt(data.marginal, j) / most) * MARGINAL.height : 0;
    const x = Math.max(g.left, g.columns.start + j * g.columns.size);
    return `M${round(x)} ${round(foot - tall)}h${round(g.columns.size)}v${round(tall)}h${-round(g.columns.size)}z`;
  });
  return node(
    "g",
    {},
    node("defs", {}, node("clipPath", { id: clip }, node("rect", frame))),
    plot,
    ...rows,
    ...columns,
    node("path", { d: bars.join(""), fill: colors.muted }),
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
  { row, hover, pair, group }: Highlights,
  width: number,
  colors: Palette,
): SVGElement {
  const keys = keyTrack(g);
  const range = [g.top, g.top + g.side] as const;
  const gutter = Math.min(Math.ceil(data.longest), GUTTER_MOST, width * 0.3) + GUTTER_PAD;
  const [from, to] = [gutter, width - gutter];
  const y = (track: Track, i: number): number => track.start + (i + 0.5) * track.size;
  const { css } = ramp("weight", colors.mode);
  const path = linkHorizontal<
    { source: [number, number]; target: [number, number] },
    [number, number]
  >();
  const links = linksAbove(data, windowOf(g.rows, ...range), windowOf(keys, ...range));
  const paths = Array.from(links, (cell) => {
    const [i, j] = [Math.floor(cell / data.size), cell % data.size];
    const value = itemAt(data.values, cell);
    return node("path", {
      d: path({ source: [from, y(g.rows, i)], target: [to, y(keys, j)] }) ?? "",
      fill: "none",
      stroke: itemAt(css, Math.max(PALEST, rampIndex(value, data.max, data.scale))),
      "stroke-opacity": row < 0 || i === row ? 0.9 : 0.12,
      "stroke-width": linkWidth(value, data.max, g.rows.size),
    });
  });
  const font = Math.max(10, Math.min(12, Math.floor(g.rows.size * 0.8)));
  const side = (track: Track, lit: readonly number[], x: number, anchor: string): SVGElement[] =>
    written(track, range, lit, data.received).map(({ index, at, bold }) =>
      labelText(cut(itemAt(data.labels, index), gutter - GUTTER_PAD, font), bold, font, colors, {
        x,
        y: at,
        "text-anchor": anchor,
      }),
    );
  return node(
    "g",
    {},
    ...paths,
    ...side(g.rows, [row, hover?.row ?? -1, pair?.row ?? -1, ...group], from - 6, "end"),
    ...side(keys, [hover?.column ?? -1, pair?.column ?? -1, ...group], to + 6, "start"),
  );
}
