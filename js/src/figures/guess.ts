/**
 * Names of the tokens that a decoder may write next: one without a space goes on with the word before, and one that begins a word
 * may be only a piece of it.
 */

import type { TokenColumns } from "../protocol/types";
import { type TokenScheme, tokenLabel } from "./format";
import { isFunctionWord } from "./function-words";
import { LETTER, UNSPACED } from "./nothing-to-see";
import { continues } from "./whole-words";

export interface Guessed {
  /** A word as far as is known; what begins one; what goes on with the word before; a mark or a control token. */
  readonly kind: "word" | "begins" | "continues" | "mark";
  /** `Lisbon`, `Bras…`, `unforgiving`. */
  readonly name: string;
}

/** Endings that complete a word of two letters or more; other tokens so short leave it open. */
const ENDING = /^(?:s|es|y|ly|ed|d|er|al|en|['’]\p{L}+)$/u;
/** A letter or two, or digits, of which many vocabularies have one each. */
const SHORT = /^(?:\p{L}\p{M}*){1,2}$|^\p{N}+$/u;
/** A control token, or bytes that are part of a character. */
const CONTROL = /^(?:[[<⟨].|bytes )/u;
/** A control token that ends a turn or a text. */
const END = /^<[^>]*(?:end|eos|eot|\/s)/i;

/** True of a name with a letter or a digit, of no control token and no bytes. */
const isSaid = (name: string): boolean => !CONTROL.test(name) && LETTER.test(name);

export const isEnd = (token: string): boolean => END.test(token);

/** True of a control token that begins something, as that of the next turn does. */
export const isStart = (token: string): boolean =>
  /^<\|?[a-z_]+\|?>$/i.test(token) && !isEnd(token);

/** The word of which a token is a piece, up to this token: `unfor` of `un`, `for`. Empty behind a mark or a special token. */
export function wordUpTo(tokens: TokenColumns, position: number): string {
  const { special, surface } = tokens;
  if (special[position] !== false || !LETTER.test(surface[position]?.slice(-1) ?? "")) return "";
  let from = position;
  while (continues(tokens, from)) from--;
  return surface.slice(from, position + 1).join("");
}

/** Name of the token after which a decoder goes on: with the pieces before it, and open where the text goes on with the word. */
export function placeName(tokens: TokenColumns, position: number, name: string): string {
  const written = wordUpTo(tokens, position);
  return `${written || name}${written !== "" && continues(tokens, position + 1) ? "…" : ""}`;
}

/** True if a beginning of a word is a word of the text; null where the text does not have it. */
function isWordOf(tokens: TokenColumns, name: string): boolean | null {
  const { surface } = tokens;
  const places = surface.flatMap((text, i) =>
    text.trim() === name && !continues(tokens, i) && i + 1 < surface.length ? [i] : [],
  );
  return places.length === 0 ? null : places.some((i) => !continues(tokens, i + 1));
}

/** A token that a decoder may write after `position`; `beginnings`: tokens whose letters no list of words has. */
export function guessAfter(
  token: string,
  scheme: TokenScheme,
  tokens: TokenColumns,
  position: number,
  beginnings: readonly string[] = [],
): Guessed {
  const { text, word } = tokenLabel(token, scheme);
  const name = word ?? text;
  const marked = scheme === "byte-level" || scheme === "metaspace";
  if (!isSaid(name)) return { kind: "mark", name };
  if (!marked || UNSPACED.test(name)) return { kind: "word", name };
  const written = /^[Ġ▁]/u.test(token) ? "" : wordUpTo(tokens, position);
  if (written !== "" && /^['’]?[\p{L}\p{N}]/u.test(name)) {
    const open = name.length < 3 && !ENDING.test(name);
    return { kind: "continues", name: `${written}${name}${open ? "…" : ""}` };
  }
  const known = isWordOf(tokens, name);
  const whole =
    isFunctionWord(name) || (known ?? !(SHORT.test(name) || beginnings.includes(token)));
  return whole ? { kind: "word", name } : { kind: "begins", name: `${name}…` };
}
