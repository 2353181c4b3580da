/** Texts whose links between words tell nothing, and why. */

import { itemAt } from "../protocol/required";
import type { TokenColumns } from "../protocol/types";
import { type Unit, unitsOf } from "./derive/units";
import { areFunctionWords, isElsewhere, isInNumber, plainIn } from "./plain-words";

const UNKNOWN = /^(\[UNK\]|<unk>)$/;
const MASK = /^(\[MASK\]|<mask>)$/;
export const LETTER = /[\p{L}\p{N}]/u;
/** Scripts without spaces: every token is a word. */
export const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

export const isUnknown = (text: string): boolean => UNKNOWN.test(text);
export const isMask = (text: string): boolean => MASK.test(text);

/** True where the model knows no token of a text (special ones do not count). */
export function knowsNoWord({ text, special }: TokenColumns): boolean {
  const plain = text.filter((_, i) => special[i] !== true);
  return plain.length > 0 && plain.every(isUnknown);
}

/** The words of a text, without special and unknown tokens, boilerplate and punctuation; pieces are joined. */
export function wordsOf(tokens: TokenColumns): Unit[] {
  const { text, surface, before, special, boilerplate } = tokens;
  const counts = surface.map(
    (piece, i) =>
      !special[i] &&
      !boilerplate?.[i] &&
      !isUnknown(itemAt(text, i)) &&
      (LETTER.test(piece) || isInNumber(tokens, i)),
  );
  let word = -1;
  const tokenWord = surface.map((piece, i) => {
    if (!counts[i]) return null;
    return counts[i - 1] && before[i] === "" && !UNSPACED.test(piece) ? word : ++word;
  });
  return unitsOf(tokens, { special: false, tokenWord }).filter(({ token }) => counts[token]);
}

/** The words of a text in small letters. */
export const namesOf = (tokens: TokenColumns): string[] =>
  wordsOf(tokens).map(({ surface }) => surface.trim().toLowerCase());

const languages = new WeakMap<TokenColumns, boolean>();

/** True of a text in German, French or Spanish, by its function words. */
export function isOfElsewhere(tokens: TokenColumns): boolean {
  const known = languages.get(tokens) ?? isElsewhere(namesOf(tokens));
  languages.set(tokens, known);
  return known;
}

const isCharacter = (written: string): boolean =>
  UNSPACED.test(written) && Array.from(written.trim()).length === 1;

/** `The model knows 2 of the 9 characters of this text`, where it knows less than half of them; null where it knows more. */
function knowsFew(tokens: TokenColumns): string | null {
  const { text, surface, special } = tokens;
  const known = wordsOf(tokens).map((word) => word.surface);
  const unknown = surface.filter((_, i) => special[i] !== true && isUnknown(itemAt(text, i)));
  if (unknown.length <= known.length) return null;
  const all = [...known, ...unknown];
  const characters = all.filter(isCharacter).length;
  const units =
    characters === 0 ? "words" : characters === all.length ? "characters" : "words and characters";
  return `The model knows ${known.length} of the ${all.length} ${units} of this text`;
}

/** Why what a model makes of the words of a text tells little; null where it may tell. */
export function saysLittle(tokens: TokenColumns): string | null {
  const words = wordsOf(tokens);
  if (words.length === 0) return "This text has no word that the model knows";
  const few = knowsFew(tokens);
  if (few !== null) return few;
  const names = namesOf(tokens);
  if (areFunctionWords(names)) return "This text has only function words";
  if (isOfCharacters(tokens)) return null;
  const isPieces = ({ token, end }: Unit): boolean => end - token > 1;
  if (words.every(isPieces)) return "The model knows no word of this text as a whole, only pieces";
  // A model of English has the function words of other languages, and pieces of the rest.
  const plain = plainIn(names);
  const whole = words.filter((word, i) => !plain[i] && !isPieces(word));
  return isOfElsewhere(tokens) && words.some(isPieces) && whole.length === 0
    ? "The model has no content word of this text as one token"
    : null;
}

/** Why the links of a text tell nothing about it, in a sentence; null where they may. */
export function nothingToSee(tokens: TokenColumns): string | null {
  const plain = tokens.text.filter((_, i) => tokens.special[i] !== true);
  if (plain.length === 1 && isMask(itemAt(plain, 0)))
    return "This text is a single [MASK], so it has no link between words.";
  if (plain.length === 0 || tokens.text.some(isMask)) return null;
  if (knowsNoWord(tokens))
    return "The model knows no word of this text, so its links tell nothing.";
  const words = namesOf(tokens);
  const little = saysLittle(tokens);
  if (knowsFew(tokens) === null) {
    if (words.length === 0) return "This text has no word, so its links tell nothing.";
    if (words.length === 1) return "This text is a single word, so it has no link between words.";
    if (new Set(words).size === 1)
      return "This text repeats one word, so its links only show positions.";
  }
  return little && `${little}, so its links tell little.`;
}

/** True where a model reads characters and no pieces of words: `##` before one is a piece's. */
const isOfCharacters = ({ text, special }: TokenColumns): boolean =>
  text.every((token, i) => special[i] === true || Array.from(token).length === 1);
