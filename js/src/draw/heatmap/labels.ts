/** Labels of an axis: which are written, and where next to a map. */

import { fitText } from "../canvas";
import type { Palette } from "../color/theme";
import { giveWay, isSign, pickLabels } from "./axis";
import type { Longest } from "./layout";
import { nameFont, rowsName } from "./marks";
import type { Track } from "./types";
import {
  type AxesText,
  type AxisText,
  type Geometry,
  GUTTER_PAD,
  type HeatmapData,
  type Highlights,
  LABEL_GAP,
  LABEL_LEAST,
} from "./types";

/** Half of the height of a label (px). */
const HALF_LINE = 6;

/** Size of the labels of an axis (px). */
const labelFont = ({ size }: Track): number => Math.max(10, Math.min(12, Math.floor(size * 0.8)));

/** Highlighted places of an axis that are in sight, the first of every crowd: what is named earlier matters more. */
export function inSight(
  highlighted: readonly number[],
  { start, size }: Track,
  [from, to]: readonly [number, number],
): number[] {
  const kept: number[] = [];
  for (const i of highlighted) {
    const middle = start + (i + 0.5) * size;
    if (i < 0 || middle < from || middle > to) continue;
    if (kept.every((other) => Math.abs(i - other) * size >= LABEL_GAP - 2)) kept.push(i);
  }
  return kept;
}

/** Axis with a label a place: as many as fit, the weightiest first. */
const placeText = (
  names: readonly string[],
  weight: ArrayLike<number>,
  gap = LABEL_GAP,
): AxisText => ({
  font: labelFont,
  reach: 1,
  labels(track, range, highlighted) {
    const strong = inSight(highlighted, track, range);
    const chosen = giveWay(pickLabels(track, range, gap, weight), strong, track, gap);
    return [...chosen, ...strong].map((i, at) => ({
      at: track.start + (i + 0.5) * track.size,
      text: names[i] ?? "",
      bold: at >= chosen.length,
    }));
  },
});

/** Axis of narrow places: the first words of sentences, and between them the weightiest places, half as dense. */
function sparseText(
  names: readonly string[],
  weight: ArrayLike<number>,
  starts: ReadonlyMap<number, string>,
): AxisText {
  const all = placeText(names, weight, LABEL_LEAST);
  const first = Uint8Array.from(names, (_, i) => (starts.has(i) ? 1 : 0));
  return {
    ...all,
    labels(track, range, highlighted) {
      if (track.size >= LABEL_LEAST) return all.labels(track, range, highlighted);
      const strong = inSight(highlighted, track, range);
      const begin = pickLabels(track, range, LABEL_GAP, first).filter((i) => starts.has(i));
      const others = pickLabels(track, range, 2 * LABEL_GAP, weight).filter(
        (i) => !isSign(names[i] ?? ""),
      );
      const chosen = giveWay(
        [...begin, ...giveWay(others, begin, track, LABEL_GAP)],
        strong,
        track,
        LABEL_GAP,
      );
      const label = (text: string | undefined, i: number, bold: boolean) => ({
        at: track.start + (i + 0.5) * track.size,
        text: text ?? "",
        bold,
      });
      return [
        ...chosen.map((i) => label(starts.get(i) ?? names[i], i, false)),
        ...strong.map((i) => label(names[i], i, true)),
      ];
    },
  };
}

/** Keys that receive much come first; rows of another text come in their order. */
export function textOf({
  rows,
  rowLabels,
  columnLabels,
  marginal,
  starts,
}: Pick<HeatmapData, "rows" | "rowLabels" | "columnLabels" | "marginal" | "starts">): AxesText {
  const weight = rowLabels === columnLabels ? marginal : new Uint8Array(rows);
  if (starts === undefined)
    return { rows: placeText(rowLabels, weight), columns: placeText(columnLabels, marginal) };
  return {
    rows: sparseText(rowLabels, weight, starts.rows),
    columns: sparseText(columnLabels, marginal, starts.columns),
  };
}

/** Highlighted places of both axes, those that matter most first. */
export const strongOf = ({ row, hover, pair, group, links }: Highlights) => ({
  rows: [hover?.row ?? -1, row, pair?.row ?? -1, ...group.rows],
  columns: [
    hover?.column ?? -1,
    pair?.column ?? -1,
    ...links.map(({ column }) => column),
    ...group.columns,
  ],
});

/** Widths of the longest labels of both axes when highlighted, in bold, and of the name of the rows (px). */
export function longestOf(
  pen: CanvasRenderingContext2D,
  { rowLabels, columnLabels, axes }: Pick<HeatmapData, "rowLabels" | "columnLabels" | "axes">,
  font: string,
): Longest {
  const longest = (labels: readonly string[]): number =>
    labels.reduce((most, label) => Math.max(most, pen.measureText(label).width), 0);
  pen.font = nameFont(font);
  const names = pen.measureText(rowsName(axes)).width;
  pen.font = `600 12px ${font}`;
  const rows = longest(rowLabels);
  return { rows, columns: rowLabels === columnLabels ? rows : longest(columnLabels), names };
}

export const fontOf = (bold: boolean, size: number, { font }: Palette): string =>
  `${bold ? "600 " : ""}${size}px ${font}`;

/** Labels of both axes of a map: highlighted ones in bold, crowded neighbors hidden. */
export function paintLabels(
  context: CanvasRenderingContext2D,
  g: Geometry,
  text: AxesText,
  highlights: Highlights,
  colors: Palette,
  upright: boolean,
): void {
  const strong = strongOf(highlights);
  context.textBaseline = "middle";
  context.direction = "ltr";
  for (const across of [true, false]) {
    const [axis, track] = across ? [text.rows, g.rows] : [text.columns, g.columns];
    const from = across ? g.top : g.left;
    const to = from + (across ? g.height : g.width);
    const room = (across ? g.left : g.top) - GUTTER_PAD;
    const size = axis.font(track);
    for (const label of axis.labels(track, [from, to], across ? strong.rows : strong.columns)) {
      context.font = fontOf(label.bold, size, colors);
      context.fillStyle = label.bold ? colors.ink : colors.muted;
      const written = fitText(context, label.text, room + axis.reach);
      if (across) {
        context.textAlign = "right";
        context.fillText(written, room, label.at);
      } else if (upright && isSign(label.text)) {
        context.textAlign = "center";
        context.fillText(label.text, label.at, room - HALF_LINE + 2);
      } else if (upright) {
        context.save();
        // Half a line of the last one would lie outside of the canvas.
        context.translate(Math.min(label.at, to - HALF_LINE), room);
        context.rotate(-Math.PI / 2);
        context.textAlign = "left";
        context.fillText(written, 0, 0);
        context.restore();
      } else {
        context.textAlign = "center";
        context.fillText(label.text, label.at, room - 5);
      }
    }
  }
}
