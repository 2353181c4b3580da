/** The matrix by keyboard: where each key moves the cursor, and what the others do. */

import type { Heatmap } from "../../draw/heatmap/heatmap";
import type { Cell, Extent } from "../../draw/heatmap/types";
import { largest, rowOf } from "../../figures/derive/matrix";
import type { Matrix } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";

/** The cell that a key leads to, by steps of a block; null for a key that moves nothing. */
export function moveBlock(
  key: string,
  { row, column }: Cell,
  { rows, columns }: Extent,
  block: number,
  page = block * 16,
): Cell | null {
  const moves: Record<string, readonly [number, number]> = {
    ArrowLeft: [0, -block],
    ArrowRight: [0, block],
    ArrowUp: [-block, 0],
    ArrowDown: [block, 0],
    PageUp: [-page, 0],
    PageDown: [page, 0],
    Home: [0, -columns],
    End: [0, columns],
  };
  const by = moves[key];
  if (by === undefined) return null;
  const bound = (value: number, count: number): number => Math.min(Math.max(value, 0), count - 1);
  return { row: bound(row + by[0], rows), column: bound(column + by[1], columns) };
}

/** The cell that a key leads to from `at` (`fresh`: no cursor yet), or null for a key that moves nothing. */
export function moveCell(
  key: string,
  at: Cell,
  { queries, keys, weights, scores }: Matrix,
  fresh: boolean,
): Cell | null {
  const extent = { rows: queries.length, columns: keys.length };
  if (fresh && key === "ArrowRight") return at;
  // The strongest key of this row.
  if (key === "m") {
    const column = itemAt(largest(rowOf(scores ?? weights, at.row, keys.length), 1), 0);
    return { row: at.row, column };
  }
  return moveBlock(key, at, extent, 1, Math.max(1, Math.round((extent.rows - 1) / 10)));
}

const ZOOM = 1.6;

/** Zoom by a key; false for one that does not. */
export function zoomByKey(map: Heatmap, key: string): boolean {
  if (key === "+" || key === "=") map.zoomBy(ZOOM);
  else if (key === "-") map.zoomBy(1 / ZOOM);
  else if (key === "0") map.resetZoom();
  else return false;
  return true;
}

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
    else return zoomByKey(map, key) || (key === "Escape" && release());
  }
  return true;
}
