/** The matrix by keyboard: where each key moves the cursor, and what the others do. */

import { consume } from "../../draw/dom";
import type { Cell, Heatmap } from "../../draw/heatmap/heatmap";
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

export interface MapKeys {
  matrix(): Matrix | null;
  cursor(): Cell | null;
  /** The row of the focus token, -1 for none. */
  focused(matrix: Matrix): number;
  hover(cell: Cell): void;
  pick(cell: Cell, gathering?: boolean): void;
  /** Release selections one by one; false if there is none. */
  letGo(): boolean;
  speak(): void;
}

const ZOOM = 1.6;

export function listenToMap(map: Heatmap, keys: MapKeys, signal: AbortSignal): void {
  /** Do what a key does; false for a key that does nothing here. */
  function press(event: KeyboardEvent, matrix: Matrix): boolean {
    const cursor = keys.cursor();
    const { row, column } = cursor ?? { row: keys.focused(matrix), column: 0 };
    const at = { row: Math.max(row, 0), column: Math.max(column, 0) };
    const { key } = event;
    const control = event.ctrlKey || event.metaKey;
    if ((control && key === "Enter") || (event.shiftKey && key === " ")) keys.pick(at, true);
    else if (control) return false;
    else {
      const cell = moveCell(key, at, matrix, cursor === null);
      if (cell !== null) {
        keys.hover(cell);
        map.reveal(cell);
        keys.speak();
      } else if (key === "Enter" || key === " ") keys.pick(at);
      else if (key === "+" || key === "=") map.zoomBy(ZOOM);
      else if (key === "-") map.zoomBy(1 / ZOOM);
      else if (key === "0") map.resetZoom();
      else return key === "Escape" && keys.letGo();
    }
    return true;
  }
  map.element.addEventListener(
    "keydown",
    (event) => {
      const matrix = keys.matrix();
      if (matrix === null || matrix.size === 0 || event.altKey || !press(event, matrix)) return;
      consume(event);
    },
    { signal },
  );
}
