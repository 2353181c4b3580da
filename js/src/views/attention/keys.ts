/** The matrix by keyboard: where each key moves the cursor. */

import type { Cell } from "../../draw/heatmap/types";
import { largest, rowOf } from "../../figures/derive/matrix";
import type { Matrix } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";

/** The cell that a key leads to from `at` (null: no cursor yet), or null for a key that moves nothing. */
export function moveCell(
  key: string,
  at: Cell,
  { size, weights, scores }: Matrix,
  fresh: boolean,
): Cell | null {
  const last = size - 1;
  const page = Math.max(1, Math.round(last / 10));
  const { row, column } = at;
  const moves: Record<string, () => Cell> = {
    ArrowLeft: () => ({ row, column: column - 1 }),
    ArrowRight: () => ({ row, column: column + (fresh ? 0 : 1) }),
    ArrowUp: () => ({ row: row - 1, column }),
    ArrowDown: () => ({ row: row + 1, column }),
    PageUp: () => ({ row: row - page, column }),
    PageDown: () => ({ row: row + page, column }),
    Home: () => ({ row, column: 0 }),
    End: () => ({ row, column: last }),
    // The strongest key of this row.
    m: () => ({ row, column: itemAt(largest(rowOf(scores ?? weights, row, size), 1), 0) }),
  };
  const move = moves[key];
  if (move === undefined) return null;
  const bound = (value: number): number => Math.min(Math.max(value, 0), last);
  const next = move();
  return { row: bound(next.row), column: bound(next.column) };
}
