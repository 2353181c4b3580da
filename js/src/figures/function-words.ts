/**
 * English function words: what stands in nearly every text and says little about one. Sentences and openings use the same
 * words without waiting for a tagger. Word pieces of contractions count (*don ' t*).
 */

import { ALSO_ENGLISH, ELSEWHERE, FUNCTION_WORDS } from "../catalog/function-words";

/** A word as the list has it, without what a tokenizer writes before it. */
export const isFunctionWord = (word: string): boolean =>
  FUNCTION_WORDS.has(word.replace(/^(?:##|[ĠĊ▁\s])+/u, "").toLowerCase());

/** A function word of another language (German, French, Spanish, Italian, Portuguese, Dutch), and no English content word. */
export const isForeignFunctionWord = (word: string): boolean => ELSEWHERE.has(word.toLowerCase());

/** A function word of another language, which may be an English word. */
export const isFunctionWordElsewhere = (word: string): boolean =>
  isForeignFunctionWord(word) || ALSO_ENGLISH.has(word.toLowerCase());
