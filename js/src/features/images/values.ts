/** Numbers of the picture: what is in focus, and what the selected head gives each token from there. */

import { maximum } from "../../figures/derive/matrix";
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

/** Values of the patches alone. */
export const patchesOf = (values: ArrayLike<number>, grid: PatchGrid): Float32Array =>
  Float32Array.from({ length: countOf(grid) }, (_, i) => values[grid.first + i] as number);

export const topOfPatches = (values: ArrayLike<number>, grid: PatchGrid): number =>
  maximum(patchesOf(values, grid));

/** Sum over the patches. */
export const shareOfPatches = (values: ArrayLike<number>, grid: PatchGrid): number =>
  patchesOf(values, grid).reduce((sum, value) => sum + (value || 0), 0);
