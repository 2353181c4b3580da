/** Pure functions of a C-order matrix: marginals, maxima, strongest links, pooling. */

/** Largest value, 0 for an empty matrix. */
export function maximum(matrix: ArrayLike<number>): number {
  let max = 0;
  for (let i = 0; i < matrix.length; i++)
    if ((matrix[i] as number) > max) max = matrix[i] as number;
  return max;
}

/** Largest distance from zero among the finite values, 0 when there is none. */
export function magnitude(matrix: Float32Array): number {
  let most = 0;
  for (let i = 0; i < matrix.length; i++) {
    const size = Math.abs(matrix[i] as number);
    if (size > most && size !== Infinity) most = size;
  }
  return most;
}

/** The place of a value among others, 1 = largest; equal values share the better place. */
export function rankOf(values: ArrayLike<number>, index: number): number {
  let above = 0;
  for (let i = 0; i < values.length; i++)
    if ((values[i] as number) > (values[index] as number)) above++;
  return above + 1;
}

/** How much each key receives: the mean over queries of its column, `[columns]`. */
export function received(matrix: Float32Array, rows: number, columns: number): Float32Array {
  const sums = new Float64Array(columns);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      sums[j] = (sums[j] as number) + (matrix[i * columns + j] as number);
    }
  }
  return Float32Array.from(sums, (sum) => sum / Math.max(rows, 1));
}

/** One row, without a copy. */
export function rowOf(matrix: Float32Array, row: number, columns: number): Float32Array {
  return matrix.subarray(row * columns, (row + 1) * columns);
}

/** Indices of the `k` largest values, largest first; equal values in order of position. */
export function largest(values: ArrayLike<number>, k: number): number[] {
  return Array.from({ length: values.length }, (_, i) => i)
    .sort((a, b) => (values[b] as number) - (values[a] as number) || a - b)
    .slice(0, k);
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
      const held = data[cell] as number;
      // Math.abs, written out: this runs over every cell at every head.
      if ((value < 0 ? -value : value) > (held < 0 ? -held : held)) data[cell] = value;
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
