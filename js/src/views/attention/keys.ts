/** The matrix by keyboard: where each key moves the cursor, and what the others do. */

import type { Heatmap } from "../../draw/heatmap/heatmap";
import type { Cell } from "../../draw/heatmap/types";
import { largest, rowOf } from "../../figures/derive/matrix";
import type { Matrix } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";

/** The cell that a key leads to from `at` (null: no cursor yet), or null for a key that moves nothing. */
export function moveCell(
  key: string,
  at: Cell,
  { queries, keys, weights, scores }: Matrix,
  fresh: boolean,
): Cell | null {
  const last: Cell = { row: queries.length - 1, column: keys.length - 1 };
  const page = Math.max(1, Math.round(last.row / 10));
  const { row, column } = at;
  const moves: Record<string, () => Cell> = {
    ArrowLeft: () => ({ row, column: column - 1 }),
    ArrowRight: () => ({ row, column: column + (fresh ? 0 : 1) }),
    ArrowUp: () => ({ row: row - 1, column }),
    ArrowDown: () => ({ row: row + 1, column }),
    PageUp: () => ({ row: row - page, column }),
    PageDown: () => ({ row: row + page, column }),
    Home: () => ({ row, column: 0 }),
    End: () => ({ row, column: last.column }),
    // The strongest key of this row.
    m: () => ({ row, column: itemAt(largest(rowOf(scores ?? weights, row, keys.length), 1), 0) }),
  };
  const move = moves[key];
  if (move === undefined) return null;
  const bound = (value: number, most: number): number => Math.min(Math.max(value, 0), most);
  const next = move();
  return { row: bound(next.row, last.row), column: bound(next.column, last.column) };
}

const ZOOM = 1.6;

/** The matrix and its cursor as a key finds them, and the actions of keys. */
interface Keys {
  readonly map: Heatmap;
  readonly matrix: Matrix;
  readonly cursor: Cell | null;
  /** The row of the focus token, -1 for none. */
  readonly focused: number;
  readonly hover: (cell: Cell) => void;
  readonly pick: (cell: Cell, gathering?: boolean) => void;
  /** Release selections one by one; false if there is none. */
  readonly release: () => boolean;
  readonly announceCell: () => void;
}

/** Do what a key does; false for a key that does nothing here. */
export function pressKey(
  { key, ctrlKey, metaKey, shiftKey }: KeyboardEvent,
  { map, matrix, cursor, focused, hover, pick, release, announceCell }: Keys,
): boolean {
  const { row, column } = cursor ?? { row: focused, column: 0 };
  const at = { row: Math.max(row, 0), column: Math.max(column, 0) };
  const control = ctrlKey || metaKey;
  if ((control && key === "Enter") || (shiftKey && key === " ")) pick(at, true);
  else if (control) return false;
  else {
    const cell = moveCell(key, at, matrix, cursor === null);
    if (cell !== null) {
      hover(cell);
      map.reveal(cell);
      announceCell();
    } else if (key === "Enter" || key === " ") pick(at);
    else if (key === "+" || key === "=") map.zoomBy(ZOOM);
    else if (key === "-") map.zoomBy(1 / ZOOM);
    else if (key === "0") map.resetZoom();
    else return key === "Escape" && release();
  }
  return true;
}
