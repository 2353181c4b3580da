/** Places in a picture by the sums of their patches, with names for a sentence. */

import type { DrawnPlace } from "../../views/contract";
import { type PatchGrid, placeOf, type Region, regionOf, tokensIn } from "./geometry";

/** Patches on each side of the middle one: a place of 3 x 3 patches, fewer at an edge. */
const REACH = 1;
/** Areas down and across. */
const PARTS = 3;
const DOWN = ["top", "middle", "bottom"];
const ACROSS = ["left", "", "right"];

function around(grid: PatchGrid, row: number, column: number): readonly number[] {
  const within = (at: number, size: number): readonly [number, number] => [
    Math.max(0, at - REACH),
    Math.min(size - 1, at + REACH),
  ];
  return tokensIn(grid, { rows: within(row, grid.rows), columns: within(column, grid.columns) });
}

/** Weight of a patch in the choice of the middle: 4, of its neighbors 2, at the corners 1, so that a strong patch stands in the middle. */
const weightOf = (grid: PatchGrid, token: number, row: number, column: number): number => {
  const place = placeOf(grid, token);
  const apart = place === null ? 0 : Math.abs(place.row - row) + Math.abs(place.column - column);
  return 2 ** (2 - apart);
};

/** The 3 x 3 patches with the largest weighted sum by size; the first of equal ones. `values`: one a token. */
export function strongestPlace(grid: PatchGrid, values: ArrayLike<number>): DrawnPlace | null {
  let best: { readonly place: DrawnPlace; readonly size: number } | null = null;
  for (let row = 0; row < grid.rows; row++) {
    for (let column = 0; column < grid.columns; column++) {
      const tokens = around(grid, row, column);
      let sum = 0;
      for (const token of tokens) sum += weightOf(grid, token, row, column) * (values[token] ?? 0);
      const size = Math.abs(sum);
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
