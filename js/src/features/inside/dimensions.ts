/** Rows of dimensions: the window on them, their length, their largest values. */

import { firstLargest, largestFirst } from "../../protocol/ties";

/** The window of `size` dimensions that holds `wanted` at its start, as far as `total` allows. */
export function windowAt(wanted: number, size: number, total: number): readonly [number, number] {
  const width = Math.min(size, total);
  const start = Math.min(Math.max(Math.floor(wanted), 0), total - width);
  return [start, start + width];
}

/** The window moved by as little as brings `dimension` inside. */
export function windowAround(
  dimension: number,
  [start, stop]: readonly [number, number],
  total: number,
): readonly [number, number] {
  const size = stop - start;
  if (dimension < start) return windowAt(dimension, size, total);
  if (dimension >= stop) return windowAt(dimension - size + 1, size, total);
  return [start, stop];
}

/** Euclidean length. */
export function length(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    sum += value * value;
  }
  return Math.sqrt(sum);
}

/** Indices of the `k` largest values, largest first; values equal up to rounding by index. */
export const topOf = (values: ArrayLike<number>, k: number): number[] =>
  largestFirst(values).slice(0, k);

/** Number of values above zero. */
export function countActive(values: Float32Array): number {
  return values.reduce((sum, value) => sum + (value > 0 ? 1 : 0), 0);
}

/** Index of the largest of `values`, -1 if there is none; NaN does not count. */
export const argmax = firstLargest;

/** A value this many times the next smaller one is beyond the scale of the others, */
const FAR = 3;
/** if no more than this share of all are so large. */
const FEW = 0.1;

/** The end of a scale on which bars are readable: the largest value, but for a few that are far above all others. */
export function scaleEnd(values: ArrayLike<number>): number {
  const sorted = largestFirst(values)
    .map((i) => values[i] as number)
    .filter(Number.isFinite);
  let end = 0;
  for (let k = 1; k <= Math.floor(FEW * sorted.length) && k < sorted.length; k++) {
    const [before, value] = [sorted[k - 1] as number, sorted[k] as number];
    if (value > 0 && before > FAR * value) end = k;
  }
  return Math.max(sorted[end] ?? 0, 0);
}

/** Largest absolute value of each of `bins` equal pieces, for an overview. */
export function envelope(rows: readonly ArrayLike<number>[], bins: number): Float64Array {
  const most = new Float64Array(bins);
  for (const row of rows) {
    for (let i = 0; i < row.length; i++) {
      const size = Math.abs(row[i] as number);
      const bin = Math.floor((i * bins) / row.length);
      if (Number.isFinite(size) && size > (most[bin] as number)) most[bin] = size;
    }
  }
  return most;
}
