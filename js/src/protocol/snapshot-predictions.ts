/** Predictions of a saved page: shorter lists, and the softmax of a position, out of the longest list it has. */

import { arrayOf, itemAt } from "./required";
import type { Meta, NdArray, Slice, SliceRequest } from "./types";

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
export function softmaxOf(
  list: Slice,
  { position, token_ids }: SliceRequest<"softmax">,
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
