/** The masked-LM head's answers as the page has them, and one softmax opened up. */

import { formatCount } from "../../figures/format";
import type { SoftmaxTerms } from "../../figures/formulas";
import type { Table } from "../../figures/table";
import { itemAt } from "../../protocol/required";
import type {
  NdArray,
  Slice,
  SliceRequest,
  Source,
  Target,
  TokenColumns,
} from "../../protocol/types";

export type Mode = "as_is" | "masked";

export interface Predictions {
  readonly mode: Mode;
  readonly topK: number;
  /** Positions `[0, done)` are here; the others have not been asked for, or not been answered. */
  readonly done: number;
  /** Token text by id. */
  readonly vocabulary: Readonly<Record<string, string>>;
  /** `[n, topK]`, most probable first. */
  readonly ids: NdArray;
  readonly probabilities: NdArray;
  readonly logits: NdArray;
  /** `[n]` */
  readonly logitMax: NdArray;
  readonly logSumExp: NdArray;
  readonly originalRank: NdArray;
  readonly originalProbability: NdArray;
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
  vocabulary: Readonly<Record<string, string>>,
  arrays: ReadonlyMap<string, NdArray>,
): Predictions | null {
  const columns: Partial<Record<keyof typeof NAMES, NdArray>> = {};
  for (const [key, name] of Object.entries(NAMES) as [keyof typeof NAMES, string][]) {
    const array = arrays.get(name);
    if (array === undefined) return null;
    columns[key] = array;
  }
  const all = columns as Record<keyof typeof NAMES, NdArray>;
  return { mode, topK, done: all.logitMax.data.length, vocabulary, ...all };
}

/** Those of the first paint; null when it has none. */
export function paintedPredictions({ meta, arrays }: Source): Predictions | null {
  const { predictions } = meta;
  return (
    predictions && collect(predictions.mode, predictions.top_k, predictions.vocabulary, arrays)
  );
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

/** The mode that the view opens on: masked where a kernel is quick enough for it, or a saved page has it. */
export function openingMode(source: Source, topK: number): Mode {
  const { predictions, masked } = source.meta;
  if (masked.length > 0) return predictions?.mode ?? "as_is";
  const there = source.live
    ? predictions?.opens === "masked"
    : (source.has?.(predictionsRequest("masked", topK)) ?? false);
  return there ? "masked" : (predictions?.mode ?? "as_is");
}

/** Those of a slice `predictions`. */
export function slicedPredictions({ data, arrays }: Slice): Predictions {
  const { mode, top_k, vocabulary } = data as {
    mode: Mode;
    top_k: number;
    vocabulary: Readonly<Record<string, string>>;
  };
  const collected = collect(mode, top_k, vocabulary, arrays);
  if (collected === null)
    throw new TypeError("A reply of kind predictions lacks one of its arrays.");
  return collected;
}

/** Rows of `piece` behind those of `whole`. */
export function append(whole: Predictions | null, piece: Predictions): Predictions {
  if (whole === null) return piece;
  const joined: Partial<Record<keyof typeof NAMES, NdArray>> = {};
  for (const key of Object.keys(NAMES) as (keyof typeof NAMES)[]) {
    const [a, b] = [whole[key], piece[key]];
    const data = new (a.data.constructor as Float64ArrayConstructor)(a.data.length + b.data.length);
    data.set(a.data);
    data.set(b.data, a.data.length);
    joined[key] = { data, shape: [itemAt(a.shape, 0) + itemAt(b.shape, 0), ...a.shape.slice(1)] };
  }
  return {
    ...whole,
    ...(joined as Record<keyof typeof NAMES, NdArray>),
    done: whole.done + piece.done,
    vocabulary: { ...whole.vocabulary, ...piece.vocabulary },
  };
}

/** Tokens that one request runs through the model: about 2 s of bert-base on two cores. */
const TOKENS_PER_PIECE = 2_048;
const MAX_ROWS_PER_PIECE = 16;

/**
 * Rows `[start, stop)` of the requests for masked predictions of `n` positions, from `done` on. Always the same pieces:
 * those that were answered once are answered from the cache.
 */
export function piecesOf(n: number, done = 0): (readonly [start: number, stop: number])[] {
  const rows = Math.min(Math.max(Math.floor(TOKENS_PER_PIECE / n), 1), MAX_ROWS_PER_PIECE);
  const pieces: (readonly [number, number])[] = [];
  for (let start = done; start < n; start += rows) pieces.push([start, Math.min(start + rows, n)]);
  return pieces;
}

/** Every guess, by position and rank. */
export function predictionsTable(
  predictions: Predictions,
  tokens: TokenColumns,
  special: boolean,
): Table {
  const { topK, done, ids, probabilities, logits, vocabulary } = predictions;
  const rows: (string | number)[][] = [];
  for (let position = 0; position < done; position++) {
    if (tokens.special[position] && !special) continue;
    for (let k = 0; k < topK; k++) {
      const at = position * topK + k;
      const id = itemAt(ids.data, at);
      rows.push([
        ...[position, itemAt(tokens.text, position), k + 1, vocabulary[id] ?? String(id)],
        ...[itemAt(probabilities.data, at), itemAt(logits.data, at)],
        ...[
          itemAt(predictions.originalRank.data, position),
          itemAt(predictions.originalProbability.data, position),
        ],
      ]);
    }
  }
  return {
    columns: [
      ...["position", "token", "rank", "prediction", "probability", "logit"],
      ...["original_rank", "original_probability"],
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
  return { position, logitMax, sumExp, vocabSize, entries };
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
export const softmaxRequest = (mode: Mode, position: number, tokenId?: number): SliceRequest => ({
  kind: "softmax",
  position,
  ...(mode === "masked" ? { mode } : {}),
  ...(tokenId === undefined ? {} : { token_ids: [tokenId] }),
});

/** That of a slice `softmax`. */
export function slicedSoftmax({ data }: Slice): Softmax {
  const { position, logit_max, sum_exp, vocab_size, entries } = data as {
    position: number;
    logit_max: number;
    sum_exp: number;
    vocab_size: number;
    entries: Entry[];
  };
  return {
    position,
    logitMax: logit_max,
    sumExp: sum_exp,
    vocabSize: vocab_size,
    entries: [...entries].sort((a, b) => a.rank - b.rank || a.id - b.id),
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
  // Equal requests are cached: choosing another term asks nothing anew.
  const ask = async (token?: number): Promise<Softmax> =>
    slicedSoftmax(await source.slice(softmaxRequest(mode, position, token), { signal }));
  const softmax = await ask();
  const chosen =
    softmax.entries.find(({ id }) => id === tokenId) ?? (await ask(tokenId)).entries[0];
  return chosen === undefined ? null : { softmax, chosen };
}

/** How often the first choice is the token that stands there, in a sentence. */
export function hitsOf(
  { done, originalRank }: Predictions,
  { special }: Pick<TokenColumns, "special">,
  withSpecial: boolean,
): string {
  const seen = special.flatMap((one, i) => (i >= done || (one && !withSpecial) ? [] : [i]));
  const hits = seen.filter((i) => originalRank.data[i] === 1).length;
  return `First choice is the original token at ${formatCount(hits)} of ${formatCount(seen.length)} positions.`;
}
