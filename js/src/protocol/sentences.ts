/** Attention between sentences as `attn_widget/figures/sentences.py` has it. */

import { itemAt } from "./required";
import type { NdArray, Slice } from "./types";

export type Aggregation = "mass" | "max";

/** Rows `[start, stop)` of the weights that an aggregation goes by; with `max`, which head has each. */
export interface Gathered {
  readonly start: number;
  readonly n: number;
  readonly weights: Float32Array;
  readonly layers: Int32Array;
  readonly heads: Int32Array;
}

/** Rows of one matrix that an aggregation goes over. */
export interface Part {
  readonly layer: number;
  /** Null for the mean of all heads. */
  readonly head: number | null;
  readonly weights: Float32Array;
}

export async function gather(
  kind: Aggregation,
  parts: AsyncIterable<Part>,
  n: number,
  [start, stop]: readonly [number, number],
): Promise<Gathered> {
  const cells = (stop - start) * n;
  const best = new Float64Array(cells).fill(kind === "max" ? -Infinity : 0);
  const layers = new Int32Array(cells);
  const heads = new Int32Array(cells);
  let summed = 0;
  for await (const { layer, head, weights } of parts) {
    summed++;
    for (let i = 0; i < cells; i++) {
      const weight = weights[i] as number;
      if (kind === "mass") best[i] = (best[i] as number) + weight;
      else if (weight > (best[i] as number)) {
        best[i] = weight;
        layers[i] = layer;
        heads[i] = head ?? 0;
      }
    }
  }
  const share = kind === "mass" ? Math.max(summed, 1) : 1;
  return { start, n, weights: Float32Array.from(best, (one) => one / share), layers, heads };
}

/** Token by token, the block of two sentences. */
export function drill(
  { weights, start, n }: Gathered,
  queries: readonly number[],
  keys: readonly number[],
): Slice {
  const block = Float32Array.from(
    queries.flatMap((query) => keys.map((key) => weights[(query - start) * n + key] as number)),
  );
  return {
    data: { coded: true },
    arrays: new Map<string, NdArray>([
      ["weights", { data: block, shape: [queries.length, keys.length] }],
      ["queries", { data: Int32Array.from(queries), shape: [queries.length] }],
      ["keys", { data: Int32Array.from(keys), shape: [keys.length] }],
    ]),
  };
}

/** All pairs of sentences; `about` is what the kernel says of them. */
export function matrix(
  kind: Aggregation,
  { weights, layers, heads, n }: Gathered,
  sentences: readonly (readonly number[])[],
  about: Slice["data"],
): Slice {
  const size = sentences.length;
  const values = new Float32Array(size * size);
  const elsewhere = new Float32Array(size);
  const named = (["layer", "head", "query", "key"] as const).map((name) => ({
    name,
    data: new Int32Array(size * size),
  }));
  const inside = new Set(sentences.flat());
  const outside = Array.from({ length: n }, (_, i) => i).filter((token) => !inside.has(token));
  const sum = (query: number, keys: readonly number[]): number =>
    keys.reduce((total, key) => total + (weights[query * n + key] as number), 0);
  sentences.forEach((queries, a) => {
    const meanOver = (keys: readonly number[]): number =>
      queries.reduce((total, query) => total + sum(query, keys), 0) / queries.length;
    elsewhere[a] = meanOver(outside);
    sentences.forEach((keys, b) => {
      const at = a * size + b;
      if (kind === "mass") {
        values[at] = meanOver(keys);
        return;
      }
      let [query, key] = [itemAt(queries, 0), itemAt(keys, 0)];
      for (const i of queries) {
        for (const j of keys) {
          if ((weights[i * n + j] as number) > (weights[query * n + key] as number))
            [query, key] = [i, j];
        }
      }
      const cell = query * n + key;
      values[at] = weights[cell] as number;
      const witness = { layer: itemAt(layers, cell), head: itemAt(heads, cell), query, key };
      for (const { name, data } of named) data[at] = witness[name];
    });
  });
  return answerOf(kind, { size, values, elsewhere, witness: named }, about);
}

/** Figures of all pairs under one aggregation. */
export interface Sums {
  readonly size: number;
  readonly values: Float32Array;
  readonly elsewhere: Float32Array;
  readonly witness: readonly {
    readonly name: "layer" | "head" | "query" | "key";
    readonly data: Int32Array;
  }[];
}

export function answerOf(
  kind: Aggregation,
  { size, values, elsewhere, witness }: Sums,
  about: Slice["data"],
): Slice {
  const square = [size, size];
  return {
    data: { ...about, coded: true },
    arrays: new Map<string, NdArray>([
      ["matrix", { data: values, shape: square }],
      ...(kind === "mass"
        ? [["elsewhere", { data: elsewhere, shape: [size] }] as [string, NdArray]]
        : witness.map(({ name, data }): [string, NdArray] => [
            `witness_${name}`,
            { data, shape: square },
          ])),
    ]),
  };
}
