/** The head's last answer at a mask, or of a decoder after a token, and the layer from which on it is that (logit lens). */

import { isMask } from "../../figures/nothing-to-see";
import { askLens } from "../../figures/targets";
import { arrayOf, itemAt } from "../../protocol/required";
import type { SliceRequest, Source } from "../../protocol/types";

export interface Reading {
  /** The token that is read. */
  readonly position: number;
  readonly word: string;
  /** The first state from which on the word ranks first; 0 is the embeddings, then the output of each layer. */
  readonly from: number;
  /** Its rank in the state before. */
  readonly before: number;
  /** True if the word follows the token. */
  readonly next: boolean;
}

/** From which state on a rank stays 1; null where it ends as another one. */
function stateOfLast(ranks: ArrayLike<number>): number | null {
  let from = ranks.length;
  while (from > 0 && ranks[from - 1] === 1) from--;
  return from === ranks.length ? null : from;
}

/** Null for a plain word of an encoder, which every layer reads as itself, and where the page has no answer. */
export async function askReading(
  source: Source,
  position: number,
  signal: AbortSignal,
): Promise<Reading | null> {
  const { tokens, masked, model } = source.meta;
  const next = model.predicts === "next";
  const hidden =
    isMask(tokens.text[position] ?? "") || masked.some(({ token }) => token === position);
  if (!model.has.mlm || (!next && !hidden)) return null;
  const mode = next ? "next" : "as_is";
  const request = { kind: "predictions", mode, top_k: 1, rows: [position, position + 1] } as const;
  const has = (asked: SliceRequest): boolean => source.has?.(asked) ?? source.live;
  if (!has(request)) return null;
  const { arrays } = await source.ask(request, { signal });
  const target = { position, token: itemAt(arrayOf({ arrays }, "prediction_ids").data, 0) };
  if (!has({ kind: "logit_lens", target })) return null;
  const { word, ranks } = await askLens(source, target, signal);
  const from = stateOfLast(ranks);
  return from === null ? null : { position, word, from, before: ranks[from - 1] ?? 1, next };
}
