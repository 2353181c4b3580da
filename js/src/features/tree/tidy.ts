/** Columns from left to right by depth, wide enough for their longest label: labels never meet. */

import { tree } from "d3-hierarchy";
import { itemAt } from "../../protocol/required";
import { NUMBER_GAP, type Placement, ROW, type TreeBox } from "./layout";

/** Between the end of an edge and its weight, px. */
const EDGE_GAP = 4;
/** Largest gap between columns, px. */
const GAP_MAX = 128;
/** Between tokens of different parents, in rows. */
const COUSINS = 1.25;

/** Width of a weight before its pill, px. */
const before = (numberWidth: number): number => Math.ceil(numberWidth) + NUMBER_GAP;

export const tidy: Placement = {
  name: "tidy",
  label: "Tidy",
  drawnMax: 600,
  foot: ROW / 2,

  place(root, room, { gap: least, margin }) {
    const placed = tree<TreeBox>()
      .nodeSize([ROW, 1])
      .separation((a, b) => (a.parent === b.parent ? 1 : COUSINS))(root)
      .descendants();
    const columns: { numbers: number; pills: number; left: number }[] = [];
    for (const { data, depth } of placed) {
      columns[depth] ??= { numbers: 0, pills: 0, left: 0 };
      const column = itemAt(columns, depth);
      const numbers = data.numberWidth > 0 ? before(data.numberWidth) : 0;
      column.numbers = Math.max(column.numbers, numbers);
      column.pills = Math.max(column.pills, data.width);
    }
    const taken = columns.reduce((sum, { numbers, pills }) => sum + pills + numbers, 2 * margin);
    const wanted = columns.length > 1 ? (room - taken) / (columns.length - 1) : least;
    const gap = Math.floor(Math.min(Math.max(wanted, least), GAP_MAX));
    let x = margin;
    for (const column of columns) {
      column.left = x + column.numbers;
      x = column.left + column.pills + gap;
    }
    for (const { data, depth, x } of placed) {
      const { left, pills } = itemAt(columns, depth);
      data.x = left;
      data.y = x;
      data.bend = left + pills;
    }
  },

  edge(from, to) {
    const end = to.x - to.numberWidth - NUMBER_GAP - EDGE_GAP;
    const middle = (from.bend + end) / 2;
    return (
      `M${from.x + from.width},${from.y}H${from.bend}` +
      `C${middle},${from.y} ${middle},${to.y} ${end},${to.y}`
    );
  },

  number: () => ({ x: -NUMBER_GAP, y: 0, anchor: "end" }),
  before: ({ numberWidth }) => before(numberWidth),
};
