/** Matrices out of the codes of a saved page (docs/protocol.md, "Saved pages"; attn_widget/page/encodings). */

import { type Cells, filled, type Mask, maskOf } from "../cells";
import { arrayOf } from "../required";
import type { Arrays, TypedArray } from "../slice";
import { AT_ONCE, productsOf } from "./products";

/** `largest * (code / levels)^2`, where code = 256 codes + fine above 255 levels. */
export function squaresOf(
  codes: TypedArray,
  fine: TypedArray | undefined,
  largest: number,
  levels: number,
): Float32Array {
  const weights = new Float32Array(codes.length);
  for (let i = 0; i < weights.length; i++) {
    const code =
      fine === undefined ? (codes[i] as number) : (codes[i] as number) * 256 + (fine[i] as number);
    const share = code / levels;
    weights[i] = largest * share * share;
  }
  return weights;
}

/** Softmax by row; a row without a possible cell is zero. */
export function softmaxRows(scores: Float32Array, n: number): Float32Array {
  const weights = new Float32Array(scores.length);
  for (let start = 0; start < scores.length; start += n) {
    let most = -Infinity;
    for (let j = start; j < start + n; j++) {
      const score = scores[j] as number;
      if (score > most) most = score;
    }
    if (most === -Infinity) continue;
    let total = 0;
    for (let j = start; j < start + n; j++) {
      const exponential = Math.exp((scores[j] as number) - most);
      weights[j] = exponential;
      total += exponential;
    }
    for (let j = start; j < start + n; j++) weights[j] = (weights[j] as number) / total;
  }
  return weights;
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
const CHUNK_ROWS = 256;

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
