/** Keyboard in a grid of which Tab enters one cell: arrows, Home and End move inside. */

import { step } from "../../draw/dom";

export interface Cell {
  readonly row: number;
  readonly column: number;
}

/** The cell that a key leads to, in a grid of `rows` by `columns`; null for a key that moves nothing. */
export function nextCell(
  { key, ctrlKey, metaKey, altKey }: KeyboardEvent,
  { row, column }: Cell,
  rows: number,
  columns: number,
): Cell | null {
  if (ctrlKey || metaKey || altKey) return null;
  const vertical = columns === 1 || /^Arrow(Up|Down)$/.test(key);
  if (columns === 1 && /^Arrow(Left|Right)$/.test(key)) return null;
  const next = vertical ? step(key, row, rows) : step(key, column, columns);
  if (next === null) return null;
  return vertical ? { row: next, column } : { row, column: next };
}
