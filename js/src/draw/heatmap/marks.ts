/** Marks over and around the cells: focus row, hover, pinned pair, group, names of the axes. */

import { itemAt } from "../../protocol/required";
import { ramp } from "../color/ramp";
import type { Palette } from "../color/theme";
import { type AxisNames, type Cell, type Geometry, GUTTER_PAD, type Highlights } from "./types";

const GROUP = { from: 6, thick: 3 } as const;
/** Least side of a marked link (px), and the line from its key's label down to it. */
const LINK_LEAST = 6;
const LEADER_OPACITY = 0.35;

export function paintMarks(
  context: CanvasRenderingContext2D,
  g: Geometry,
  { row, pair, hover, group, links }: Highlights,
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
  for (const { row, column, ramp: name, shade } of links) {
    const [across, down] = [Math.max(wide, LINK_LEAST), Math.max(tall, LINK_LEAST)];
    const [middle, at] = [x(column) + wide / 2, y(row) + tall / 2];
    context.globalAlpha = LEADER_OPACITY;
    context.fillStyle = colors.ink;
    context.fillRect(middle - 0.5, g.top, 1, at - down / 2 - g.top);
    context.globalAlpha = 1;
    context.fillStyle = colors.muted;
    context.fillRect(middle - across / 2 - 1, at - down / 2 - 1, across + 2, down + 2);
    context.fillStyle = itemAt(ramp(name, colors.mode).css, shade);
    context.fillRect(middle - across / 2, at - down / 2, across, down);
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
