/** Texts whose links between words tell nothing, and why. */

import { itemAt } from "../protocol/required";
import type { TokenColumns } from "../protocol/types";
import { type Unit, unitsOf } from "./derive/units";
import { isFunctionWord } from "./function-words";

const UNKNOWN = /^(\[UNK\]|<unk>)$/;
const MASK = /^(\[MASK\]|<mask>)$/;
const LETTER = /[\p{L}\p{N}]/u;
/** Scripts without spaces: every token is a word. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

export const isUnknown = (text: string): boolean => UNKNOWN.test(text);
export const isMask = (text: string): boolean => MASK.test(text);

/** The words of a text, without special and unknown tokens and punctuation; pieces are joined. */
export function wordsOf(tokens: TokenColumns): Unit[] {
  const { text, surface, before, special } = tokens;
  const counts = surface.map(
    (piece, i) => !special[i] && LETTER.test(piece) && !isUnknown(itemAt(text, i)),
  );
  let word = -1;
  const tokenWord = surface.map((piece, i) => {
    if (!counts[i]) return null;
    return counts[i - 1] && before[i] === "" && !UNSPACED.test(piece) ? word : ++word;
  });
  return unitsOf(tokens, { special: false, tokenWord }).filter(({ token }) => counts[token]);
}

/** Why the links of a text tell nothing about it, in a sentence; null where they may. */
export function nothingToSee(tokens: TokenColumns): string | null {
  const plain = tokens.text.filter((_, i) => tokens.special[i] !== true);
  if (plain.length === 0 || tokens.text.some(isMask)) return null;
  if (plain.every(isUnknown))
    return "The model knows no word of this text, so its links tell nothing.";
  const words = wordsOf(tokens).map(({ surface }) => surface.trim().toLowerCase());
  if (words.length === 0) return "This text has no word, so its links tell nothing.";
  if (words.length === 1) return "This text is a single word, so it has no link between words.";
  if (new Set(words).size === 1)
    return "This text repeats one word, so its links tell places alone.";
  return words.every(isFunctionWord)
    ? "This text has only function words, so its links tell little."
    : null;
}
