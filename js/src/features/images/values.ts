/** Numbers of the picture: what is in focus, and what the selected head gives each token from there. */

import type { Matrix } from "../../figures/matrix";
import { countOf, type PatchGrid } from "./geometry";

/** One number a token, NaN where it is not shown; null where the matrix has not every row. */
export function valuesFrom(
  matrix: Matrix,
  tokens: readonly number[],
  n: number,
): Float32Array | null {
  const { weights, keys } = matrix;
  const rows = tokens.map((token) => matrix.queryOf(token));
  if (rows.some((row) => row < 0) || rows.length === 0) return null;
  const values = new Float32Array(n).fill(Number.NaN);
  keys.forEach(({ token }, key) => {
    let sum = 0;
    for (const row of rows) sum += weights[row * keys.length + key] as number;
    values[token] = sum / rows.length;
  });
  return values;
}

// Loops without a copy: each runs over the patches of every head when a pointer rests on one.
/** The largest value of a patch, 0 where there is none. */
export function topOfPatches(values: ArrayLike<number>, grid: PatchGrid): number {
  let top = 0;
  for (let i = grid.first; i < grid.first + countOf(grid); i++)
    if ((values[i] as number) > top) top = values[i] as number;
  return top;
}

/** Sum over the patches. */
export function shareOfPatches(values: ArrayLike<number>, grid: PatchGrid): number {
  let sum = 0;
  for (let i = grid.first; i < grid.first + countOf(grid); i++) sum += (values[i] as number) || 0;
  return sum;
}
