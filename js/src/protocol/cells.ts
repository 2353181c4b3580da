/** Matrices that are read a window at a time, and never need to be whole. */

import type { Pause } from "./pauses";
import { arrayOf } from "./required";
import type { Arrays, TypedArray, Window } from "./slice";

/** Reads windows of a matrix, `[rows, columns]`; NaN where the mask forbids. */
export interface Cells {
  /** Columns: keys. */
  readonly n: number;
  /** Null where every cell is possible. */
  readonly mask: Mask | null;
  read(rows: Window, columns: Window): Float32Array | Promise<Float32Array>;
}

/** Which keys a query may look at: a run of them, and some that all queries may; or bit by bit. */
export interface Mask {
  /** Calls `visit` with runs of keys in `[from, to)` that `query` may look at, none of them twice. */
  runs(query: number, from: number, to: number, visit: (from: number, to: number) => void): void;
}

/** Sums of what was saved as differences. */
function summed(differences: TypedArray): Int32Array {
  let sum = 0;
  return Int32Array.from(differences, (difference) => {
    sum += difference;
    return sum;
  });
}

/** The mask among the arrays of a page: a row of keys each, bits, or a byte for every cell. */
export function maskOf(arrays: Arrays, n: number): Mask | null {
  const bits = arrays.get("mask_bits")?.data;
  const width = Math.ceil(n / 8);
  if (bits !== undefined) {
    return maskBy(
      (query, key) => (((bits[query * width + (key >> 3)] as number) >> (key & 7)) & 1) === 1,
    );
  }
  const bytes = arrays.get("allowed")?.data;
  if (bytes !== undefined) return maskBy((query, key) => bytes[query * n + key] !== 0);
  if (!arrays.has("mask_start")) return null;
  const [start, stop] = ["mask_start", "mask_stop"].map((name) =>
    summed(arrayOf({ arrays }, name).data),
  ) as [Int32Array, Int32Array];
  const all = arrays.get("mask_common")?.data;
  const common = Int32Array.from(
    Array.from(all ?? [])
      .map((allowed, key) => (allowed ? key : -1))
      .filter((key) => key >= 0),
  );
  return {
    runs(query, from, to, visit) {
      const [first, last] = [start[query] as number, stop[query] as number];
      if (Math.max(first, from) < Math.min(last, to)) {
        visit(Math.max(first, from), Math.min(last, to));
      }
      for (const key of common) {
        if (key >= from && key < to && (key < first || key >= last)) visit(key, key + 1);
      }
    },
  };
}

const maskBy = (allowed: (query: number, key: number) => boolean): Mask => ({
  runs(query, from, to, visit) {
    for (let key = from; key < to; key++) {
      if (!allowed(query, key)) continue;
      const first = key;
      while (key < to && allowed(query, key)) key++;
      visit(first, key);
    }
  },
});

/** Values of the cells that the mask allows, row by row, in their places in `into`, of `n` columns; of a square by column where they are stored so. */
export function spread<T extends TypedArray>(
  values: TypedArray,
  allowed: TypedArray | undefined,
  n: number,
  into: T,
  byColumn = false,
): T {
  const rows = into.length / n;
  for (let outer = 0, next = 0; outer < rows; outer++) {
    for (let inner = 0; inner < n; inner++) {
      const cell = byColumn ? inner * n + outer : outer * n + inner;
      if (allowed === undefined || allowed[cell] !== 0) into[cell] = values[next++] as number;
    }
  }
  return into;
}

/** Calls `fill` for each run of possible keys of each row; the rest is NaN. */
export function filled(
  mask: Mask | null,
  rows: Window,
  columns: Window,
  fill: (query: number, from: number, to: number, into: Float32Array) => void,
): Float32Array {
  const [left, right] = columns;
  const width = right - left;
  const cells = new Float32Array((rows[1] - rows[0]) * width);
  if (mask !== null) cells.fill(Number.NaN);
  for (let query = rows[0]; query < rows[1]; query++) {
    const row = cells.subarray((query - rows[0]) * width, (query - rows[0] + 1) * width);
    const visit = (from: number, to: number): void =>
      fill(query, from, to, row.subarray(from - left, to - left));
    if (mask === null) visit(left, right);
    else mask.runs(query, left, right, visit);
  }
  return cells;
}

/** Cells that are read between two looks at the clock: two milliseconds; of 8,192 tokens four rows. */
const CELLS_AT_ONCE = 32_768;

/** Reads a window some rows at a time. */
export async function walk(
  cells: Cells,
  rows: Window,
  columns: Window,
  pause: Pause,
  visit: (part: Float32Array, first: number, count: number) => void,
): Promise<void> {
  const width = columns[1] - columns[0];
  const step = Math.max(1, Math.floor(CELLS_AT_ONCE / width));
  for (let first = rows[0]; first < rows[1]; first += step) {
    const last = Math.min(rows[1], first + step);
    const read = cells.read([first, last], columns);
    visit(read instanceof Float32Array ? read : await read, first, last - first);
    await pause();
  }
}

/** The mean of some matrices of one mask. */
export function meanCells(heads: readonly Cells[]): Cells {
  const [{ n, mask } = { n: 0, mask: null }] = heads;
  return {
    n,
    mask,
    async read(rows, columns) {
      const sum = new Float64Array((rows[1] - rows[0]) * (columns[1] - columns[0]));
      for (const head of heads) {
        const found = head.read(rows, columns);
        const cells = found instanceof Float32Array ? found : await found;
        for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + (cells[i] as number);
      }
      for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) / heads.length;
      return Float32Array.from(sum);
    },
  };
}

/** A matrix that is there, without a mask. */
export const wholeCells = (matrix: Float32Array | Float64Array, n: number): Cells => ({
  n,
  mask: null,
  read: (rows, columns) =>
    filled(null, rows, columns, (query, from, to, into) =>
      into.set(matrix.subarray(query * n + from, query * n + to)),
    ),
});
