/** Links of a long text whose two ends are in view, as lines; those that leave the view end at its edge. */

import { linkHorizontal } from "d3-shape";
import { strongestOf } from "../../figures/derive/matrix";
import type { LinkList, LongRow } from "../../figures/long/store";
import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import { fitCanvas, fitText } from "../canvas";
import { ramp } from "../color/ramp";
import { rampIndex } from "../color/scale";
import type { Palette } from "../color/theme";
import { keyTrack, linkWidth, PALEST } from "../heatmap/flow";
import type { Geometry } from "../heatmap/types";
import { type AxesText, axisLabels, LABEL_GAP, levelOfLabels } from "./axis-labels";
import type { View } from "./long-map";

interface FlowLink {
  readonly query: number;
  readonly key: number;
  readonly weight: number;
}

interface LongFlowData {
  readonly links: readonly FlowLink[];
  /** Token in focus: its links are strong, the others faint; -1 for none. */
  readonly focus: number;
  readonly pair: readonly [number, number] | null;
  readonly top: number;
  readonly scale: Scale;
}

const PAD = 8;
const GUTTER_MAX = 96;
const FAINT = 0.08;
/** Height of a stub at the edge, px. */
const STUB = 10;

/** Links of the focus token that are drawn whatever the list of the head has. */
const FOCUS_LINKS = 12;

/** The strongest of the focus token's row, and those of the head. */
export function flowLinks(row: LongRow | null, links: LinkList | null): FlowLink[] {
  const strong: FlowLink[] = [];
  if (row !== null) {
    const { token, values } = row;
    for (const key of strongestOf(values, FOCUS_LINKS)) {
      strong.push({ query: token, key, weight: values[key] as number });
    }
  }
  links?.queries.forEach((query, i) => {
    strong.push({ query, key: links.keys[i] as number, weight: links.weights[i] as number });
  });
  return strong;
}

/** Links with both ends in view, and those of the focus that leave it; weakest first. */
export function linksInView(
  links: readonly FlowLink[],
  { rows, columns }: Pick<View, "rows" | "columns">,
  focus: number,
): { readonly inside: FlowLink[]; readonly leaving: FlowLink[] } {
  const within = (i: number, [from, to]: readonly [number, number]) =>
    i + 0.5 > from && i + 0.5 < to;
  const seen = new Set<string>();
  const inside: FlowLink[] = [];
  const leaving: FlowLink[] = [];
  for (const link of links) {
    const key = `${link.query} ${link.key}`;
    if (seen.has(key) || !within(link.query, rows)) continue;
    seen.add(key);
    if (within(link.key, columns)) inside.push(link);
    else if (link.query === focus) leaving.push(link);
  }
  const byWeight = (a: FlowLink, b: FlowLink): number => a.weight - b.weight;
  return { inside: inside.sort(byWeight), leaving: leaving.sort(byWeight) };
}

/** Draw the flow next to a map of this geometry; returns the links drawn, and those that leave the view. */
export function drawLongFlow(
  canvas: HTMLCanvasElement,
  width: number,
  data: LongFlowData,
  g: Geometry,
  view: View,
  text: AxesText,
  colors: Palette,
): { readonly drawn: number; readonly leaving: number } {
  const context = fitCanvas(canvas, width, g.top + g.height + PAD);
  const gutter = Math.min(GUTTER_MAX, width * 0.3) + PAD;
  const [from, to] = [gutter, width - gutter];
  const row = (token: number): number => g.rows.start + token * g.rows.size;
  const keys = keyTrack(g);
  const key = (token: number): number => keys.start + token * keys.size;
  const half = g.rows.size / 2;
  const { inside, leaving } = linksInView(data.links, view, data.focus);
  const { css } = ramp("weight", colors.mode);
  type Ends = { source: [number, number]; target: [number, number] };
  const path = linkHorizontal<Ends, [number, number]>().context(context);
  const color = (weight: number): string =>
    itemAt(css, Math.max(PALEST, rampIndex(weight, data.top, data.scale)));
  context.save();
  context.beginPath();
  context.rect(0, g.top - STUB, width, g.height + 2 * STUB);
  context.clip();
  for (const pass of [false, true]) {
    for (const { query, key: at, weight } of inside) {
      const highlighted = data.focus < 0 || query === data.focus;
      if (highlighted !== pass) continue;
      context.beginPath();
      path({ source: [from, row(query) + half], target: [to, key(at) + keys.size / 2] });
      context.globalAlpha = highlighted ? 0.9 : FAINT;
      context.strokeStyle = color(weight);
      context.lineWidth = linkWidth(weight, data.top, Math.max(g.rows.size, 3));
      context.stroke();
    }
  }
  // Context: where the focus looks outside of the view.
  context.setLineDash([2, 3]);
  context.globalAlpha = 0.8;
  for (const { query, key: at, weight } of leaving) {
    const edge = at < view.columns[0] ? g.top - STUB : g.top + g.height + STUB;
    context.beginPath();
    path({ source: [from, row(query) + half], target: [to, edge] });
    context.strokeStyle = color(weight);
    context.lineWidth = 1.25;
    context.stroke();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
  if (data.pair !== null) {
    context.beginPath();
    path({
      source: [from, row(data.pair[0]) + half],
      target: [to, key(data.pair[1]) + keys.size / 2],
    });
    context.strokeStyle = colors.accent;
    context.lineWidth = 2;
    context.stroke();
  }
  context.restore();

  context.textBaseline = "middle";
  const write = (
    position: (token: number) => number,
    range: readonly [number, number],
    strong: readonly number[],
    at: number,
    left: boolean,
  ): void => {
    context.textAlign = left ? "right" : "left";
    const axis = left ? text.rows : text.columns;
    const level = levelOfLabels(axis, view.pixels);
    const heavy: { readonly i: number; readonly at: number }[] = [];
    for (const i of new Set(strong)) {
      const at = position(i) + (left ? half : keys.size / 2);
      const inside = i >= 0 && at >= g.top && at <= g.top + g.height;
      // The first one matters most.
      if (inside && heavy.every((label) => Math.abs(label.at - at) >= LABEL_GAP))
        heavy.push({ i, at });
    }
    for (const label of axisLabels(axis, level, range, position, [g.top, g.top + g.height])) {
      if (heavy.some((other) => Math.abs(other.at - label.at) < LABEL_GAP)) continue;
      context.font = `11px ${colors.font}`;
      context.fillStyle = colors.muted;
      context.fillText(fitText(context, label.text, gutter - PAD), at, label.at);
    }
    context.font = `600 11px ${colors.font}`;
    context.fillStyle = colors.ink;
    for (const label of heavy) {
      context.fillText(fitText(context, axis.token(label.i), gutter - PAD), at, label.at);
    }
  };
  write(row, view.rows, [data.focus, data.pair?.[0] ?? -1], from - 6, true);
  const best = data.focus < 0 ? [] : inside.filter(({ query }) => query === data.focus);
  const strongKeys = [data.pair?.[1] ?? -1, ...best.map((link) => link.key).reverse()];
  write(key, view.columns, strongKeys, to + 6, false);
  context.font = `10px ${colors.font}`;
  context.fillStyle = colors.muted;
  context.textBaseline = "alphabetic";
  context.textAlign = "right";
  context.fillText("query", from - 6, g.top - STUB - 4);
  context.textAlign = "left";
  context.fillText("key", to + 6, g.top - STUB - 4);
  return { drawn: inside.length, leaving: leaving.length };
}
