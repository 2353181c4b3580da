/**
 * English function words: what stands in nearly every text and says little about one. Sentences and openings use the same
 * words without waiting for a tagger. Word pieces of contractions count (*don ' t*).
 */

import { ALSO_ENGLISH, ELSEWHERE, FUNCTION_WORDS } from "../catalog/function-words";

/** The word before a contraction, *I* of *I'm* and *don* of *don't*; other words as they are. */
export const uncontracted = (word: string): string => {
  const base = word.replace(/['’](?:m|s|re|ve|ll|d|t)$/, "");
  return FUNCTION_WORDS.has(base) ? base : word;
};

/** A word as the list has it, without what a tokenizer writes before it. */
export const isFunctionWord = (word: string): boolean =>
  FUNCTION_WORDS.has(uncontracted(word.replace(/^(?:##|[ĠĊ▁\s])+/u, "").toLowerCase()));

/** A function word of another language (German, French, Spanish, Italian, Portuguese, Dutch), and no English content word. */
export const isForeignFunctionWord = (word: string): boolean => ELSEWHERE.has(word.toLowerCase());

/** A function word of another language, which may be an English word. */
export const isFunctionWordElsewhere = (word: string): boolean =>
  isForeignFunctionWord(word) || ALSO_ENGLISH.has(word.toLowerCase());
