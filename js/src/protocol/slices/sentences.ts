/** Slices of attention between sentences, as `attn_widget/figures/sentences.py` has it. */

import { f32, upTo } from "../arrays";
import { type Cells, walk } from "../cells";
import { type Pause, pauses } from "../pauses";
import { itemAt } from "../required";
import type { HeadIndex, NdArray, Slice, SliceOptions } from "../slice";
import { codedOf, type MatrixRun } from "./attention";

export type Aggregation = "mass" | "max";

interface Block {
  readonly aggregation: Aggregation;
  readonly layer?: number | null;
  readonly head?: number | null;
}

export interface SentenceFields {
  readonly sentences: Block;
  readonly drill: Block & { readonly a: number; readonly b: number };
}

/** A matrix that an aggregation goes over. */
export interface Part {
  readonly layer: number;
  readonly head: HeadIndex;
  open(): Cells | Promise<Cells>;
}

/** Positions of each sentence's tokens. */
type Sentences = readonly (readonly number[])[];

const WITNESS = ["layer", "head", "query", "key"] as const;

/** All pairs of sentences, one matrix after the other; `about` is what the answer says of them. `keys`: sentences that are looked at. */
export async function sentenceMatrix(
  kind: Aggregation,
  parts: readonly Part[],
  sentences: Sentences,
  n: number,
  about: Slice["data"],
  pause: Pause,
  keys: Sentences = sentences,
): Promise<Slice> {
  const size = sentences.length;
  const width = keys.length;
  const values = new Float64Array(size * width).fill(kind === "max" ? Number.NEGATIVE_INFINITY : 0);
  const elsewhere = new Float64Array(size);
  const witness = WITNESS.map(() => new Int32Array(size * width));
  const of = placesOf(sentences);
  const ofKey = keys === sentences ? of : placesOf(keys);
  for (const { layer, head, open } of parts) {
    const cells = await open();
    const m = cells.n;
    await walk(cells, [0, n], [0, m], pause, (rows, first, count) => {
      for (let query = first, cell = 0; query < first + count; query++) {
        const a = of[query] ?? -1;
        if (a < 0) {
          cell += m;
          continue;
        }
        const share = 1 / (itemAt(sentences, a).length * parts.length);
        for (let key = 0; key < m; key++, cell++) {
          const weight = rows[cell] as number;
          if (Number.isNaN(weight)) continue;
          const b = ofKey[key] ?? -1;
          const at = a * width + b;
          if (kind === "mass") {
            if (b < 0) elsewhere[a] = (elsewhere[a] as number) + weight * share;
            else values[at] = (values[at] as number) + weight * share;
          } else if (b >= 0 && weight > (values[at] as number)) {
            values[at] = weight;
            const found = [layer, head === "mean" ? 0 : head, query, key];
            for (const [i, column] of witness.entries()) column[at] = itemAt(found, i);
          }
        }
      }
    });
  }
  const shape = [size, width];
  // -Infinity where the mask forbids every link.
  const finite = values.map((value) => (Number.isFinite(value) ? value : 0));
  const arrays = new Map<string, NdArray>([["matrix", f32(Float32Array.from(finite), ...shape)]]);
  if (kind === "mass") arrays.set("elsewhere", f32(Float32Array.from(elsewhere), size));
  else {
    for (const [i, name] of WITNESS.entries())
      arrays.set(`witness_${name}`, { data: itemAt(witness, i), shape });
    const possible = Int32Array.from(values, (value) => (Number.isFinite(value) ? 1 : 0));
    if (possible.includes(0)) arrays.set("possible", { data: possible, shape });
  }
  return { data: about, arrays };
}

/** The sentence of each token; undefined for none. */
function placesOf(sentences: Sentences): readonly (number | undefined)[] {
  const places: number[] = [];
  for (const [a, tokens] of sentences.entries()) for (const token of tokens) places[token] = a;
  return places;
}

/** Token by token, the block of two sentences. */
export async function sentenceBlock(
  kind: Aggregation,
  parts: readonly Part[],
  [queries, keys]: readonly [queries: readonly number[], keys: readonly number[]],
  about: Slice["data"],
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
        const before = block[at] as number;
        if (Number.isNaN(weight)) continue;
        block[at] = kind === "max" ? Math.max(before, weight) : before + weight / parts.length;
      }
      const paused = pause();
      if (paused !== undefined) await paused;
    }
  }
  return {
    data: about,
    arrays: new Map<string, NdArray>([
      ["weights", f32(Float32Array.from(block), queries.length, keys.length)],
      ["queries", { data: Int32Array.from(queries), shape: [queries.length] }],
      ["keys", { data: Int32Array.from(keys), shape: [keys.length] }],
    ]),
  };
}

/** The sentences of a text, and a note where there is nothing to compare. */
export interface SentenceList {
  readonly texts: readonly string[];
  readonly tokens: Sentences;
  /** The sentences that are looked at, where they are of another text. */
  readonly key_texts?: readonly string[] | undefined;
  readonly key_tokens?: Sentences | undefined;
  readonly note: string | null;
}

export interface SentenceRun extends MatrixRun {
  /** True if the mean of a layer's heads is read at once, instead of one head after the other. */
  readonly readsMeans: boolean;
}

function partsOf(run: SentenceRun, { aggregation, layer, head }: Block): Part[] {
  const { n_layers, n_heads } = run.meta.model;
  const means = aggregation === "mass" && head == null && run.readsMeans;
  const heads: readonly HeadIndex[] = means ? ["mean"] : head == null ? upTo(n_heads) : [head];
  return (layer == null ? upTo(n_layers) : [layer]).flatMap((index) =>
    heads.map((each) => ({
      layer: index,
      head: each,
      open: () => run.cells("weights", index, each),
    })),
  );
}

/** The answer to `sentences`. */
export function sentencesSlice(
  run: SentenceRun,
  list: SentenceList,
  request: Block,
  { signal }: SliceOptions,
): Promise<Slice> {
  const data = { ...list, ...codedOf(run) };
  const parts = partsOf(run, request);
  const { tokens, key_tokens: keys = tokens } = list;
  return sentenceMatrix(request.aggregation, parts, tokens, run.n, data, pauses(signal), keys);
}

/** The answer to `drill`. */
export function drillSlice(
  run: SentenceRun,
  { tokens, key_tokens: keys = tokens }: SentenceList,
  { a, b, ...of }: SentenceFields["drill"],
  { signal }: SliceOptions,
): Promise<Slice> {
  const block = [itemAt(tokens, a), itemAt(keys, b)] as const;
  return sentenceBlock(of.aggregation, partsOf(run, of), block, codedOf(run), pauses(signal));
}
