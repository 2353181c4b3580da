/** The list of positions as a grid: which cell a key leads to, and how a row comes in sight. */

import { h, step } from "../../draw/dom";
import { whenNear } from "../../draw/near";
import { scrollDown } from "../../draw/scroll";
import { itemAt } from "../../protocol/required";

/** A grid without rows; `long`: not all of them fit on a screen. */
export const createList = (positions: number, columns: number, long: boolean): HTMLElement =>
  h("div", {
    class: `aw-predictions-list${long ? " is-long" : ""}`,
    role: "grid",
    "aria-label": "Predictions by position",
    "aria-rowcount": positions + 1,
    "aria-colcount": columns,
  });

/** Bring a row in sight, below the header that stays. */
export function scrollTo(list: HTMLElement, row: HTMLElement): void {
  const header = (list.firstElementChild as HTMLElement | null)?.offsetHeight ?? 0;
  scrollDown(list, row.offsetTop - header, row.offsetTop + row.offsetHeight);
}

/** Rows this far (px) from what is in sight have their cells. */
const NEAR_PX = 400;

/**
 * Gives rows their cells when they come near, and takes them away from those that have gone: a long text would have
 * 75 elements a token in the page. `keep`: a row that is in use.
 */
export const rowsNear = (
  list: HTMLElement,
  ready: (position: number) => HTMLElement,
  keep: (row: HTMLElement) => boolean,
): IntersectionObserver =>
  whenNear(
    list,
    NEAR_PX,
    (row) => ready(Number(row.dataset.position)),
    (row) => keep(row) || row.replaceChildren(),
  );

/** Watch these rows, and no others. */
export function watchRows(near: IntersectionObserver, rows: readonly HTMLElement[]): void {
  near.disconnect();
  for (const row of rows) near.observe(row);
}

/** A selector of the cell of another row that stands in the column of `cell`. */
function sameColumn({ dataset, classList }: HTMLElement): string {
  if (dataset.rank !== undefined) return `[data-rank="${dataset.rank}"]`;
  return classList.contains("aw-mask-token")
    ? ".aw-mask-token"
    : classList.contains("aw-original")
      ? ".aw-original"
      : ".aw-position-token";
}

/** The cell that a key leads to from `cell` of `row`; null for a key that moves nothing. `ready` fills a row. */
export function nextCell(
  { key, ctrlKey }: KeyboardEvent,
  cell: HTMLElement,
  row: HTMLElement,
  rows: readonly HTMLElement[],
  ready: (position: number) => HTMLElement,
): HTMLElement | null {
  if (/^Arrow(Up|Down)$/.test(key) || (ctrlKey && /^(Home|End)$/.test(key))) {
    const shown = rows.filter(({ hidden }) => !hidden);
    const at = step(key, shown.indexOf(row), shown.length);
    if (at === null) return null;
    const other = ready(rows.indexOf(itemAt(shown, at)));
    return other.querySelector<HTMLElement>(sameColumn(cell)) ?? other.querySelector(".aw-guess");
  }
  const cells = [...row.querySelectorAll<HTMLElement>(".aw-guess")];
  const at = step(key, cells.indexOf(cell), cells.length);
  return at === null ? null : itemAt(cells, at);
}
