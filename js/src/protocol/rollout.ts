/** Mixing quantities in a saved page, and rollout (Abnar & Zuidema 2020), as `attn_widget/figures` has it. */

import { squaresOf } from "./decode";
import { arrayOf } from "./required";
import type { Slice, TypedArray } from "./types";

/** A mixing matrix out of the code of a page (`mixing_code`), `[n, n]`. */
export function decodeCarried({ data, arrays }: Slice): Float32Array {
  const { largest, levels } = data as { largest: number; levels: number };
  return squaresOf(arrayOf({ arrays }, "codes").data, arrays.get("fine")?.data, largest, levels);
}

/** A head's weights times the lengths of what they carry (`value_lengths`), `[n, n]`, and the largest length. */
export function headNorms(
  weights: TypedArray,
  { arrays }: Slice,
  head: number,
  n: number,
): { norms: Float32Array; longest: number } {
  const lengths = arrayOf({ arrays }, "lengths").data.subarray(head * n, (head + 1) * n);
  const norms = Float32Array.from(weights, (weight, i) => weight * (lengths[i % n] as number));
  return { norms, longest: Math.max(0, ...lengths) };
}

/** Rows divided by their sums; a row of zeros stays. */
export function rowsNormalized(matrix: Float32Array, n: number): Float32Array {
  const result = new Float32Array(n * n);
  for (let i = 0; i < n; i++) {
    let total = 0;
    for (let j = 0; j < n; j++) total += matrix[i * n + j] as number;
    for (let j = 0; j < n; j++) result[i * n + j] = (matrix[i * n + j] as number) / (total || 1);
  }
  return result;
}

/** One step: attention, `residual` of it the residual stream, rows rescaled to 1, times what came before. */
export function rolloutStep(
  mean: Float32Array,
  before: Float64Array | null,
  n: number,
  residual = 0.5,
): Float64Array {
  const step = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    let total = 0;
    for (let j = 0; j < n; j++) {
      const value =
        (1 - residual) *
        (Number.isNaN(mean[i * n + j] as number) ? 0 : (mean[i * n + j] as number));
      step[i * n + j] = value + (i === j ? residual : 0);
      total += step[i * n + j] as number;
    }
    for (let j = 0; j < n; j++) step[i * n + j] = (step[i * n + j] as number) / (total || 1);
  }
  if (before === null) return step;
  const result = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < n; k++) {
      const share = step[i * n + k] as number;
      if (share === 0) continue;
      for (let j = 0; j < n; j++) {
        result[i * n + j] = (result[i * n + j] as number) + share * (before[k * n + j] as number);
      }
    }
  }
  return result;
}
