/** Slices of predictions and classes; a saved page answers shorter lists, and the softmax of a position, out of the longest list it has. */

import { needsKernel } from "../failure";
import type { Meta } from "../meta";
import { arrayOf, itemAt } from "../required";
import type { SavedRun } from "../saved/run";
import type { Answers, HeadIndex, Knows, NdArray, RequestOf, Rows, Slice } from "../slice";

type OfMode = { readonly mode?: "as_is" | "masked" | "next" };

export interface PredictionFields {
  readonly predictions: OfMode & { readonly top_k?: number } & Rows;
  readonly softmax: OfMode & {
    readonly position: number;
    readonly token_ids?: readonly number[] | null;
  };
  readonly class_gradient: { readonly label: number; readonly head: HeadIndex };
}

/** The first `top_k` predictions of every position. */
export function shorterList({ data, arrays }: Slice, top_k: number): Slice {
  const cut = [...arrays].map(([name, array]): [string, NdArray] => {
    const [n, k] = array.shape;
    if (n === undefined || k === undefined || k <= top_k) return [name, array];
    const kept = array.data.filter((_, i) => i % k < top_k);
    return [name, { data: kept, shape: [n, top_k] }];
  });
  return { data: { ...data, top_k }, arrays: new Map(cut) };
}

/** The best tokens of a position, or the ones asked for; null where one of these is not among them. */
function softmaxOf(
  list: Slice,
  { position, token_ids }: PredictionFields["softmax"],
  { masked, tokens, model }: Meta,
): Slice | null {
  const ids = arrayOf(list, "prediction_ids");
  const k = itemAt(ids.shape, 1);
  const vocabulary = list.data.vocabulary as Readonly<Record<string, string>>;
  const own = (name: string): number => itemAt(arrayOf(list, name).data, position);
  const max = own("logit_max");
  const logSumExp = own("log_sum_exp");
  const entry = (id: number, token: string, logit: number, rank: number) => ({
    id,
    token,
    logit,
    exp: Math.exp(logit - max),
    probability: Math.exp(logit - logSumExp),
    rank,
  });
  const logits = arrayOf(list, "prediction_logits").data;
  const entries = Array.from({ length: k }, (_, i) => {
    const at = position * k + i;
    const id = itemAt(ids.data, at);
    return entry(id, vocabulary[id] ?? "", itemAt(logits, at), i + 1);
  });
  const hidden = masked.find(({ token }) => token === position);
  const original = hidden?.id ?? itemAt(tokens.id, position);
  if (!entries.some(({ id }) => id === original)) {
    const logit = Math.log(own("original_probability")) + logSumExp;
    const text = hidden?.text ?? itemAt(tokens.text, position);
    entries.push(entry(original, text, logit, own("original_rank")));
  }
  const wanted = token_ids == null ? entries.slice(0, k) : [];
  for (const id of token_ids ?? []) {
    const entry = entries.find((entry) => entry.id === id);
    if (entry === undefined) return null;
    wanted.push(entry);
  }
  return {
    data: {
      position,
      logit_max: max,
      sum_exp: Math.exp(logSumExp - max),
      log_sum_exp: logSumExp,
      vocab_size: model.vocab_size,
      entries: wanted,
    },
    arrays: new Map(),
  };
}

/** The longest list of predictions that was recorded. */
const longestList = (run: SavedRun, mode = "as_is"): Slice | null =>
  run.best<RequestOf<PredictionFields, "predictions">>("predictions", (recorded) =>
    (recorded.mode ?? "as_is") === mode ? (recorded.top_k ?? 0) : -1,
  );

export const PREDICTIONS = {
  predictions(run, { mode, top_k, rows }) {
    const longest = longestList(run, mode);
    if (longest === null || rows != null || top_k === undefined) {
      throw needsKernel(mode === "masked" ? "Masked prediction" : "This prediction");
    }
    return shorterList(longest, top_k);
  },
  softmax(run, request) {
    const longest = longestList(run, request.mode);
    if (longest === null) throw needsKernel("This softmax");
    const opened = softmaxOf(longest, request, run.meta);
    if (opened === null) throw needsKernel("That token's logit");
    return opened;
  },
  class_gradient(_run, { head }) {
    throw needsKernel(
      head === "mean" ? "The gradient of this class" : "The effect of one head on a class",
    );
  },
} satisfies Answers<SavedRun, PredictionFields>;

export const HAS_PREDICTIONS: Knows<SavedRun, PredictionFields> = {
  predictions: (run, { mode, rows }) => rows == null && longestList(run, mode) !== null,
};
