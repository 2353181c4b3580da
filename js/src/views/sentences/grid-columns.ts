/** Columns of many sentences: those near what is in sight have their cells, the others have none. */

/** Columns `[from, to)`. */
export type Columns = readonly [from: number, to: number];

/** Columns come and go so many at a time, and so many more than are in sight stay on both sides. */
const STEP = 8;

/** `label`, `cell`: widths, px. All columns where nothing is laid out. */
export function columnsInSight(
  { scrollLeft, clientWidth }: Pick<Element, "scrollLeft" | "clientWidth">,
  label: number,
  cell: number,
  size: number,
): Columns {
  if (clientWidth === 0 || cell === 0) return [0, size];
  // Where the text runs from right to left the distance is negative.
  const left = Math.abs(scrollLeft) / cell;
  const shown = Math.max(1, (clientWidth - label) / cell);
  const from = STEP * (Math.floor(left / STEP) - 1);
  const to = STEP * (Math.ceil((left + shown) / STEP) + 1);
  return [Math.max(0, Math.min(from, size)), Math.min(size, to)];
}

/** Give a row the cells of some columns, and no others; those that stay are not touched. `also`: one more column. */
export function fitCells(
  row: Element,
  [from, to]: Columns,
  make: (b: number) => HTMLElement,
  also = -1,
): void {
  const wanted = Array.from({ length: to - from }, (_, i) => from + i);
  if (also >= 0 && also < from) wanted.unshift(also);
  else if (also >= to) wanted.push(also);
  const kept = new Set(wanted);
  for (const cell of row.querySelectorAll<HTMLElement>(":scope > [data-b]")) {
    if (!kept.has(Number(cell.dataset.b))) cell.remove();
  }
  let next = row.firstElementChild?.nextElementSibling ?? null;
  for (const b of wanted) {
    if (next !== null && (next as HTMLElement).dataset.b === String(b)) {
      next = next.nextElementSibling;
      continue;
    }
    const cell = make(b);
    // Columns count from 1, and the first one is the label's.
    cell.style.gridColumn = String(b + 2);
    cell.setAttribute("aria-colindex", String(b + 2));
    row.insertBefore(cell, next);
  }
}
