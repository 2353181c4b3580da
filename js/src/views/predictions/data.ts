/** The masked-LM head's answers as the page has them, and one softmax opened up. */

import { formatCount, formatNumber } from "../../figures/format";
import type { SoftmaxTerms } from "../../figures/formulas";
import type { Table } from "../../figures/table";
import { itemAt, required } from "../../protocol/required";
import type {
  NdArray,
  Slice,
  SliceRequest,
  Source,
  Target,
  TokenColumns,
} from "../../protocol/types";

/** `next`: of a decoder, whose head predicts the token that follows each position. */
export type Mode = "as_is" | "masked" | "next";

export interface Predictions {
  readonly mode: Mode;
  readonly topK: number;
  /** Positions that have been answered; the numbers of the others say nothing. */
  readonly known: ReadonlySet<number>;
  /** Token text by id. */
  readonly vocabulary: Readonly<Record<string, string>>;
  /** Tokens in `vocabulary` that may only begin a word; none of an encoder. */
  readonly beginnings?: readonly string[];
  /** `[n, topK]`, most probable first. */
  readonly ids: NdArray;
  readonly probabilities: NdArray;
  readonly logits: NdArray;
  /** `[n]` */
  readonly logitMax: NdArray;
  readonly logSumExp: NdArray;
  readonly originalRank: NdArray;
  readonly originalProbability: NdArray;
  /** Surprisal of the token that follows, bits, where a decoder predicts it; NaN at the last position. */
  readonly surprisal: NdArray | null;
}

const NAMES = {
  ids: "prediction_ids",
  probabilities: "prediction_probabilities",
  logits: "prediction_logits",
  logitMax: "logit_max",
  logSumExp: "log_sum_exp",
  originalRank: "original_rank",
  originalProbability: "original_probability",
} as const;

function collect(
  mode: Mode,
  topK: number,
  { vocabulary, beginnings = [] }: Pick<Predictions, "vocabulary" | "beginnings">,
  arrays: ReadonlyMap<string, NdArray>,
): Predictions | null {
  const columns: Partial<Record<keyof typeof NAMES, NdArray>> = {};
  for (const [key, name] of Object.entries(NAMES) as [keyof typeof NAMES, string][]) {
    const array = arrays.get(name);
    if (array === undefined) return null;
    columns[key] = array;
  }
  const all = columns as Record<keyof typeof NAMES, NdArray>;
  const positions = new Set(Array.from(all.logitMax.data, (_, position) => position));
  return {
    mode,
    topK,
    known: positions,
    vocabulary,
    beginnings,
    ...all,
    surprisal: arrays.get("next_surprisal") ?? null,
  };
}

/** Predictions of the first paint; null when it has none. */
export function paintedPredictions({ meta, arrays }: Source): Predictions | null {
  const { predictions } = meta;
  return predictions && collect(predictions.mode, predictions.top_k, predictions, arrays);
}

export const predictionsRequest = (
  mode: Mode,
  topK: number,
  rows?: readonly [number, number],
): SliceRequest => ({
  kind: "predictions",
  mode,
  top_k: topK,
  ...(rows === undefined ? {} : { rows }),
});

/** The mode that the view opens on: masked where the model can, and a saved page has it. */
export function openingMode(source: Source, topK: number): Mode {
  const { predictions, masked } = source.meta;
  if (masked.length > 0) return predictions?.mode ?? "as_is";
  if (predictions?.opens === "next" || predictions?.mode === "next") return "next";
  const there = source.live
    ? predictions?.opens !== "as_is"
    : (source.has?.(predictionsRequest("masked", topK)) ?? false);
  return there ? "masked" : (predictions?.mode ?? "as_is");
}

/** Predictions of a slice `predictions`. */
export function slicedPredictions({ data, arrays }: Slice): Predictions {
  const { mode, top_k, ...named } = data as Pick<
    Predictions,
    "mode" | "vocabulary" | "beginnings"
  > & { top_k: number };
  const collected = collect(mode, top_k, named, arrays);
  if (collected === null)
    throw new TypeError("A reply of kind predictions lacks one of its arrays.");
  return collected;
}

/** The rows of `piece`, which begin at position `start`, among those of `whole`, all `n` positions. */
export function place(
  whole: Predictions | null,
  piece: Predictions,
  start: number,
  n: number,
): Predictions {
  const placed: Partial<Record<keyof typeof NAMES, NdArray>> = {};
  for (const key of Object.keys(NAMES) as (keyof typeof NAMES)[]) {
    const { data, shape } = piece[key];
    const width = data.length / itemAt(shape, 0);
    const all = new (data.constructor as Float64ArrayConstructor)(n * width);
    if (whole !== null) all.set(whole[key].data);
    all.set(data, start * width);
    placed[key] = { data: all, shape: [n, ...shape.slice(1)] };
  }
  return {
    ...piece,
    surprisal: null,
    ...(placed as Record<keyof typeof NAMES, NdArray>),
    known: new Set([...(whole?.known ?? []), ...[...piece.known].map((row) => start + row)]),
    vocabulary: { ...whole?.vocabulary, ...piece.vocabulary },
    beginnings: [...(whole?.beginnings ?? []), ...(piece.beginnings ?? [])],
  };
}

/** Tokens that one request runs through the model: about 1 s of bert-base on two cores. */
const TOKENS_PER_PIECE = 1_024;
const MAX_ROWS_PER_PIECE = 4;
/** Tokens that run without a click, about 16 s of bert-base: all positions of 128 tokens, 32 of 512. */
export const TOKENS_UNASKED = 16_384;

/**
 * Rows `[start, stop)` of the requests for masked predictions of `n` positions: that of `first`, those that follow it, and
 * those before it; without rows that are `known`. Always the same pieces: those that were answered once are answered from
 * the cache.
 */
export function piecesOf(
  n: number,
  first = 0,
  known: ReadonlySet<number> = new Set(),
): (readonly [start: number, stop: number])[] {
  const rows = Math.min(Math.max(Math.floor(TOKENS_PER_PIECE / n), 1), MAX_ROWS_PER_PIECE);
  const count = Math.ceil(n / rows);
  const pieces: (readonly [number, number])[] = [[first, first + 1]];
  for (let i = 0; i < count; i++) {
    const start = ((Math.floor(first / rows) + i) % count) * rows;
    pieces.push([start, Math.min(start + rows, n)]);
  }
  return pieces.filter(([start, stop]) => {
    for (let row = start; row < stop; row++) if (!known.has(row)) return true;
    return false;
  });
}

/** Columns of the token that stands at a position: of a decoder, as the position before predicts it (NaN at the first). */
function ofToken(predictions: Predictions): readonly [string, (position: number) => number][] {
  const { mode, originalRank, originalProbability, surprisal } = predictions;
  const columns: [string, NdArray | null][] = [
    ["rank", originalRank],
    ["probability", originalProbability],
    ...(mode === "next" ? [["surprisal", surprisal] satisfies [string, NdArray | null]] : []),
  ];
  return columns.map(([name, array]) =>
    mode === "next"
      ? [`token_${name}`, (position) => array?.data[position - 1] ?? Number.NaN]
      : [`original_${name}`, (position) => itemAt(required(array, name).data, position)],
  );
}

/** Every guess, by position and rank. */
export function predictionsTable(
  predictions: Predictions,
  tokens: TokenColumns,
  special: boolean,
): Table {
  const { topK, known, ids, probabilities, logits, vocabulary } = predictions;
  const more = ofToken(predictions);
  const rows: (string | number)[][] = [];
  for (const position of [...known].sort((a, b) => a - b)) {
    if (tokens.special[position] && !special) continue;
    for (let k = 0; k < topK; k++) {
      const at = position * topK + k;
      const id = itemAt(ids.data, at);
      rows.push([
        ...[position, itemAt(tokens.text, position), k + 1, vocabulary[id] ?? String(id)],
        ...[itemAt(probabilities.data, at), itemAt(logits.data, at)],
        ...more.map(([, value]) => value(position)),
      ]);
    }
  }
  return {
    columns: [
      ...["position", "token", "rank", "prediction", "probability", "logit"],
      ...more.map(([name]) => name),
    ],
    rows,
  };
}

export interface Entry {
  readonly id: number;
  readonly token: string;
  readonly logit: number;
  /** `exp(logit - logitMax)` */
  readonly exp: number;
  readonly probability: number;
  /** 1 = the most probable. */
  readonly rank: number;
}

export interface Softmax {
  readonly position: number;
  readonly logitMax: number;
  /** `exp(logit - logitMax)` summed over the vocabulary. */
  readonly sumExp: number;
  readonly vocabSize: number;
  readonly entries: readonly Entry[];
  /** `exp((logit - logitMax) / t)` summed over the vocabulary, at each temperature `t`; none for an encoder. */
  readonly temperatures: readonly (readonly [temperature: number, sum: number])[];
}

/** The softmax of the logits over `temperature`: lower ones sharpen it; at 1 it is the model's own. */
export function atTemperature(softmax: Softmax, temperature: number): Softmax {
  const sum = softmax.temperatures.find(([one]) => one === temperature)?.[1];
  if (sum === undefined || temperature === 1) return softmax;
  const entries = softmax.entries.map((entry) => {
    const exp = Math.exp((entry.logit - softmax.logitMax) / temperature);
    return { ...entry, logit: entry.logit / temperature, exp, probability: exp / sum };
  });
  return { ...softmax, logitMax: softmax.logitMax / temperature, sumExp: sum, entries };
}

export const terms = (softmax: Softmax, entry: Entry): SoftmaxTerms => ({
  token: entry.token,
  logit: entry.logit,
  logitMax: softmax.logitMax,
  exp: entry.exp,
  sumExp: softmax.sumExp,
  probability: entry.probability,
});

/** As much of a softmax as the predictions carry themselves: their own entries. */
export function softmaxOfRow(
  predictions: Predictions,
  position: number,
  vocabSize: number,
): Softmax {
  const { topK, ids, logits, vocabulary } = predictions;
  const logitMax = itemAt(predictions.logitMax.data, position);
  const sumExp = Math.exp(itemAt(predictions.logSumExp.data, position) - logitMax);
  const entries = Array.from({ length: topK }, (_, rank) => {
    const at = position * topK + rank;
    const id = itemAt(ids.data, at);
    const logit = itemAt(logits.data, at);
    const exp = Math.exp(logit - logitMax);
    return {
      id,
      token: vocabulary[id] ?? String(id),
      logit,
      exp,
      probability: exp / sumExp,
      rank: rank + 1,
    };
  });
  return { position, logitMax, sumExp, vocabSize, entries, temperatures: [] };
}

/** The target that explains an entry: against the likeliest other one. */
export function targetOf({ position, entries }: Softmax, chosen: Entry, mode: Mode): Target {
  const rival = entries.find(({ id }) => id !== chosen.id);
  return {
    position,
    token: chosen.id,
    ...(rival === undefined ? {} : { against: rival.id }),
    ...(mode === "masked" ? { masked: true } : {}),
  };
}

/** Ask for the most probable entries, or for one token. */
const softmaxRequest = (mode: Mode, position: number, tokenId?: number): SliceRequest => ({
  kind: "softmax",
  position,
  ...(mode === "as_is" ? {} : { mode }),
  ...(tokenId === undefined ? {} : { token_ids: [tokenId] }),
});

/** Softmax of a slice `softmax`. */
export function slicedSoftmax({ data }: Slice): Softmax {
  const { position, logit_max, sum_exp, vocab_size, entries, temperatures } = data as {
    position: number;
    logit_max: number;
    sum_exp: number;
    vocab_size: number;
    entries: Entry[];
    temperatures?: Softmax["temperatures"];
  };
  return {
    position,
    logitMax: logit_max,
    sumExp: sum_exp,
    vocabSize: vocab_size,
    entries: [...entries].sort((a, b) => a.rank - b.rank || a.id - b.id),
    temperatures: temperatures ?? [],
  };
}

/** The softmax of a position with the entry of a token, which may lie beyond the likeliest; null without it. */
export async function wholeSoftmax(
  source: Source,
  mode: Mode,
  position: number,
  tokenId: number,
  signal: AbortSignal,
): Promise<{ readonly softmax: Softmax; readonly chosen: Entry } | null> {
  // Equal requests are cached: choosing another term asks nothing again.
  const ask = async (token?: number): Promise<Softmax> =>
    slicedSoftmax(await source.ask(softmaxRequest(mode, position, token), { signal }));
  const softmax = await ask();
  const chosen =
    softmax.entries.find(({ id }) => id === tokenId) ?? (await ask(tokenId)).entries[0];
  return chosen === undefined ? null : { softmax, chosen };
}

/** Surprisal over the positions where a token follows: its mean, bits, and the perplexity; null without one. */
export function surpriseOf({
  surprisal,
}: Pick<Predictions, "surprisal">): { readonly mean: number; readonly perplexity: number } | null {
  const finite = Array.from(surprisal?.data ?? []).filter((bits) => !Number.isNaN(bits));
  if (finite.length === 0) return null;
  const mean = finite.reduce((sum, bits) => sum + bits, 0) / finite.length;
  return { mean, perplexity: 2 ** mean };
}

/** Number of positions whose first choice is the original token, among `counted`, in a sentence. */
export function hitsOf(
  { known, originalRank, mode, surprisal }: Predictions,
  counted: readonly number[],
): string {
  const seen = counted.filter((i) => known.has(i));
  const hits = seen.filter((i) => originalRank.data[i] === 1).length;
  const surprise = surpriseOf({ surprisal });
  if (mode === "next" && surprise !== null) {
    // Nothing follows the last token.
    const followed = seen.filter((i) => itemAt(originalRank.data, i) > 0).length;
    return (
      `First choice is the token that follows at ${formatCount(hits)} of ${formatCount(followed)} positions. ` +
      `Mean surprisal ${formatNumber(surprise.mean)} bits, perplexity ${formatNumber(surprise.perplexity)}.`
    );
  }
  return `First choice is the original token at ${formatCount(hits)} of ${formatCount(seen.length)} positions.`;
}
