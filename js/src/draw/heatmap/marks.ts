/** Marks over and around the cells: focus row, hover, pinned pair, group, labels. */

import { itemAt } from "../../protocol/required";
import { fitText } from "../canvas";
import type { Palette } from "../color/theme";
import { giveWay, pickLabels, type Track } from "./axis";
import {
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
  const size = g.rows.size;
  context.save();
  context.beginPath();
  context.rect(g.left - 1, g.top - 1, g.side + 2, g.side + 2);
  context.clip();
  const band = (at: number, across: boolean) => {
    const thick = Math.max(size, 2);
    if (across) context.strokeRect(g.left - 8, at - 0.5, g.side + 16, thick + 1);
    else context.strokeRect(at - 0.5, g.top - 8, thick + 1, g.side + 16);
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
    const grow = Math.max(0, (6 - size) / 2);
    context.strokeStyle = color;
    context.lineWidth = line;
    context.strokeRect(x(cell.column) - grow, y(cell.row) - grow, size + 2 * grow, size + 2 * grow);
  };
  if (hover !== null) box(hover, colors.ink, 1.5);
  if (pair !== null) {
    box(pair, colors.ground, 4);
    box(pair, colors.accent, 2);
  }
  context.restore();

  // Between labels and plot, on both sides.
  context.fillStyle = colors.accent;
  const long = Math.max(size - 1, 2);
  for (const i of group) {
    const [across, down] = [x(i) + size / 2, y(i) + size / 2];
    if (down > g.top && down < g.top + g.side) {
      context.fillRect(g.left - GROUP.from, down - long / 2, GROUP.thick, long);
    }
    if (across > g.left && across < g.left + g.side) {
      context.fillRect(across - long / 2, g.top - GROUP.from, long, GROUP.thick);
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
  const font = Math.max(10, Math.min(12, Math.floor(g.rows.size * 0.8)));
  const [plain, heavy] = [`${font}px ${colors.font}`, `600 ${font}px ${colors.font}`];
  context.textBaseline = "middle";
  context.direction = "ltr";
  const write = (track: Track, from: number, lit: readonly number[], across: boolean) => {
    const middle = (i: number): number => track.start + (i + 0.5) * track.size;
    const inside = (i: number): boolean =>
      i >= 0 && middle(i) >= from && middle(i) <= from + g.side;
    const strong = apart([...new Set(lit)].filter(inside), track.size);
    const chosen = pickLabels(track, [from, from + g.side], LABEL_GAP, data.marginal);
    for (const i of [...giveWay(chosen, strong, track, LABEL_GAP), ...strong]) {
      const bold = strong.includes(i);
      context.font = bold ? heavy : plain;
      context.fillStyle = bold ? colors.ink : colors.muted;
      paintLabel(context, g, itemAt(data.labels, i), middle(i), across, upright);
    }
  };
  write(g.rows, g.top, [hover?.row ?? -1, row, pair?.row ?? -1, ...group], true);
  write(g.columns, g.left, [hover?.column ?? -1, pair?.column ?? -1, ...group], false);
}

/** The first of every crowd: what is named earlier matters more. */
function apart(lit: readonly number[], size: number): number[] {
  const kept: number[] = [];
  for (const i of lit) {
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

export function paintAxisNames(
  context: CanvasRenderingContext2D,
  g: Geometry,
  colors: Palette,
): void {
  if (g.top < 32) return;
  context.font = `10px ${colors.font}`;
  context.fillStyle = colors.muted;
  context.textAlign = "right";
  context.textBaseline = "alphabetic";
  context.fillText("key →", g.left - GUTTER_PAD, g.top - 20);
  context.fillText("query ↓", g.left - GUTTER_PAD, g.top - 8);
}
