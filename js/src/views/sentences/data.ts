/** Attention between sentences: questions, answers, and what can be read off them. */

import { largest, maximum } from "../../figures/derive/matrix";
import { roundToError, shown } from "../../figures/format";
import { isLong } from "../../figures/long/levels";
import type { Measure } from "../../figures/quantities";
import type { Table } from "../../figures/table";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import type { HeadIndex, Meta, Precision, Slice, SliceRequest, Source } from "../../protocol/types";

export type Aggregation = "mass" | "max";
export type Scope = "all" | "layer" | "head";
export type Carried = Exclude<Measure, "weights">;

/** A cell of the matrix: what sentence `a` gives to sentence `b`. */
export interface CellPosition {
  readonly a: number;
  readonly b: number;
}

/** Which weights are gathered: of all layers and heads, of one layer, or of one head. */
export interface Asked {
  readonly aggregation: Aggregation;
  readonly layer: number | null;
  readonly head: number | null;
  /** Null for attention weights; others are of a layer, or of a head. */
  readonly quantity: Carried | null;
}

/** Layer, head and tokens of a maximum. */
export interface Witness {
  readonly layer: number;
  readonly head: number;
  readonly query: number;
  readonly key: number;
}

export interface SentenceMatrix {
  readonly asked: Asked;
  /** Rows: sentences that look. */
  readonly size: number;
  /** Columns: sentences that are looked at. */
  readonly width: number;
  readonly texts: readonly string[];
  /** Positions of each sentence's tokens. */
  readonly tokens: readonly (readonly number[])[];
  readonly segments: readonly number[];
  /** The same of those that are looked at; the same arrays, except where they are of another text. */
  readonly keyTexts: readonly string[];
  readonly keyTokens: readonly (readonly number[])[];
  /** Why there is nothing to compare. */
  readonly note: string | null;
  /** `[size, width]`, rows look, columns are looked at; NaN where the mask forbids every link. */
  readonly values: Float32Array;
  /** The same as the kernel has it, 0 where the mask forbids every link. */
  readonly raw: Float32Array;
  /** `[n, m]`, 0 where the mask forbids a link of tokens; null where it forbids none. */
  readonly allowed: Uint8Array | null;
  /** Bound of a value's error: 0 unless a saved page decoded it. */
  error(value: number): number;
  /** Share on tokens in no sentence, `[size]`; for `mass`. */
  readonly elsewhere: Float32Array | null;
  /** The tokens in no sentence, in words. */
  readonly outside: string;
  readonly max: number;
  /** For `max`. */
  witness(a: number, b: number): Witness | null;
}

export interface TokenBlock {
  readonly queries: readonly number[];
  readonly keys: readonly number[];
  /** `[queries, keys]`; NaN where the mask forbids a link. */
  readonly weights: Float32Array;
  /** Bound of the error of a weight, or of a sum of `terms` weights. */
  error(value: number, terms?: number): number;
}

/** The two tokens of a cell of a block. */
export const linkAt = (
  { queries, keys }: Pick<TokenBlock, "queries" | "keys">,
  at: number,
): { readonly query: number; readonly key: number } => ({
  query: itemAt(queries, Math.floor(at / keys.length)),
  key: itemAt(keys, at % keys.length),
});

/** The mean head of a layer is the layer. */
export function asked(
  aggregation: Aggregation,
  scope: Scope,
  layer: number,
  head: HeadIndex,
): Asked {
  return {
    aggregation,
    layer: scope === "all" ? null : layer,
    head: scope === "head" && head !== "mean" ? head : null,
    quantity: null,
  };
}

export const matrixRequest = ({ aggregation, layer, head }: Asked): SliceRequest => ({
  kind: "sentences",
  ...{ aggregation, layer, head },
});
export const drillRequest = (
  { aggregation, layer, head }: Asked,
  a: number,
  b: number,
): SliceRequest => ({ kind: "drill", ...{ aggregation, layer, head, a, b } });

/**
 * The question whose answer holds the mask of these weights; null where the model's mask forbids nothing.
 * Over all layers it is that of the layer that sees most: masks differ in their width alone.
 */
export function maskRequest(of: Asked, { arrays, meta }: Source): SliceRequest | null {
  const possible = arrays.get("possible")?.data as Int32Array | undefined;
  if (possible === undefined || isLong(meta)) return null;
  const n = meta.tokens.text.length;
  const seen = Array.from({ length: meta.model.n_layers }, (_, layer) =>
    possible.subarray(layer * n, (layer + 1) * n).reduce((sum, count) => sum + count, 0),
  );
  const layer = of.layer ?? largest(seen, 1)[0];
  if (layer === undefined || seen[layer] === n * keysOf(meta).text.length) return null;
  return { kind: "weights", layer, head: of.head ?? "mean" };
}

/** Bound of the error of a value, or of a sum of `terms` entries of a matrix of tokens. */
type Bound = (value: number, terms?: number) => number;

export function slicedMatrix(
  of: Asked,
  { data, arrays }: Slice,
  meta: Meta,
  mask: Slice | null,
  error: Bound,
): SentenceMatrix {
  const texts = data.texts as readonly string[];
  const tokens = data.tokens as readonly (readonly number[])[];
  const keyTexts = (data.key_texts ?? texts) as readonly string[];
  const keyTokens = (data.key_tokens ?? tokens) as readonly (readonly number[])[];
  const [size, width] = [texts.length, keyTexts.length];
  const raw = (arrays.get("matrix")?.data ?? new Float32Array(0)) as Float32Array;
  const allowed = (mask?.arrays.get("allowed")?.data as Uint8Array | undefined) ?? null;
  // The kernel says which cells a long text has: its mask is n x n.
  const possibleCells = arrays.get("possible")?.data;
  const m = keysOf(meta).text.length;
  const values = raw.map((value, at) => {
    const [a, b] = [itemAt(tokens, Math.floor(at / width)), itemAt(keyTokens, at % width)];
    const possible =
      (possibleCells === undefined || possibleCells[at] !== 0) &&
      (allowed === null || a.some((query) => b.some((key) => allowed[query * m + key] !== 0)));
    return possible ? value : Number.NaN;
  });
  const first = tokens.some((sentence) => sentence.includes(0)) || meta.tokens.special[0];
  const column = (name: string): Int32Array | undefined =>
    arrays.get(`witness_${name}`)?.data as Int32Array | undefined;
  const [layers, heads, queries, keys] = ["layer", "head", "query", "key"].map(column);
  return {
    asked: of,
    size,
    width,
    texts,
    tokens,
    keyTexts,
    keyTokens,
    segments: tokens.map(([first = -1]) => meta.tokens.segment[first] ?? 0),
    note: (data.note as string | null) ?? null,
    // A cell is a mean of sums over the keys of a sentence.
    error: (value) => error(value, of.aggregation === "mass" ? m : 1),
    values,
    raw,
    allowed,
    elsewhere: (arrays.get("elsewhere")?.data as Float32Array | undefined) ?? null,
    outside: meta.mask && !first ? "the first token" : "special tokens",
    max: maximum(values),
    witness(a, b) {
      const at = a * width + b;
      if (!layers || !heads || !queries || !keys || Number.isNaN(values[at])) return null;
      return {
        layer: itemAt(layers, at),
        head: itemAt(heads, at),
        query: itemAt(queries, at),
        key: itemAt(keys, at),
      };
    },
  };
}

/** Errors of figures computed from a saved page's encodings; answers of a kernel have none. */
export const errorIn =
  ({ coded }: Slice["data"], of: Asked, precision: Precision | undefined): Bound =>
  (value, terms = 1) => {
    const meanHead = of.aggregation === "mass" && of.head == null;
    return coded === true && precision !== undefined ? precision.weight(value, terms, meanHead) : 0;
  };

export function slicedBlock(
  { arrays }: Slice,
  { allowed }: SentenceMatrix,
  m: number,
  error: Bound,
): TokenBlock {
  const queries = Array.from(arrays.get("queries")?.data ?? []);
  const keys = Array.from(arrays.get("keys")?.data ?? []);
  const weights = (arrays.get("weights")?.data ?? new Float32Array(0)) as Float32Array;
  return {
    queries,
    keys,
    error,
    weights:
      allowed === null
        ? weights
        : weights.map((weight, at) => {
            const { query, key } = linkAt({ queries, keys }, at);
            return allowed[query * m + key] === 0 ? Number.NaN : weight;
          }),
  };
}

/** True where the sentences that are looked at are of another text. */
export const ofTwoTexts = ({ texts, keyTexts }: SentenceMatrix): boolean => texts !== keyTexts;

/** The other sentence that `a` looks at most; null where there is none. In another text every sentence is another one. */
export function strongestOther(matrix: SentenceMatrix, a: number): number | null {
  const { width, values } = matrix;
  const own = ofTwoTexts(matrix) ? -1 : a;
  const row = values.subarray(a * width, (a + 1) * width);
  const others = row.map((value, b) => (b === own || Number.isNaN(value) ? -1 : value));
  const [best] = largest(others, 1);
  return best === undefined || itemAt(others, best) < 0 ? null : best;
}

/** The cell that holds a pair of tokens. */
export function placeOfPair(
  matrix: SentenceMatrix,
  pair: readonly [number, number] | null,
): CellPosition | null {
  if (pair === null) return null;
  const [a, b] = [sentenceOf(matrix, pair[0]), sentenceOf({ tokens: matrix.keyTokens }, pair[1])];
  return a < 0 || b < 0 ? null : { a, b };
}

/** The sentence of a token, -1 for none. */
export const sentenceOf = (
  { tokens }: Pick<SentenceMatrix, "tokens">,
  token: number | null,
): number => (token === null ? -1 : tokens.findIndex((sentence) => sentence.includes(token)));

interface MassSum {
  /** Sum of all weights of the block. */
  readonly total: number;
  readonly queries: number;
  readonly mean: number;
  /** With so many digits of the total a reader's own division gives the mean as printed. */
  readonly digits: number;
}

const MAX_DIGITS = 15;

/** Derivation of a cell under `mass`: the mean over the rows of their sums. */
export function massSum({
  queries,
  weights,
}: Pick<TokenBlock, "queries" | "keys" | "weights">): MassSum {
  const total = weights.reduce((sum, value) => sum + (Number.isNaN(value) ? 0 : value), 0);
  const mean = total / queries.length;
  let digits = 3;
  while (digits < MAX_DIGITS && shown(shown(total, digits) / queries.length) !== shown(mean)) {
    digits++;
  }
  return { total, queries: queries.length, mean, digits };
}

export function matrixTable({ width, texts, keyTexts, raw, error }: SentenceMatrix): Table {
  const rows = texts.flatMap((text, a) =>
    keyTexts.map((other, b) => {
      const value = itemAt(raw, a * width + b);
      return [
        a,
        b,
        text,
        other,
        Number.isNaN(value) ? null : roundToError({ value, error: error(value) }),
      ] as const;
    }),
  );
  return { columns: ["a", "b", "a_text", "b_text", "value"], rows };
}
