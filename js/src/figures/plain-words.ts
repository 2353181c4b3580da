/** Words that say little of a text, in English and, as far as lists and their length tell, in six other languages. */

import type { TokenColumns } from "../protocol/types";
import { isForeignFunctionWord, isFunctionWord, isFunctionWordElsewhere } from "./function-words";

/** German letters: they tell a text of few words. */
export const UMLAUT = /[äöüß]/u;

/** True of a point or a comma between two digits. */
export function isInNumber(
  { surface, start, end }: Pick<TokenColumns, "surface" | "start" | "end">,
  i: number,
): boolean {
  const text = surface[i];
  return (
    (text === "." || text === ",") &&
    /\p{Nd}$/u.test(surface[i - 1] ?? "") &&
    /^\p{Nd}/u.test(surface[i + 1] ?? "") &&
    end[i - 1] === start[i] &&
    end[i] === start[i + 1]
  );
}

/** Words of up to three letters of a text of another language. */
const SHORT = /^\p{Script=Latin}{1,3}$/u;

/** True of the words of a text with more function words of another language than English ones. */
export function isElsewhere(words: readonly string[]): boolean {
  const count = (is: (word: string) => boolean): number => words.filter(is).length;
  const foreign = words.some(
    (word) => (isForeignFunctionWord(word) && !isFunctionWord(word)) || UMLAUT.test(word),
  );
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
