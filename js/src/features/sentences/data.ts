/** Attention between sentences: what is asked, the matrix, and the tokens of a cell. */
import { largest, maximum } from "../../figures/derive/matrix";
import { shown } from "../../figures/format";
import { errorsOf, matrixRequest as tokenMatrixRequest } from "../../figures/matrix";
import { placeName } from "../../figures/names";
import { hasHead, type Measure, measureOf } from "../../figures/quantities";
import type { Sections } from "../../figures/sections";
import type { Place } from "../../marks/navigate";
import { wholeCells } from "../../protocol/cells";
import { isLong, keysOf } from "../../protocol/meta";
import { pauses } from "../../protocol/pauses";
import { arrayOf, itemAt } from "../../protocol/required";
import { rowsNormalized } from "../../protocol/slices/rollout";
import { sentenceBlock, sentenceMatrix } from "../../protocol/slices/sentences";
import type { Meta, Slice, SliceOptions, SliceRequest, Source } from "../../protocol/types";
import type { Selection } from "../../state/selection";

export type Aggregation = "mass" | "max";
export type Scope = "all" | "layer" | "head";

/** Which weights are gathered: of all layers and heads, of one layer, or of one head. */
export interface Asked {
  readonly aggregation: Aggregation;
  readonly layer: number | null;
  readonly head: number | null;
  /** Null for attention weights; others are of a layer, or of a head. */
  readonly quantity: Exclude<Measure, "weights"> | null;
}

/** Bound of the error of a value, or of a sum of `terms` entries of a matrix of tokens. */
type Bound = (value: number, terms?: number) => number;

export interface SentenceMatrix {
  readonly asked: Asked;
  /** Rows: sentences that look, and the positions of their tokens. */
  readonly size: number;
  readonly texts: readonly string[];
  readonly tokens: readonly (readonly number[])[];
  readonly segments: readonly number[];
  /** Columns: sentences that are looked at; the same arrays, except where they are of another text. */
  readonly width: number;
  readonly keyTexts: readonly string[];
  readonly keyTokens: readonly (readonly number[])[];
  /** `[size, width]`; NaN where the mask forbids every link, which is 0 in `raw`. */
  readonly values: Float32Array;
  readonly raw: Float32Array;
  readonly max: number;
  readonly error: Bound;
  /** `[n, m]`, 0 where the mask forbids a link of tokens; null where it forbids none. */
  readonly allowed: Uint8Array | null;
  /** Share on tokens in no sentence, `[size]`; for `mass`. And these tokens in words. */
  readonly elsewhere: Float32Array | null;
  readonly outside: string;
  /** Sections of the text that stand in place of its sentences. */
  readonly sections: Sections | null;
  /** Why there is nothing to compare. */
  readonly note: string | null;
  /** Layer, head and tokens of a maximum. */
  witness(at: Place): Readonly<Record<"layer" | "head" | "query" | "key", number>> | null;
}
export interface TokenBlock {
  readonly queries: readonly number[];
  readonly keys: readonly number[];
  /** `[queries, keys]`; NaN where the mask forbids a link. */
  readonly weights: Float32Array;
  readonly error: Bound;
}
export interface Answer {
  readonly matrix: SentenceMatrix;
  block(at: Place, options: SliceOptions): Promise<TokenBlock>;
}

/** The heads that the selection asks for; the mean head of a layer is the layer. */
export function askedOf(
  aggregation: Aggregation,
  scope: Scope,
  { layer, head, quantity }: Pick<Selection, "layer" | "head" | "quantity">,
): Asked {
  const measure = measureOf(quantity);
  const ofHead = head === "mean" ? null : head;
  if (measure !== "weights")
    return { aggregation, layer, head: hasHead(measure) ? ofHead : null, quantity: measure };
  const [ofLayer, one] = [scope === "all" ? null : layer, scope === "head" ? ofHead : null];
  return { aggregation, layer: ofLayer, head: one, quantity: null };
}
const cellOf = ({ layer, head, quantity }: Asked) =>
  ({ layer: layer ?? 0, head: head ?? "mean", quantity: quantity ?? "weights" }) as const;
/** `ALTI · L3`, `norms · L3 · H5`, `rollout of ALTI to L3`. */
export const carriedName = (of: Asked): string => placeName(cellOf(of));

/** The tokens of a cell of a block. */
export const linkAt = ({ queries, keys }: Pick<TokenBlock, "queries" | "keys">, at: number) => ({
  query: itemAt(queries, Math.floor(at / keys.length)),
  key: itemAt(keys, at % keys.length),
});

/** Weights as the source gives them; other quantities are gathered here. */
export async function ask(
  of: Asked,
  source: Source,
  options: SliceOptions,
  sections: Sections | null = null,
): Promise<Answer> {
  const gather = of.quantity === null ? askWeights : askCarried;
  const { matrix, block } = await gather(of, source, options);
  const same = sections?.names.length === matrix.size && !ofTwoTexts(matrix);
  return { matrix: same ? { ...matrix, sections } : matrix, block };
}

async function askWeights(of: Asked, source: Source, options: SliceOptions): Promise<Answer> {
  const { aggregation, layer, head } = of;
  const about = { aggregation, layer, head };
  const masked = maskRequest(of, source);
  const [found, mask] = await Promise.all([
    source.ask({ kind: "sentences", ...about }, options),
    masked && source.ask(masked, options),
  ]);
  /** Errors of figures computed from a saved page's encodings; answers of a kernel have none. */
  const errorIn =
    ({ data: { coded } }: Slice): Bound =>
    (value, terms = 1) =>
      (coded === true &&
        source.precision?.weight(value, terms, aggregation === "mass" && head == null)) ||
      0;
  const matrix = slicedMatrix(of, found, source.meta, mask, errorIn(found));
  return {
    matrix,
    async block({ row: a, column: b }, waiting) {
      const drill = await source.ask({ kind: "drill", ...about, a, b }, waiting);
      return slicedBlock(drill, matrix, keysOf(source.meta).text.length, errorIn(drill));
    },
  };
}

/**
 * The question whose answer holds the mask of these weights; null where the model's mask forbids nothing.
 * Over all layers it is that of the layer that sees most: masks differ in their width alone.
 */
function maskRequest(of: Asked, { arrays, meta }: Source): SliceRequest | null {
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

/**
 * Mass: entries divided by their row's sum, summed over the keys of a sentence, mean over its queries.
 * Max: the largest entry as it is. A question about weights names the sentences and their tokens.
 */
async function askCarried(of: Asked, source: Source, options: SliceOptions): Promise<Answer> {
  const { aggregation, head } = of;
  const { layer, quantity } = cellOf(of);
  const [about, found] = await Promise.all([
    source.ask({ kind: "sentences", aggregation: "mass", layer: null, head: null }, options),
    source.ask(tokenMatrixRequest(cellOf(of)), options),
  ]);
  const n = source.meta.tokens.text.length;
  const raw = arrayOf(found, "weights").data as Float32Array;
  const shares = aggregation === "mass";
  const cells = wholeCells(shares ? rowsNormalized(raw, n) : raw, n);
  const whole = [aggregation, [{ layer, head: head ?? 0, open: () => cells }]] as const;
  const sentences = about.data.tokens as readonly (readonly number[])[];
  const { arrays } = await sentenceMatrix(...whole, sentences, n, about.data, pauses());
  // A maximum of a layer was made by no head.
  const kept = [...arrays].filter(([name]) => head !== null || !name.startsWith("witness_"));
  const { longest } = found.data;
  const { error: off = () => 0 } = errorsOf(source, quantity, [], head ?? "mean", longest);
  const sums = Array.from({ length: n }, (_, i) =>
    raw.subarray(i * n, (i + 1) * n).reduce((sum, value) => sum + value, 0),
  );
  const least = Math.min(...sums) || 1;
  // A share is off by its own entries, and by those of the sum that it is divided by.
  const error: Bound = (value, terms = 1) =>
    shares ? (off(value, 1) * (terms + value * n)) / least : off(value, terms);
  const gathered = { data: about.data, arrays: new Map(kept) };
  const matrix = slicedMatrix(of, gathered, source.meta, found, error);
  return {
    matrix,
    async block({ row, column }) {
      const both = [sentences[row] ?? [], sentences[column] ?? []] as const;
      return slicedBlock(await sentenceBlock(...whole, both, {}, pauses()), matrix, n, error);
    },
  };
}

export function slicedMatrix(
  of: Asked,
  { data, arrays }: Slice,
  meta: Meta,
  mask: Slice | null,
  error: Bound,
): SentenceMatrix {
  const array = <T>(name: string): T | null => (arrays.get(name)?.data as T | undefined) ?? null;
  const texts = data.texts as readonly string[];
  const tokens = data.tokens as readonly (readonly number[])[];
  const keyTexts = (data.key_texts ?? texts) as readonly string[];
  const keyTokens = (data.key_tokens ?? tokens) as readonly (readonly number[])[];
  const width = keyTexts.length;
  const raw = array<Float32Array>("matrix") ?? new Float32Array(0);
  const allowed = (mask?.arrays.get("allowed")?.data as Uint8Array | undefined) ?? null;
  // The kernel says which cells a long text has: its mask is n x n.
  const possibleCells = array<ArrayLike<number>>("possible");
  const m = keysOf(meta).text.length;
  const values = raw.map((value, at) => {
    const [a, b] = [itemAt(tokens, Math.floor(at / width)), itemAt(keyTokens, at % width)];
    const possible =
      possibleCells?.[at] !== 0 &&
      (allowed === null || a.some((query) => b.some((key) => allowed[query * m + key] !== 0)));
    return possible ? value : Number.NaN;
  });
  const first = tokens.some((sentence) => sentence.includes(0)) || meta.tokens.special[0];
  return {
    asked: of,
    ...{ size: texts.length, texts, tokens, width, keyTexts, keyTokens, values, raw, allowed },
    segments: tokens.map(([first = -1]) => meta.tokens.segment[first] ?? 0),
    max: maximum(values),
    // A cell is a mean of sums over the keys of a sentence.
    error: (value) => error(value, of.aggregation === "mass" ? m : 1),
    elsewhere: array("elsewhere"),
    outside: meta.mask && !first ? "the first token" : "special tokens",
    sections: null,
    note: (data.note as string | null) ?? null,
    witness({ row, column }) {
      const at = row * width + column;
      const of = (name: string) => array<Int32Array>(`witness_${name}`)?.[at] ?? -1;
      const found = { layer: of("layer"), head: of("head"), query: of("query"), key: of("key") };
      return Math.min(...Object.values(found)) < 0 || Number.isNaN(values[at]) ? null : found;
    },
  };
}

function slicedBlock(
  { arrays }: Slice,
  { allowed }: SentenceMatrix,
  m: number,
  error: Bound,
): TokenBlock {
  const list = (name: string): number[] => Array.from(arrays.get(name)?.data ?? []);
  const [queries, keys] = [list("queries"), list("keys")];
  const weights = Float32Array.from(list("weights"), (weight, at) => {
    const { query, key } = linkAt({ queries, keys }, at);
    return allowed?.[query * m + key] === 0 ? Number.NaN : weight;
  });
  return { queries, keys, weights, error };
}

export const sentenceName = ({ sections }: SentenceMatrix, index: number): string =>
  sections?.names[index] ?? `S${index}`;
export const sentenceText = ({ sections, texts }: SentenceMatrix, index: number): string =>
  sections?.text(index) ?? itemAt(texts, index);
/** Words for one unit and for several: sentences, or the sections of the text. */
export const nounsOf = (sections: Sections | null | undefined): Sections["noun"] =>
  sections?.noun ?? ["sentence", "sentences"];
/** True where the sentences that are looked at are of another text. */
export const ofTwoTexts = ({ texts, keyTexts }: SentenceMatrix): boolean => texts !== keyTexts;
/** Name of a sentence that is looked at: `S3`, or one of the source's, `source 3`. */
export const keyName = (matrix: SentenceMatrix, index: number): string =>
  ofTwoTexts(matrix) ? `source ${index}` : sentenceName(matrix, index);
export const valueAt = ({ values, width }: SentenceMatrix, { row, column }: Place): number =>
  itemAt(values, row * width + column);

/** The other sentence that `a` looks at most; null where there is none. In another text every sentence is another one. */
export function strongestOther(matrix: SentenceMatrix, a: number): number | null {
  const { width, values } = matrix;
  const own = ofTwoTexts(matrix) ? -1 : a;
  const others = values
    .subarray(a * width, (a + 1) * width)
    .map((value, b) => (b === own || Number.isNaN(value) ? -1 : value));
  const [best] = largest(others, 1);
  return best === undefined || itemAt(others, best) < 0 ? null : best;
}
/** The cell that a row is read at. */
export const firstOf = (matrix: SentenceMatrix, row: number): Place => ({
  row,
  column: strongestOther(matrix, row) ?? (ofTwoTexts(matrix) ? 0 : row),
});

/** The sentence of a token, -1 for none. */
export const sentenceOf = (tokens: SentenceMatrix["tokens"], token: number | null): number =>
  token === null ? -1 : tokens.findIndex((sentence) => sentence.includes(token));
/** The cell that holds a pair of tokens. */
export function placeOfPair(matrix: SentenceMatrix, pair: Selection["pair"]): Place | null {
  const row = sentenceOf(matrix.tokens, pair?.[0] ?? null);
  const column = sentenceOf(matrix.keyTokens, pair?.[1] ?? null);
  return row < 0 || column < 0 ? null : { row, column };
}

const MAX_DIGITS = 15;
/** Derivation of a cell under `mass`: the mean over the rows of their sums, with the digits that a reader's division needs. */
export function massSum({ queries, weights }: Pick<TokenBlock, "queries" | "keys" | "weights">) {
  const total = weights.reduce((sum, value) => sum + (value || 0), 0);
  const mean = total / queries.length;
  let digits = 3;
  while (digits < MAX_DIGITS && shown(shown(total, digits) / queries.length) !== shown(mean))
    digits++;
  return { total, queries: queries.length, mean, digits };
}
