/** The model's answer at a position, as its row shows it. */

import { type TokenLabel, type TokenScheme, tokenLabel } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import type { Mode, Predictions } from "./data";

/** A cell of a row: the rank of a guess, or what else stands there. */
export type Column = "token" | "mask" | "original" | number;

export interface Guess {
  readonly id: number;
  /** As the tokenizer writes it. */
  readonly token: string;
  readonly label: TokenLabel;
  readonly probability: number;
  /** The token is that of the text. */
  readonly original: boolean;
}

export interface Answer {
  /** The token of the text (of a decoder the one that follows), its rank and its probability; null where none follows. */
  readonly original: (Guess & { readonly rank: number; readonly bits: number | null }) | null;
  /** The most probable first. */
  readonly guesses: readonly Guess[];
}

/** The token of the text that is masked at a position. */
export const maskedAt = ({ masked }: Meta, position: number) =>
  masked.find(({ token }) => token === position);

/** The entry of the vocabulary that stands in the text at a position. */
const originalIdAt = (meta: Meta, position: number): number =>
  maskedAt(meta, position)?.id ?? itemAt(meta.tokens.id, position);

/** The entry that the text has where the head at a position predicts; null after the last token. */
export const answeredId = (mode: Mode, meta: Meta, position: number): number | null =>
  mode === "next" ? (meta.tokens.id[position + 1] ?? null) : originalIdAt(meta, position);

export function answerAt(
  predictions: Predictions,
  position: number,
  meta: Meta,
  scheme: TokenScheme,
): Answer {
  const { topK, ids, probabilities, vocabulary, originalRank, originalProbability } = predictions;
  const { text, surface } = meta.tokens;
  const was = maskedAt(meta, position);
  const at = predictions.mode === "next" ? position + 1 : position;
  const originalId = answeredId(predictions.mode, meta, position);
  return {
    original:
      originalId === null
        ? null
        : {
            id: originalId,
            token: was?.text ?? itemAt(text, at),
            label:
              was === undefined
                ? tokenLabel(itemAt(text, at), scheme, surface[at])
                : tokenLabel(was.text, scheme),
            probability: itemAt(originalProbability.data, position),
            rank: itemAt(originalRank.data, position),
            bits: predictions.surprisal?.data[position] ?? null,
            original: true,
          },
    guesses: Array.from({ length: topK }, (_, k) => {
      const id = itemAt(ids.data, position * topK + k);
      const token = vocabulary[id] ?? String(id);
      return {
        id,
        token,
        label: tokenLabel(token, scheme),
        probability: itemAt(probabilities.data, position * topK + k),
        original: id === originalId,
      };
    }),
  };
}
