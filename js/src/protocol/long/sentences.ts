/** Attention between sentences of a long text: as `protocol/sentences.ts`, out of one walk over each matrix. */

import { itemAt } from "../required";
import type { Pause } from "../saved/pauses";
import { type Aggregation, answerOf, type Sums } from "../sentences";
import type { NdArray, Slice } from "../types";
import type { Cells } from "./cells";

export interface LongPart {
  readonly layer: number;
  readonly head: number;
  open(): Promise<Cells>;
}

type Sentences = readonly (readonly number[])[];

/** All pairs of sentences, one matrix after the other. */
export async function longMatrix(
  kind: Aggregation,
  parts: readonly LongPart[],
  sentences: Sentences,
  n: number,
  about: Slice["data"],
  pause: Pause,
): Promise<Slice> {
  const size = sentences.length;
  const values = new Float64Array(size * size).fill(kind === "max" ? Number.NEGATIVE_INFINITY : 0);
  const elsewhere = new Float64Array(size);
  const witness = ["layer", "head", "query", "key"].map((name) => ({
    name,
    data: new Int32Array(size * size),
  })) as unknown as Sums["witness"];
  const of = new Int32Array(n).fill(-1);
  sentences.forEach((tokens, a) => {
    for (const token of tokens) of[token] = a;
  });
  for (const { layer, head, open } of parts) {
    const cells = await open();
    for (let query = 0; query < n; query++) {
      const a = of[query] as number;
      if (a < 0) continue;
      const read = cells.read([query, query + 1], [0, n]);
      const row = read instanceof Float32Array ? read : await read;
      const share = 1 / (itemAt(sentences, a).length * parts.length);
      for (let key = 0; key < n; key++) {
        const weight = row[key] as number;
        if (Number.isNaN(weight)) continue;
        const b = of[key] as number;
        const at = a * size + b;
        if (kind === "mass") {
          if (b < 0) elsewhere[a] = (elsewhere[a] as number) + weight * share;
          else values[at] = (values[at] as number) + weight * share;
        } else if (b >= 0 && weight > (values[at] as number)) {
          values[at] = weight;
          [layer, head, query, key].forEach((one, i) => {
            itemAt(witness, i).data[at] = one;
          });
        }
      }
      await pause();
    }
  }
  // Where the mask forbids every link.
  const finite = Float32Array.from(values, (value) => (Number.isFinite(value) ? value : 0));
  const made = answerOf(
    kind,
    { size, values: finite, elsewhere: Float32Array.from(elsewhere), witness },
    about,
  );
  const possible = Int32Array.from(values, (value) => (Number.isFinite(value) ? 1 : 0));
  const arrays = new Map(made.arrays);
  if (kind === "max") arrays.set("possible", { data: possible, shape: [size, size] });
  return { data: made.data, arrays };
}

/** Token by token, the block of two sentences. */
export async function longDrill(
  kind: Aggregation,
  parts: readonly LongPart[],
  queries: readonly number[],
  keys: readonly number[],
  pause: Pause,
): Promise<Slice> {
  const block = new Float64Array(queries.length * keys.length);
  const [first, last] = [Math.min(...keys), Math.max(...keys) + 1];
  for (const { open } of parts) {
    const cells = await open();
    for (const [i, query] of queries.entries()) {
      const read = cells.read([query, query + 1], [first, last]);
      const row = read instanceof Float32Array ? read : await read;
      for (const [j, key] of keys.entries()) {
        const at = i * keys.length + j;
        const weight = row[key - first] as number;
        const known = block[at] as number;
        if (Number.isNaN(weight)) continue;
        block[at] = kind === "max" ? Math.max(known, weight) : known + weight / parts.length;
      }
      await pause();
    }
  }
  const array = (data: NdArray["data"], ...shape: number[]): NdArray => ({ data, shape });
  return {
    data: { coded: true },
    arrays: new Map([
      ["weights", array(Float32Array.from(block), queries.length, keys.length)],
      ["queries", array(Int32Array.from(queries), queries.length)],
      ["keys", array(Int32Array.from(keys), keys.length)],
    ]),
  };
}
