/** The position of which the sentence above the list speaks, and at whose row the list opens. */

import { isMask, isUnknown } from "../../figures/nothing-to-see";
import { isElsewhere, plainIn } from "../../figures/plain-words";
import { isWhole } from "../../figures/whole-words";
import { firstLargest } from "../../protocol/ties";
import type { Meta, TokenColumns } from "../../protocol/types";
import type { Predictions } from "./data";

/** A word of less probability, or a later one, is a surprise. */
const SURPRISES = { below: 0.01, beyond: 10 };
export const isSurprise = ({
  probability,
  rank,
}: {
  readonly probability: number;
  readonly rank: number;
}): boolean => probability < SURPRISES.below || rank > SURPRISES.beyond;

type Text = Pick<Meta, "tokens" | "masked">;

/** Positions that the reader has masked, in the text or with the list's buttons. */
const masksOf = ({ tokens, masked }: Text): readonly number[] =>
  tokens.text.flatMap((text, i) =>
    isMask(text) || masked.some(({ token }) => token === i) ? [i] : [],
  );

/** Positions at which the model can be right: the text has a known token there. */
export const countedIn = ({ tokens, masked }: Text): readonly number[] =>
  tokens.text.flatMap((text, i) => {
    const written = masked.some(({ token }) => token === i) || !isMask(text);
    return tokens.special[i] === true || isUnknown(text) || !written ? [] : [i];
  });

/**
 * The first mask that the reader wrote; of a decoder the last position, after which it would go on; else the whole word
 * that the model finds least probable. Null where none is known among `shown`.
 */
export function subjectOf(
  { mode, known, originalProbability }: Predictions,
  shown: readonly number[],
  meta: Text,
): number | null {
  const there = new Set(shown.filter((i) => known.has(i)));
  if (mode === "next")
    return there.has(meta.tokens.text.length - 1) ? meta.tokens.text.length - 1 : null;
  const mask = masksOf(meta).find((i) => there.has(i));
  if (mask !== undefined) return mask;
  const counted = countedIn(meta).filter((i) => there.has(i));
  const whole = counted.filter((i) => isWhole(meta.tokens, i));
  const names = whole.map((i) => (meta.tokens.surface[i] ?? "").trim().toLowerCase());
  const plain = plainIn(names);
  // English function words may surprise; of another language the list knows but some.
  const content = isElsewhere(names) ? whole.filter((_, k) => !plain[k]) : whole;
  const words = content.length > 0 ? content : whole.length > 0 ? whole : counted;
  return words[firstLargest(words.map((i) => -(originalProbability.data[i] ?? 0)))] ?? null;
}

/**
 * The position before the word that surprises a decoder most, no mark and no piece; the first word comes after none, and the
 * second after one. With it of what this is the most, where a word that is left out surprises more; null where none is.
 */
export function mostSurprising(
  { surprisal }: Pick<Predictions, "surprisal">,
  tokens: TokenColumns,
): { readonly position: number; readonly of: string } | null {
  const { special, boilerplate } = tokens;
  const bits = Array.from(surprisal?.data ?? [], (value, i) =>
    Number.isNaN(value) || special[i + 1] || boilerplate?.[i + 1] ? -1 : value,
  );
  const told = bits.map((value, i) => (i === 0 || !isWhole(tokens, i + 1) ? -1 : value));
  const position = firstLargest(told);
  const most = told[position] ?? -1;
  if (most < 0) return null;
  const more = (i: number): boolean => (bits[i] ?? -1) > most;
  const pieces = bits.some((_, i) => i > 0 && more(i));
  const first = special[0]
    ? "word"
    : isWhole(tokens, 0) && isWhole(tokens, 1)
      ? "two words"
      : "two tokens";
  const after = more(0) ? `after the first ${first}` : "";
  return {
    position,
    of: pieces ? `of the words of one token ${after && `${after}, `}` : after && `${after}, `,
  };
}
