/** Patches of a picture: their places in the grid, and regions of them. */

import type { Meta } from "../../protocol/types";
import { same } from "../../state/state";

export type PatchGrid = NonNullable<Meta["image"]>;

/** Rows and columns, each `[from, to]` with both ends inside. */
export interface Region {
  readonly rows: readonly [number, number];
  readonly columns: readonly [number, number];
}

export interface Place {
  readonly row: number;
  readonly column: number;
}

export const countOf = ({ rows, columns }: PatchGrid): number => rows * columns;

/** The place of a patch; null of a special token. */
export function placeOf(grid: PatchGrid, token: number): Place | null {
  const index = token - grid.first;
  if (index < 0 || index >= countOf(grid)) return null;
  return { row: Math.floor(index / grid.columns), column: index % grid.columns };
}

export const tokenAt = ({ first, columns }: PatchGrid, { row, column }: Place): number =>
  first + row * columns + column;

/** The region that two patches span. */
export function regionOf(a: Place, b: Place): Region {
  const sorted = (x: number, y: number): readonly [number, number] => (x < y ? [x, y] : [y, x]);
  return { rows: sorted(a.row, b.row), columns: sorted(a.column, b.column) };
}

/** The region that some tokens fill; null of any others. */
export function regionFilled(grid: PatchGrid, tokens: readonly number[]): Region | null {
  const [first, last] = [tokens.at(0), tokens.at(-1)].map((token) =>
    token === undefined ? null : placeOf(grid, token),
  );
  if (!first || !last) return null;
  const region = regionOf(first, last);
  return same(tokensIn(grid, region), tokens) ? region : null;
}

/** Tokens of a region, row by row. */
export function tokensIn(grid: PatchGrid, { rows, columns }: Region): number[] {
  const tokens: number[] = [];
  for (let row = rows[0]; row <= rows[1]; row++)
    for (let column = columns[0]; column <= columns[1]; column++)
      tokens.push(tokenAt(grid, { row, column }));
  return tokens;
}

/** Tokens outside of the grid. */
export const specialTokens = (grid: PatchGrid, n: number): number[] =>
  Array.from({ length: n }, (_, token) => token).filter((token) => placeOf(grid, token) === null);

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** The place that a key leads to, inside of the grid: arrows, and Home and End along the row; null for any other key. */
export function stepFrom(
  { rows, columns }: PatchGrid,
  { row, column }: Place,
  key: string,
): Place | null {
  if (key === "Home") return { row, column: 0 };
  if (key === "End") return { row, column: columns - 1 };
  const by = STEPS[key];
  if (by === undefined) return null;
  const inside = (value: number, size: number): number => Math.min(Math.max(value, 0), size - 1);
  return { row: inside(row + by[0], rows), column: inside(column + by[1], columns) };
}

/** The patch at a point of the picture, px of the picture; null outside of all. `rects` `[n, 4]`. */
export function tokenUnder(
  grid: PatchGrid,
  rects: ArrayLike<number>,
  x: number,
  y: number,
): number | null {
  for (let token = grid.first; token < grid.first + countOf(grid); token++) {
    const [left, top, width, height] = rectOf(rects, token);
    if (x >= left && y >= top && x < left + width && y < top + height) return token;
  }
  return null;
}

export type Rect = readonly [x: number, y: number, width: number, height: number];

export const rectOf = (rects: ArrayLike<number>, token: number): Rect => [
  rects[4 * token] as number,
  rects[4 * token + 1] as number,
  rects[4 * token + 2] as number,
  rects[4 * token + 3] as number,
];

/** The rectangle around a region, px of the picture. */
export function boundsOf(
  grid: PatchGrid,
  rects: ArrayLike<number>,
  { rows, columns }: Region,
): Rect {
  const [x, y] = rectOf(rects, tokenAt(grid, { row: rows[0], column: columns[0] }));
  const [left, top, width, height] = rectOf(
    rects,
    tokenAt(grid, { row: rows[1], column: columns[1] }),
  );
  return [x, y, left + width - x, top + height - y];
}
