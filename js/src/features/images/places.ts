/** Places in a picture by the sums of their patches, with names for a sentence. */

import type { DrawnPlace } from "../../views/contract";
import { type PatchGrid, placeOf, type Region, regionOf, tokensIn } from "./geometry";

/** Patches on each side of the middle one: a place of 3 x 3 patches, fewer at an edge. */
const REACH = 1;
/** Areas down and across. */
const PARTS = 3;
const DOWN = ["top", "middle", "bottom"];
const ACROSS = ["left", "", "right"];

const sumOf = (values: ArrayLike<number>, tokens: readonly number[]): number =>
  tokens.reduce((sum, token) => sum + (values[token] ?? 0), 0);

function around(grid: PatchGrid, row: number, column: number): readonly number[] {
  const within = (at: number, size: number): readonly [number, number] => [
    Math.max(0, at - REACH),
    Math.min(size - 1, at + REACH),
  ];
  return tokensIn(grid, { rows: within(row, grid.rows), columns: within(column, grid.columns) });
}

/** The 3 x 3 patches with the largest sum by size; the first of equal ones. `values`: one a token. */
export function strongestPlace(grid: PatchGrid, values: ArrayLike<number>): DrawnPlace | null {
  let best: { readonly place: DrawnPlace; readonly size: number } | null = null;
  for (let row = 0; row < grid.rows; row++) {
    for (let column = 0; column < grid.columns; column++) {
      const tokens = around(grid, row, column);
      const size = Math.abs(sumOf(values, tokens));
      if (size > (best?.size ?? 0))
        best = { place: { name: `patches around r${row + 1} c${column + 1}`, tokens }, size };
    }
  }
  return best?.place ?? null;
}

/** The grid in up to nine areas, row by row, from the top left. */
export function areasOf(grid: PatchGrid): readonly DrawnPlace[] {
  const [down, across] = [cuts(grid.rows), cuts(grid.columns)];
  return down.flatMap(([rows, above]) =>
    across.map(([columns, aside]) => ({
      name: [DOWN[above], ACROSS[aside]].filter(Boolean).join(" "),
      tokens: tokensIn(grid, { rows, columns }),
    })),
  );
}

/** Ranges of `size` rows or columns, both ends inside, and which of the three parts each is. */
function cuts(
  size: number,
): readonly (readonly [range: readonly [number, number], part: number])[] {
  const edge = (part: number): number => Math.round((part * size) / PARTS);
  return Array.from({ length: PARTS }, (_, part) => part).flatMap((part) =>
    edge(part + 1) > edge(part) ? [[[edge(part), edge(part + 1) - 1], part] as const] : [],
  );
}

/** The region whose corners are the first and the last of some tokens; null without a patch. */
export function regionAround(grid: PatchGrid, tokens: readonly number[]): Region | null {
  const [first, last] = [tokens[0], tokens.at(-1)];
  const from = first === undefined ? null : placeOf(grid, first);
  const to = last === undefined ? null : placeOf(grid, last);
  return from && to && regionOf(from, to);
}
