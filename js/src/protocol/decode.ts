/** Attention out of the codes of a saved page (docs/protocol.md, "Saved pages"; attn_widget/page/encodings/codec.py). */

import { PackError } from "./pack";
import { AT_ONCE, productsOf } from "./saved/products";
import type { NdArray, TypedArray } from "./types";

/** One layer's chunk; heads in the order in which the page saved them. */
export interface LayerChunk {
  readonly n: number;
  readonly arrays: ReadonlyMap<string, NdArray>;
}

function need(chunk: LayerChunk, name: string): NdArray {
  const array = chunk.arrays.get(name);
  if (array === undefined) throw new PackError(`A layer of this page has no array "${name}".`);
  return array;
}

/** Heads that a chunk holds. */
export const headsOf = (chunk: LayerChunk): number =>
  (chunk.arrays.get("largest") ?? need(chunk, "rank")).data.length;

/** Rows `[start, stop)` of a matrix. */
export type Rows = readonly [number, number];

const every = ({ n }: LayerChunk): Rows => [0, n];

/** Reads rows of a matrix, `[rows, n]`; what all rows need has been read before. */
export type Reader = (rows: Rows) => Float32Array;

/** Weights of the `index`-th saved head. */
export function weightsReader(chunk: LayerChunk, index: number): Reader {
  if (chunk.arrays.has("codes")) return (rows) => squares(chunk, index, "", rows);
  const scores = scoresReader(chunk, index);
  return (rows) => softmaxRows(scores(rows), chunk.n);
}

/** Weights of the `index`-th saved head, `[rows, n]`. */
export const decodeWeights = (
  chunk: LayerChunk,
  index: number,
  rows: Rows = every(chunk),
): Float32Array => weightsReader(chunk, index)(rows);

/** `largest * (code / levels)^2`, the codes being those of the heads or, with a prefix, of their mean. */
function squares(
  chunk: LayerChunk,
  index: number,
  prefix: "" | "mean_",
  [start, stop]: Rows,
): Float32Array {
  const { n, arrays } = chunk;
  const largest = need(chunk, `${prefix}largest`).data[index] as number;
  const levels = need(chunk, `${prefix}levels`).data[0] as number;
  const [from, to] = [(index * n + start) * n, (index * n + stop) * n];
  const codes = need(chunk, `${prefix}codes`).data.subarray(from, to);
  const fine = arrays.get(`${prefix}fine`)?.data.subarray(from, to);
  return squaresOf(codes, fine, largest, levels);
}

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

/** Scaled scores of the `index`-th saved head with mask and bias, `[rows, n]`; -Infinity where impossible. */
export const decodeScores = (
  chunk: LayerChunk,
  index: number,
  rows: Rows = every(chunk),
): Float32Array => scoresReader(chunk, index)(rows);

/** The same, for rows that are read part by part. */
export function scoresReader(chunk: LayerChunk, index: number): Reader {
  const { n } = chunk;
  const ranks = need(chunk, "rank").data;
  let at = 0;
  for (let head = 0; head < index; head++) at += 2 * (ranks[head] as number) * n;
  const products = productsOf(chunk.arrays, ranks[index] as number, n, at);
  const unit = (need(chunk, "step").data[index] as number) ** 2;
  const shift = need(chunk, "shift").data;
  const bias = chunk.arrays.get("bias")?.data.subarray(index * n * n, (index + 1) * n * n);
  const allowed = chunk.arrays.get("allowed")?.data;
  return ([start, stop]) => {
    const scores = new Float32Array((stop - start) * n);
    for (let first = start; first < stop; ) {
      const count = stop - first < AT_ONCE ? 1 : AT_ONCE;
      for (const [i, row] of products.add(first, count, 0, n).entries()) {
        const added = shift[index * n + first + i] as number;
        for (let j = 0, cell = (first + i) * n; j < n; j++, cell++) {
          const possible = allowed === undefined || allowed[cell] !== 0;
          scores[cell - start * n] = possible
            ? (row[j] as number) * unit + added + (bias === undefined ? 0 : (bias[cell] as number))
            : -Infinity;
        }
      }
      first += count;
    }
    return scores;
  };
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

/** The mean matrix of the model's heads: kept apart where some of them were left out. */
export function meanReader(chunk: LayerChunk): Reader {
  if (chunk.arrays.has("mean_codes")) return (rows) => squares(chunk, 0, "mean_", rows);
  const heads = headsOf(chunk);
  const readers = Array.from({ length: heads }, (_, head) => weightsReader(chunk, head));
  return (rows) => {
    const sum = new Float64Array((rows[1] - rows[0]) * chunk.n);
    for (const read of readers) {
      const weights = read(rows);
      for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + (weights[i] as number);
    }
    const mean = new Float32Array(sum.length);
    for (let i = 0; i < mean.length; i++) mean[i] = (sum[i] as number) / heads;
    return mean;
  };
}

/** The mean matrix of the model's heads, `[rows, n]`. */
export const decodeMean = (chunk: LayerChunk, rows: Rows = every(chunk)): Float32Array =>
  meanReader(chunk)(rows);
