/** Cells of the matrices of a long text out of a saved page, a window at a time (attn_widget/page/encodings/long.py). */

import { squaresOf } from "../decode";
import { arrayOf } from "../required";
import { AT_ONCE, productsOf } from "../saved/products";
import type { NdArray, TypedArray, Window } from "../types";

type Arrays = ReadonlyMap<string, NdArray>;

/** Reads windows of a matrix, `[rows, columns]`; NaN where the mask forbids. */
export interface Cells {
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

export function maskOf(arrays: Arrays, n: number): Mask | null {
  const bits = arrays.get("mask_bits")?.data;
  if (bits !== undefined) return maskOfBits(bits, n);
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

function maskOfBits(bits: TypedArray, n: number): Mask {
  const width = Math.ceil(n / 8);
  const allowed = (query: number, key: number): boolean =>
    (((bits[query * width + (key >> 3)] as number) >> (key & 7)) & 1) === 1;
  return {
    runs(query, from, to, visit) {
      for (let key = from; key < to; key++) {
        if (!allowed(query, key)) continue;
        const first = key;
        while (key < to && allowed(query, key)) key++;
        visit(first, key);
      }
    },
  };
}

/** Calls `fill` for each run of possible keys of each row; the rest is NaN. */
function filled(
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

/** Queries and keys of a head; any cell of its scores and weights follows from two of them. */
export interface Factors {
  readonly n: number;
  readonly mask: Mask | null;
  readonly bytes: number;
  /** Scores of one query, or of `AT_ONCE`, and the keys `[from, from + width)`, row by row. */
  scores(query: number, from: number, width: number, into: Float32Array): void;
  /** Natural logarithm of the sum of a row's exponentials. */
  readonly logTotal: TypedArray;
}

export function factorsOf(arrays: Arrays, n: number): Factors {
  const get = (name: string): TypedArray => arrayOf({ arrays }, name).data;
  const rank = get("rank")[0] as number;
  const products = productsOf(arrays, rank, n, 0);
  const unit = (get("step")[0] as number) ** 2;
  const shift = Float32Array.from(get("shift"));
  const logTotal = Float64Array.from(get("log_total"));
  return {
    n,
    mask: maskOf(arrays, n),
    bytes: products.bytes + 20 * n,
    logTotal,
    scores(query, from, width, into) {
      const count = into.length > width ? AT_ONCE : 1;
      products.add(query, count, from, width).forEach((sums, i) => {
        const added = shift[query + i] as number;
        const row = into.subarray(i * width, (i + 1) * width);
        for (let j = 0; j < width; j++) row[j] = (sums[j] as number) * unit + added;
      });
    },
  };
}

/** Cells that follow from scores; `finish` makes them of a run of a query's scores, in place. */
const cellsOf = (
  { n, mask, scores }: Factors,
  finish: (query: number, run: Float32Array) => void,
): Cells => ({
  n,
  mask,
  read(rows, columns) {
    if (mask !== null) {
      return filled(mask, rows, columns, (query, from, _to, into) => {
        scores(query, from, into.length, into);
        finish(query, into);
      });
    }
    const [left, width] = [columns[0], columns[1] - columns[0]];
    const cells = new Float32Array((rows[1] - rows[0]) * width);
    for (let query = rows[0]; query < rows[1]; ) {
      const count = rows[1] - query < AT_ONCE ? 1 : AT_ONCE;
      const at = (query - rows[0]) * width;
      scores(query, left, width, cells.subarray(at, at + count * width));
      for (let i = 0; i < count; i++) {
        finish(query + i, cells.subarray(at + i * width, at + (i + 1) * width));
      }
      query += count;
    }
    return cells;
  },
});

/** Scaled scores with the mask. */
export const scoreCells = (factors: Factors): Cells => cellsOf(factors, () => undefined);

/** Softmax of the scores: each row has its normalizer. */
export const weightCells = (factors: Factors): Cells =>
  cellsOf(factors, (query, run) => {
    const total = factors.logTotal[query] as number;
    for (let j = 0; j < run.length; j++) run[j] = Math.exp((run[j] as number) - total);
  });

/** Rows of a chunk of coded weights (`ROWS`). */
export const CHUNK_ROWS = 256;

/** Weights in one or two bytes a cell; `chunk` has the rows from `CHUNK_ROWS * number` on. */
export function codedCells(
  n: number,
  mask: Mask | null,
  { largest, levels }: { readonly largest: number; readonly levels: number },
  chunk: (number: number) => Promise<Arrays>,
): Cells {
  return {
    n,
    mask,
    async read(rows, columns) {
      const width = columns[1] - columns[0];
      const cells = new Float32Array((rows[1] - rows[0]) * width);
      for (let top = rows[0]; top < rows[1]; ) {
        const number = Math.floor(top / CHUNK_ROWS);
        const arrays = await chunk(number);
        const bottom = Math.min(rows[1], (number + 1) * CHUNK_ROWS);
        const [codes, fine] = [arrayOf({ arrays }, "codes").data, arrays.get("fine")?.data];
        const part = filled(mask, [top, bottom], columns, (query, from, to, into) => {
          const at = (query - number * CHUNK_ROWS) * n;
          const cut = (plane: TypedArray) => plane.subarray(at + from, at + to);
          into.set(squaresOf(cut(codes), fine === undefined ? fine : cut(fine), largest, levels));
        });
        cells.set(part, (top - rows[0]) * width);
        top = bottom;
      }
      return cells;
    },
  };
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
export const wholeCells = (matrix: Float64Array, n: number): Cells => ({
  n,
  mask: null,
  read: (rows, columns) =>
    filled(null, rows, columns, (query, from, to, into) =>
      into.set(matrix.subarray(query * n + from, query * n + to)),
    ),
});
