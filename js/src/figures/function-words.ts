/**
 * English function words: what stands in nearly every text and says little about one. Sentences and openings use the same
 * words without waiting for a tagger. Word pieces of contractions count (*don ' t*).
 */

import { ELSEWHERE, FUNCTION_WORDS } from "../catalog/function-words";

/** A word as the list has it, without what a tokenizer writes before it. */
export const isFunctionWord = (word: string): boolean =>
  FUNCTION_WORDS.has(word.replace(/^(?:##|[ĠĊ▁\s])+/u, "").toLowerCase());

/** Function words of German, French and Spanish that are content words in English. */
const ENGLISH: ReadonlySet<string> = new Set(
  "bin con die era hat ma par plus pour sans sin son ton war yo".split(" "),
);

/** A function word of German, French or Spanish, which may be an English word. */
export const isFunctionWordElsewhere = (word: string): boolean => ELSEWHERE.has(word.toLowerCase());

/** A function word of another language, and no English word. */
export const isForeignFunctionWord = (word: string): boolean =>
  isFunctionWordElsewhere(word) && !ENGLISH.has(word.toLowerCase());
