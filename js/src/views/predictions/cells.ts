/** Cells of the list by position and column: which element they are, and where a key leads. */

import { step } from "../../draw/dom";
import { scrollDown } from "../../draw/scroll";
import { itemAt } from "../../protocol/required";
import type { Column } from "./answers";

export interface CellPlace {
  readonly position: number;
  readonly column: Column;
}

/** Bring a row in sight, below the header that stays. */
export function scrollTo(list: Element, row: HTMLElement): void {
  const header = (list.firstElementChild as HTMLElement | null)?.offsetHeight ?? 0;
  scrollDown(list, row.offsetTop - header, row.offsetTop + row.offsetHeight);
}

/** The cell that an event concerns; null outside of them. */
export function placeOf(target: EventTarget | null): CellPlace | null {
  const cell = (target as Element | null)?.closest<HTMLElement>(".aw-guess");
  if (cell == null) return null;
  const { position, column } = cell.dataset;
  return {
    position: Number(position),
    column: COLUMNS.find((name) => name === column) ?? Number(column),
  };
}

const COLUMNS = ["token", "mask", "original"] as const;

export const cellAt = (list: Element, { position, column }: CellPlace): HTMLElement | null =>
  list.querySelector(`.aw-guess[data-position="${position}"][data-column="${column}"]`);

/** The cell that a key leads to; null for a key that moves nothing. `columnsOf` gives the cells of a position. */
export function nextCell(
  { key, ctrlKey }: Pick<KeyboardEvent, "key" | "ctrlKey">,
  { position, column }: CellPlace,
  positions: readonly number[],
  columnsOf: (position: number) => readonly Column[],
): CellPlace | null {
  if (/^Arrow(Up|Down)$/.test(key) || (ctrlKey && /^(Home|End)$/.test(key))) {
    const at = step(key, positions.indexOf(position), positions.length);
    if (at === null) return null;
    const other = itemAt(positions, at);
    return { position: other, column: columnsOf(other).includes(column) ? column : "token" };
  }
  const columns = columnsOf(position);
  const at = step(key, columns.indexOf(column), columns.length);
  return at === null ? null : { position, column: itemAt(columns, at) };
}
