/** Pure functions of a C-order matrix: marginals, maxima, strongest links, pooling. */

import { type Kind, largestFirst, TIE } from "../../protocol/ties";

/** Largest value, 0 for an empty matrix. */
export function maximum(matrix: ArrayLike<number>): number {
  let max = 0;
  for (let i = 0; i < matrix.length; i++)
    if ((matrix[i] as number) > max) max = matrix[i] as number;
  return max;
}

/** The place of a value among others, 1 = largest; equal values share the better place. */
export function rankOf(values: ArrayLike<number>, index: number): number {
  let above = 0;
  for (let i = 0; i < values.length; i++)
    if ((values[i] as number) > (values[index] as number)) above++;
  return above + 1;
}

/** 1 minus the sum of each row, `[rows]`: the share of a learned sink. */
export function restOf(matrix: Float32Array, rows: number, columns: number): Float32Array {
  return Float32Array.from({ length: rows }, (_, i) => {
    let sum = 0;
    for (let j = 0; j < columns; j++) sum += matrix[i * columns + j] as number;
    return Math.max(0, 1 - sum);
  });
}

/** Attention that each key receives: mean of its column over the queries that may look at it, `[columns]`. */
export function received(
  matrix: Float32Array,
  rows: number,
  columns: number,
  allowed: ArrayLike<number> | null = null,
): Float32Array {
  const sums = new Float64Array(columns);
  const queries = new Float64Array(columns).fill(allowed ? 0 : rows);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      sums[j] = (sums[j] as number) + (matrix[i * columns + j] as number);
      if (allowed?.[i * columns + j]) queries[j] = (queries[j] as number) + 1;
    }
  }
  return Float32Array.from(sums, (sum, j) => sum / ((queries[j] as number) || 1));
}

/** One row, without a copy. */
export function rowOf(matrix: Float32Array, row: number, columns: number): Float32Array {
  return matrix.subarray(row * columns, (row + 1) * columns);
}

/** Indices of the `k` largest values, largest first; values equal up to rounding in order of position. */
export function largest(values: ArrayLike<number>, k: number, kind: Kind = "sums"): number[] {
  return largestFirst(values, kind).slice(0, k);
}

/** Indices of the largest weights of a row, NaN left out, largest first; those equal up to rounding in order of position. */
export function strongestOf(row: ArrayLike<number>, count: number): number[] {
  const kept: number[] = [];
  let floor = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < row.length; i++) {
    const value = row[i] as number;
    if (!(value > floor)) continue;
    let at = kept.length;
    while (at > 0 && (row[kept[at - 1] as number] as number) < value) at--;
    kept.splice(at, 0, i);
    if (kept.length > count) kept.pop();
    if (kept.length === count) floor = row[kept[count - 1] as number] as number;
  }
  // Weights as large as the last one compete with it.
  const last = row[kept.at(-1) ?? -1] ?? Number.NaN;
  const least = last - TIE * Math.abs(last);
  const close: number[] = [];
  for (let i = 0; i < row.length; i++) if ((row[i] as number) >= least) close.push(i);
  const values = close.map((i) => row[i] as number);
  return largest(values, count, "weights").map((place) => close[place] as number);
}

/** The `k`-th largest value of a matrix, by a histogram fine enough for a slider (1/1024 of the maximum). */
export function valueOfRank(matrix: Float32Array, k: number, max: number): number {
  if (!(max > 0)) return 0;
  const BINS = 1024;
  const counts = new Uint32Array(BINS);
  for (let i = 0; i < matrix.length; i++) {
    const bin = Math.min(Math.floor(((matrix[i] as number) / max) * BINS), BINS - 1);
    counts[bin] = (counts[bin] as number) + 1;
  }
  let seen = 0;
  for (let bin = BINS - 1; bin >= 0; bin--) {
    seen += counts[bin] as number;
    if (seen >= k) return (bin / BINS) * max;
  }
  return 0;
}

/**
 * Level of detail: `[rows, columns]` pooled to at most `[outRows, outColumns]` by the value farthest from
 * zero, so that a single sharp link stays visible when a cell is smaller than a pixel.
 */
export function maxPool<T extends Float32Array | Uint8Array>(
  matrix: T,
  [rows, columns]: readonly [number, number],
  [outRows, outColumns]: readonly [number, number],
): { data: T; shape: [number, number] } {
  const height = Math.min(rows, Math.max(outRows, 1));
  const width = Math.min(columns, Math.max(outColumns, 1));
  if (height === rows && width === columns) return { data: matrix, shape: [rows, columns] };
  const data = new (matrix.constructor as new (length: number) => T)(height * width);
  const column = Uint32Array.from({ length: columns }, (_, j) => Math.floor((j * width) / columns));
  for (let i = 0; i < rows; i++) {
    const base = Math.floor((i * height) / rows) * width;
    const from = i * columns;
    for (let j = 0; j < columns; j++) {
      const cell = base + (column[j] as number);
      const value = matrix[from + j] as number;
      const largest = data[cell] as number;
      // Math.abs, written out: this runs over every cell at every head.
      if ((value < 0 ? -value : value) > (largest < 0 ? -largest : largest)) data[cell] = value;
    }
  }
  return { data, shape: [height, width] };
}

/** `softmax` of one row of scores, in float64; `-Infinity` gets 0. */
export function softmax(scores: ArrayLike<number>): {
  weights: Float64Array;
  max: number;
  sum: number;
} {
  let max = -Infinity;
  for (let j = 0; j < scores.length; j++) max = Math.max(max, scores[j] as number);
  const weights = Float64Array.from(scores, (score) =>
    score === -Infinity ? 0 : Math.exp(score - max),
  );
  const sum = weights.reduce((total, value) => total + value, 0);
  return { weights: weights.map((value) => value / sum), max, sum };
}

/** `q . k`, in float64. */
export function dot(q: ArrayLike<number>, k: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < q.length; i++) sum += (q[i] as number) * (k[i] as number);
  return sum;
}
