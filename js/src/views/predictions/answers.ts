/** The model's answer at a position, as its row shows it. */

import { type TokenLabel, type TokenScheme, tokenLabel } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import type { Predictions } from "./data";

/** A cell of a row: the rank of a guess, or what else stands there. */
export type Column = "token" | "mask" | "original" | number;

export interface Guess {
  readonly id: number;
  readonly label: TokenLabel;
  readonly probability: number;
  /** Whether it is the token that stands in the text. */
  readonly original: boolean;
}

export interface Answer {
  /** The token of the text, its rank and its probability. */
  readonly original: Guess & { readonly rank: number };
  /** The most probable first. */
  readonly guesses: readonly Guess[];
}

/** The token of the text that is masked at a position. */
export const maskedAt = ({ masked }: Meta, position: number) =>
  masked.find(({ token }) => token === position);

/** The entry of the vocabulary that stands in the text at a position. */
export const originalIdAt = (meta: Meta, position: number): number =>
  maskedAt(meta, position)?.id ?? itemAt(meta.tokens.id, position);

export function answerAt(
  predictions: Predictions,
  position: number,
  meta: Meta,
  scheme: TokenScheme,
): Answer {
  const { topK, ids, probabilities, vocabulary, originalRank, originalProbability } = predictions;
  const { text, surface } = meta.tokens;
  const was = maskedAt(meta, position);
  const originalId = originalIdAt(meta, position);
  return {
    original: {
      id: originalId,
      label:
        was === undefined
          ? tokenLabel(itemAt(text, position), scheme, surface[position])
          : tokenLabel(was.text, scheme),
      probability: itemAt(originalProbability.data, position),
      rank: itemAt(originalRank.data, position),
      original: true,
    },
    guesses: Array.from({ length: topK }, (_, k) => {
      const id = itemAt(ids.data, position * topK + k);
      return {
        id,
        label: tokenLabel(vocabulary[id] ?? String(id), scheme),
        probability: itemAt(probabilities.data, position * topK + k),
        original: id === originalId,
      };
    }),
  };
}
