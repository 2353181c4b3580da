/** Words that say little of a text, in English and, as far as lists and their length tell, in six other languages. */

import { isForeignFunctionWord, isFunctionWord, isFunctionWordElsewhere } from "./function-words";

/** Words of up to three letters of a text of another language. */
const SHORT = /^\p{Script=Latin}{1,3}$/u;

/** True of the words of a text with more function words of another language than English ones. */
export function isElsewhere(words: readonly string[]): boolean {
  const count = (is: (word: string) => boolean): number => words.filter(is).length;
  const foreign = words.some((word) => isForeignFunctionWord(word) && !isFunctionWord(word));
  return foreign && count(isFunctionWordElsewhere) > count(isFunctionWord);
}

/** True where all words of a text are function words of its language. */
export function areFunctionWords(words: readonly string[]): boolean {
  const elsewhere = isElsewhere(words);
  return words.every(
    (word) => isFunctionWord(word) || (elsewhere && isFunctionWordElsewhere(word)),
  );
}

/** Which of the words of a text, in small letters, say little. */
export function plainIn(words: readonly string[]): readonly boolean[] {
  const elsewhere = isElsewhere(words);
  return words.map(
    (word) =>
      isFunctionWord(word) || (elsewhere && (SHORT.test(word) || isFunctionWordElsewhere(word))),
  );
}
