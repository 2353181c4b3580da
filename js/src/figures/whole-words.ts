/** Words of a text that say something: whole ones, and those that are no function words. */

import type { TokenColumns } from "../protocol/types";
import { LETTER, namesOf, UNSPACED } from "./nothing-to-see";
import { plainIn } from "./plain-words";

/** True for the second and later tokens of a word. */
const continues = ({ text, surface, before, special }: TokenColumns, i: number): boolean => {
  const [piece, last] = [surface[i] ?? "", surface[i - 1] ?? ""];
  return (
    !special[i] &&
    !special[i - 1] &&
    before[i] === "" &&
    !/^[\sĠ▁]/u.test(text[i] ?? "") &&
    /^[\p{L}\p{N}]/u.test(piece) &&
    /[\p{L}\p{N}]$/u.test(last) &&
    !UNSPACED.test(piece)
  );
};

/** True of a piece of *don't*, *what'll*: “t” and “ll” with or without the apostrophe, and “don” before it. */
export function isContracted({ surface, before }: TokenColumns, i: number): boolean {
  const at = (k: number): string => (before[k] === "" ? (surface[k] ?? "") : "");
  const behind = /^['’](?:s|t|re|ve|ll|d|m)$/i;
  return (
    behind.test(at(i)) ||
    behind.test(at(i - 1) + at(i)) ||
    /^['’]t$/i.test(at(i + 1)) ||
    (/^['’]$/.test(at(i + 1)) && /^t$/i.test(at(i + 2)))
  );
}

/** True of tokens that are a word of the text, and no mark, no piece and no boilerplate. */
export const isWhole = (tokens: TokenColumns, i: number, end = i + 1): boolean =>
  LETTER.test(tokens.surface[i] ?? "") &&
  !tokens.boilerplate?.[i] &&
  !continues(tokens, i) &&
  !continues(tokens, end) &&
  !isContracted(tokens, i);

/** Tells the words of a text that say something from its function words, in its language. */
export function contentOf(tokens: TokenColumns): (word: string) => boolean {
  const names = namesOf(tokens);
  const plain = plainIn(names);
  const little = new Set(names.filter((_, i) => plain[i]));
  return (word) => !little.has(word.trim().toLowerCase());
}
