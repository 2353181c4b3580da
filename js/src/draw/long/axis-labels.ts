/** Labels of both axes of a long matrix at the level that fits: tokens, words, sentences, paragraphs. */

import {
  type LabelLevel,
  labelLevel,
  labelOf,
  type Outline,
  type Placed,
  placeLabels,
  type Span,
  spansIn,
} from "../../figures/long/labels";
import type { Range } from "../../figures/long/levels";
import type { TokenColumns } from "../../protocol/types";
import { fitText } from "../canvas";
import type { Palette } from "../color/theme";
import type { Geometry } from "../heatmap/types";
import type { View } from "./long-map";

/** Between two labels, px. */
export const LABEL_GAP = 13;
const PAD = 8;

/** Texts of both axes; the same one where the matrix is square. */
export interface AxesText {
  readonly rows: AxisText;
  readonly columns: AxisText;
}

export interface AxisText {
  readonly tokens: TokenColumns;
  readonly outline: Outline;
  /** Label of a single token. */
  token(index: number): string;
}

/** The level of the labels of a view. */
export const levelOfLabels = ({ outline }: AxisText, pixels: number): LabelLevel =>
  labelLevel(outline, pixels, LABEL_GAP);

/** The labels that an axis has in view, with their texts. */
export function axisLabels(
  text: AxisText,
  level: LabelLevel,
  range: Range,
  position: (token: number) => number,
  window: Range,
): (Placed & { readonly text: string })[] {
  const spans: readonly Span[] =
    level === "tokens"
      ? Array.from({ length: Math.max(0, Math.ceil(range[1]) - Math.floor(range[0])) }, (_, i) => ({
          from: Math.floor(range[0]) + i,
          to: Math.floor(range[0]) + i + 1,
          rank: 0,
        })).filter(({ to }) => to <= text.tokens.text.length)
      : spansIn(text.outline[level], range).filter(
          ({ from }) => text.tokens.special[from] !== true,
        );
  return placeLabels(spans, position, window, LABEL_GAP).map((label) => ({
    ...label,
    text: level === "tokens" ? text.token(label.from) : labelOf(text.tokens, label),
  }));
}

/** Half of the height of a label, px. */
const HALF_LINE = 6;

export function paintAxes(
  context: CanvasRenderingContext2D,
  g: Geometry,
  colors: Palette,
  view: View,
  text: AxesText,
  strong: { readonly rows: readonly number[]; readonly columns: readonly number[] },
): void {
  context.textBaseline = "middle";
  const bold = (
    text: AxisText,
    indices: readonly number[],
    position: (token: number) => number,
    [from, to]: Range,
  ) =>
    indices
      .filter((i) => i >= 0)
      .map((i) => ({ at: position(i) + view.pixels / 2, text: text.token(i) }))
      .filter(({ at }) => at >= from && at <= to);

  const row = (token: number): number => g.rows.start + token * g.rows.size;
  const level = {
    rows: levelOfLabels(text.rows, view.pixels),
    columns: levelOfLabels(text.columns, view.pixels),
  };
  const heavyRows = bold(text.rows, strong.rows, row, [g.top, g.top + g.height]);
  const room = g.left - PAD;
  context.textAlign = "right";
  for (const label of axisLabels(text.rows, level.rows, view.rows, row, [
    g.top,
    g.top + g.height,
  ])) {
    if (heavyRows.some(({ at }) => Math.abs(at - label.at) < LABEL_GAP)) continue;
    context.font = `${label.rank > 0 ? "600 " : ""}11px ${colors.font}`;
    context.fillStyle = label.rank > 0 ? colors.ink : colors.muted;
    context.fillText(fitText(context, label.text, room - 2), room, label.at);
  }
  context.fillStyle = colors.ink;
  context.font = `600 11px ${colors.font}`;
  for (const { at, text: label } of heavyRows) {
    context.fillText(fitText(context, label, room - 2), room, at);
  }

  const column = (token: number): number => g.columns.start + token * g.columns.size;
  const heavyColumns = bold(text.columns, strong.columns, column, [g.left, g.left + g.width]);
  const foot = g.top - PAD;
  const upright = (label: string, at: number): void => {
    context.save();
    // Half a line of the last one would lie outside of the canvas.
    context.translate(Math.min(at, g.left + g.width - HALF_LINE), foot);
    context.rotate(-Math.PI / 2);
    context.textAlign = "left";
    context.fillText(fitText(context, label, foot - 2), 0, 0);
    context.restore();
  };
  for (const label of axisLabels(text.columns, level.columns, view.columns, column, [
    g.left,
    g.left + g.width,
  ])) {
    if (heavyColumns.some(({ at }) => Math.abs(at - label.at) < LABEL_GAP)) continue;
    context.font = `${label.rank > 0 ? "600 " : ""}11px ${colors.font}`;
    context.fillStyle = label.rank > 0 ? colors.ink : colors.muted;
    upright(label.text, label.at);
  }
  context.fillStyle = colors.ink;
  context.font = `600 11px ${colors.font}`;
  for (const { at, text: label } of heavyColumns) upright(label, at);
}

/** A hit's mark next to the matrix, px: along the axis at least, across it, and across it where one stands. */
const HIT = { least: 2, across: 4, here: 7 } as const;

/** Marks of what was found, along both axes, in the gap between labels and cells. */
export function paintHits(
  context: CanvasRenderingContext2D,
  g: Geometry,
  colors: Palette,
  view: View,
  hits: readonly (readonly [number, number])[],
  at: number,
): void {
  context.fillStyle = colors.accent;
  hits.forEach(([from, to], i) => {
    const across = i === at ? HIT.here : HIT.across;
    const size = Math.max(HIT.least, (to - from) * view.pixels - 1);
    const inside = ([first, end]: Range): boolean => to > first && from < end;
    const cut = (start: number, least: number, extent: number): readonly [number, number] => {
      const begin = Math.max(least, start);
      return [begin, Math.min(start + size, least + extent) - begin];
    };
    if (inside(view.rows)) {
      const [y, tall] = cut(g.rows.start + from * g.rows.size, g.top, g.height);
      context.fillRect(g.left - 1 - across, y, across, tall);
    }
    if (inside(view.columns)) {
      const [x, wide] = cut(g.columns.start + from * g.columns.size, g.left, g.width);
      context.fillRect(x, g.top - 1 - across, wide, across);
    }
  });
}
