/** Rows of dimensions: the window on them, their length, their largest values. */

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

/** Largest absolute value; NaN and infinities (cells that a mask forbids) do not count. */
export function largestAbsolute(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) {
    const size = Math.abs(values[i] as number);
    if (Number.isFinite(size) && size > most) most = size;
  }
  return most;
}

/** Indices of the `k` largest values, largest first; ties by index. */
export function topOf(values: Float32Array, k: number): number[] {
  return [...values.keys()]
    .sort((a, b) => (values[b] as number) - (values[a] as number) || a - b)
    .slice(0, k);
}

/** How many values are above zero. */
export function countActive(values: Float32Array): number {
  return values.reduce((sum, value) => sum + (value > 0 ? 1 : 0), 0);
}

/** Where `values` is largest, -1 where there is none; NaN does not count. */
export function argmax(values: ArrayLike<number>): number {
  let best = -1;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (!Number.isNaN(value) && (best < 0 || value > (values[best] as number))) best = i;
  }
  return best;
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
