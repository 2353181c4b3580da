/** Marks over and around the cells: focus row, hover, pinned pair, group, labels. */

import { itemAt } from "../../protocol/required";
import { fitText } from "../canvas";
import type { Palette } from "../color/theme";
import { giveWay, pickLabels, type Track } from "./axis";
import {
  type AxisNames,
  type Cell,
  type Geometry,
  GUTTER_PAD,
  type HeatmapData,
  type Highlights,
  LABEL_GAP,
} from "./types";

const GROUP = { from: 6, thick: 3 } as const;

export function paintMarks(
  context: CanvasRenderingContext2D,
  g: Geometry,
  { row, pair, hover, group }: Highlights,
  colors: Palette,
): void {
  const y = (i: number): number => g.rows.start + i * g.rows.size;
  const x = (j: number): number => g.columns.start + j * g.columns.size;
  const [wide, tall] = [g.columns.size, g.rows.size];
  context.save();
  context.beginPath();
  context.rect(g.left - 1, g.top - 1, g.width + 2, g.height + 2);
  context.clip();
  const band = (at: number, across: boolean) => {
    const thick = Math.max(across ? tall : wide, 2);
    if (across) context.strokeRect(g.left - 8, at - 0.5, g.width + 16, thick + 1);
    else context.strokeRect(at - 0.5, g.top - 8, thick + 1, g.height + 16);
  };
  context.lineWidth = 1.5;
  if (row >= 0) {
    context.strokeStyle = colors.ink;
    band(y(row), true);
  }
  if (hover !== null) {
    context.lineWidth = 1;
    context.strokeStyle = colors.muted;
    if (hover.row >= 0) band(y(hover.row), true);
    if (hover.column >= 0) band(x(hover.column), false);
  }
  const box = (cell: Cell, color: string, line: number) => {
    if (cell.column < 0 || cell.row < 0) return;
    const [across, down] = [Math.max(0, (6 - wide) / 2), Math.max(0, (6 - tall) / 2)];
    context.strokeStyle = color;
    context.lineWidth = line;
    context.strokeRect(
      x(cell.column) - across,
      y(cell.row) - down,
      wide + 2 * across,
      tall + 2 * down,
    );
  };
  if (hover !== null) box(hover, colors.ink, 1.5);
  if (pair !== null) {
    box(pair, colors.ground, 4);
    box(pair, colors.accent, 2);
  }
  context.restore();

  // Between labels and plot, on both sides.
  context.fillStyle = colors.accent;
  const mark = (size: number): number => Math.max(size - 1, 2);
  for (const i of group.rows) {
    const at = y(i) + tall / 2;
    if (at > g.top && at < g.top + g.height) {
      context.fillRect(g.left - GROUP.from, at - mark(tall) / 2, GROUP.thick, mark(tall));
    }
  }
  for (const j of group.columns) {
    const at = x(j) + wide / 2;
    if (at > g.left && at < g.left + g.width) {
      context.fillRect(at - mark(wide) / 2, g.top - GROUP.from, mark(wide), GROUP.thick);
    }
  }
}

/** Labels of both axes; highlighted ones in bold, crowded neighbors hidden. */
export function paintLabels(
  context: CanvasRenderingContext2D,
  g: Geometry,
  data: HeatmapData,
  { row, hover, pair, group }: Highlights,
  colors: Palette,
  upright: boolean,
): void {
  context.textBaseline = "middle";
  context.direction = "ltr";
  const write = (track: Track, highlighted: readonly number[], across: boolean) => {
    const from = across ? g.top : g.left;
    const to = from + (across ? g.height : g.width);
    const font = labelFont(track);
    const [plain, heavy] = [`${font}px ${colors.font}`, `600 ${font}px ${colors.font}`];
    const labels = across ? data.rowLabels : data.columnLabels;
    const middle = (i: number): number => track.start + (i + 0.5) * track.size;
    const inside = (i: number): boolean => i >= 0 && middle(i) >= from && middle(i) <= to;
    const strong = apart([...new Set(highlighted)].filter(inside), track.size);
    const chosen = pickLabels(track, [from, to], LABEL_GAP, labelWeights(data, across));
    for (const i of [...giveWay(chosen, strong, track, LABEL_GAP), ...strong]) {
      const bold = strong.includes(i);
      context.font = bold ? heavy : plain;
      context.fillStyle = bold ? colors.ink : colors.muted;
      paintLabel(context, g, itemAt(labels, i), middle(i), across, upright);
    }
  };
  write(g.rows, [hover?.row ?? -1, row, pair?.row ?? -1, ...group.rows], true);
  write(g.columns, [hover?.column ?? -1, pair?.column ?? -1, ...group.columns], false);
}

/** Size of the labels of an axis (px). */
export const labelFont = ({ size }: Track): number =>
  Math.max(10, Math.min(12, Math.floor(size * 0.8)));

/** Priority of labels that are crowded: keys that receive much come first; rows of another text come in their order. */
export const labelWeights = (
  {
    rows,
    rowLabels,
    columnLabels,
    marginal,
  }: Pick<HeatmapData, "rows" | "rowLabels" | "columnLabels" | "marginal">,
  across: boolean,
): ArrayLike<number> => (across && rowLabels !== columnLabels ? new Uint8Array(rows) : marginal);

/** The first of every crowd: what is named earlier matters more. */
function apart(highlighted: readonly number[], size: number): number[] {
  const kept: number[] = [];
  for (const i of highlighted) {
    if (kept.every((other) => Math.abs(i - other) * size >= LABEL_GAP - 2)) kept.push(i);
  }
  return kept;
}

function paintLabel(
  context: CanvasRenderingContext2D,
  g: Geometry,
  label: string,
  middle: number,
  across: boolean,
  upright: boolean,
): void {
  const room = (across ? g.left : g.top) - GUTTER_PAD;
  if (across) {
    context.textAlign = "right";
    context.fillText(fitText(context, label, room + 1), room, middle);
  } else if (upright) {
    context.save();
    context.translate(middle, room);
    context.rotate(-Math.PI / 2);
    context.textAlign = "left";
    context.fillText(fitText(context, label, room + 1), 0, 0);
    context.restore();
  } else {
    context.textAlign = "center";
    context.fillText(label, middle, room - 5);
  }
}

export const nameFont = (font: string): string => `10px ${font}`;
export const rowsName = ({ rows }: AxisNames): string => `${rows} ↓`;

export function paintAxisNames(
  context: CanvasRenderingContext2D,
  g: Geometry,
  axes: AxisNames,
  colors: Palette,
): void {
  if (g.top < 32) return;
  context.font = nameFont(colors.font);
  context.fillStyle = colors.muted;
  context.textAlign = "right";
  context.textBaseline = "alphabetic";
  context.fillText(`${axes.columns} →`, g.left - GUTTER_PAD, g.top - 20);
  context.fillText(rowsName(axes), g.left - GUTTER_PAD, g.top - 8);
}
