/** Attention between sentences: questions, answers, and what can be read off them. */

import { largest, maximum } from "../../figures/derive/matrix";
import { held, shown } from "../../figures/format";
import { isLong } from "../../figures/long/levels";
import type { Measure } from "../../figures/quantities";
import type { Table } from "../../figures/table";
import { itemAt } from "../../protocol/required";
import type { HeadIndex, Meta, Precision, Slice, SliceRequest, Source } from "../../protocol/types";

export type Aggregation = "mass" | "max";
export type Scope = "all" | "layer" | "head";
export type Carried = Exclude<Measure, "weights">;

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
  readonly size: number;
  readonly texts: readonly string[];
  /** Positions of each sentence's tokens. */
  readonly tokens: readonly (readonly number[])[];
  readonly segments: readonly number[];
  /** Why there is nothing to compare. */
  readonly note: string | null;
  /** `[size, size]`, rows look, columns are looked at; NaN where the mask forbids every link. */
  readonly values: Float32Array;
  /** The same as the kernel has it, 0 where the mask forbids every link. */
  readonly raw: Float32Array;
  /** `[n, n]`, 0 where the mask forbids a link of tokens; null where it forbids none. */
  readonly allowed: Uint8Array | null;
  /** How far a value may be off: those that a saved page makes of its codes. */
  error(value: number): number;
  /** Share on tokens in no sentence, `[size]`; for `mass`. */
  readonly elsewhere: Float32Array | null;
  readonly max: number;
  /** For `max`. */
  witness(a: number, b: number): Witness | null;
}

export interface TokenBlock {
  readonly queries: readonly number[];
  readonly keys: readonly number[];
  /** `[queries, keys]`; NaN where the mask forbids a link. */
  readonly weights: Float32Array;
  /** How far a weight, or a sum of `terms` of them, may be off. */
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
  if (layer === undefined || seen[layer] === n * n) return null;
  return { kind: "weights", layer, head: of.head ?? "mean" };
}

/** How far a value, or a sum of `terms` entries of a matrix of tokens, may be off. */
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
  const size = texts.length;
  const raw = (arrays.get("matrix")?.data ?? new Float32Array(0)) as Float32Array;
  const allowed = (mask?.arrays.get("allowed")?.data as Uint8Array | undefined) ?? null;
  // The kernel says which cells a long text has: its mask is n x n.
  const known = arrays.get("possible")?.data;
  const n = meta.tokens.text.length;
  const values = raw.map((value, at) => {
    const [a, b] = [itemAt(tokens, Math.floor(at / size)), itemAt(tokens, at % size)];
    const possible =
      (known === undefined || known[at] !== 0) &&
      (allowed === null || a.some((query) => b.some((key) => allowed[query * n + key] !== 0)));
    return possible ? value : Number.NaN;
  });
  const column = (name: string): Int32Array | undefined =>
    arrays.get(`witness_${name}`)?.data as Int32Array | undefined;
  const [layers, heads, queries, keys] = ["layer", "head", "query", "key"].map(column);
  return {
    asked: of,
    size,
    texts,
    tokens,
    segments: tokens.map(([first = -1]) => meta.tokens.segment[first] ?? 0),
    note: (data.note as string | null) ?? null,
    // A cell is a mean of sums over the keys of a sentence.
    error: (value) => error(value, of.aggregation === "mass" ? n : 1),
    values,
    raw,
    allowed,
    elsewhere: (arrays.get("elsewhere")?.data as Float32Array | undefined) ?? null,
    max: maximum(values),
    witness(a, b) {
      const at = a * size + b;
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
  n: number,
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
            return allowed[query * n + key] === 0 ? Number.NaN : weight;
          }),
  };
}

/** The other sentence that `a` looks at most; null where there is none. */
export function strongestOther({ size, values }: SentenceMatrix, a: number): number | null {
  const row = values.subarray(a * size, (a + 1) * size);
  const others = row.map((value, b) => (b === a || Number.isNaN(value) ? -1 : value));
  const [best] = largest(others, 1);
  return best === undefined || itemAt(others, best) < 0 ? null : best;
}

/** The sentence that a token is in, -1 for none. */
export const sentenceOf = ({ tokens }: SentenceMatrix, token: number | null): number =>
  token === null ? -1 : tokens.findIndex((sentence) => sentence.includes(token));

export interface MassSum {
  /** Sum of all weights of the block. */
  readonly total: number;
  readonly queries: number;
  readonly mean: number;
  /** With so many digits of the total a reader's own division gives the mean as printed. */
  readonly digits: number;
}

const MOST_DIGITS = 15;

/** How a cell follows from its tokens under `mass`: the mean over the rows of their sums. */
export function massSum({
  queries,
  weights,
}: Pick<TokenBlock, "queries" | "keys" | "weights">): MassSum {
  const total = weights.reduce((sum, value) => sum + (Number.isNaN(value) ? 0 : value), 0);
  const mean = total / queries.length;
  let digits = 3;
  while (digits < MOST_DIGITS && shown(shown(total, digits) / queries.length) !== shown(mean)) {
    digits++;
  }
  return { total, queries: queries.length, mean, digits };
}

export function matrixTable({ size, texts, raw, error }: SentenceMatrix): Table {
  const rows = texts.flatMap((one, a) =>
    texts.map((other, b) => {
      const value = itemAt(raw, a * size + b);
      return [a, b, one, other, Number.isNaN(value) ? null : held(value, error(value))] as const;
    }),
  );
  return { columns: ["a", "b", "a_text", "b_text", "value"], rows };
}
