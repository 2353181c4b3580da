/** Format of numbers and tokens: three significant digits, and tokens that stay visible. */

import type { Num } from "../protocol/meta";

const DIGITS = 3;
/** Below this a decimal point hides the digits behind zeros. */
const TINY = 1e-3;
const HUGE = 1e6;
/** Placeholder for a figure that does not exist (N/A). */
export const ABSENT = "–";

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function superscript(exponent: number): string {
  const digits = [...String(Math.abs(exponent))].map((d) => SUPERSCRIPTS[Number(d)]).join("");
  return exponent < 0 ? `⁻${digits}` : digits;
}

function withMinus(text: string): string {
  return text.replace("-", "−");
}

const numberOf = (number: number | Num): Num =>
  typeof number === "number" ? { value: number, error: 0 } : number;

/** The decimal place (power of ten) of the last digit that holds: half a unit of it covers `error`. */
const placeOf = (error: number): number => Math.ceil(Math.log10(2 * error) - 1e-9);

/** `value` to its last digit that holds. */
function roundedTo(value: number, place: number): number {
  if (place < 0) return Number(value.toFixed(Math.min(-place, 100)));
  const unit = 10 ** place;
  return Math.round(value / unit) * unit;
}

/** Largest distance from zero of something of which not one digit holds: one digit, rounded up. */
function bound(value: number, error: number): string {
  const most = Math.abs(value) + error;
  const unit = 10 ** Math.floor(Math.log10(most));
  return `<${formatNumber(Number((Math.ceil(most / unit - 1e-9) * unit).toPrecision(1)), 1)}`;
}

/**
 * A number to `digits` significant digits: `0.123`, `12.3`, `1,234`, `1.20×10⁻⁴`. Digits before the
 * decimal point are never dropped. Where it may be off by its error, no digit is printed that
 * does not hold (to one unit), and what is all error is `<0.0004`.
 */
export function formatNumber(number: number | Num, digits = DIGITS): string {
  const { value, error } = numberOf(number);
  if (Number.isNaN(value)) return ABSENT;
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (error > 0) {
    const place = placeOf(error);
    const rounded = roundedTo(value, place);
    if (rounded === 0) return bound(value, error);
    const holding = Math.floor(Math.log10(Math.abs(rounded)) + 1e-9) - place + 1;
    // Never rounded twice: 3.7554 is 3.76 in three digits, and 3.755 would be 3.75.
    if (holding < digits) return formatNumber(rounded, Math.max(1, holding));
  }
  if (value === 0) return "0";
  const rounded = Math.abs(Number(value.toPrecision(digits)));
  if (rounded < TINY || rounded >= HUGE) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e") as [string, string];
    return withMinus(`${mantissa}×10${superscript(Number(exponent))}`);
  }
  if (rounded >= 10 ** digits) return withMinus(formatCount(Math.round(value)));
  return withMinus(value.toPrecision(digits));
}

/** A whole number with separators: `30,522`. */
export function formatCount(value: number): string {
  // Not toLocaleString: a table of 500 rows would spend most of its time in it.
  return withMinus(value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ","));
}

/** Below this a share is written as `<0.01%`. */
const MIN_PERCENT = 1e-2;

/** A share of 1 in per cent: `45.3%`. What is not all is never written as 100%, nor what is some as 0. */
export function formatPercent(number: number | Num, digits = DIGITS): string {
  const { value: share, error } = numberOf(number);
  if (!Number.isFinite(share)) return ABSENT;
  const percent = share * 100;
  if (error > 0) return `${formatNumber({ value: percent, error: error * 100 }, digits)}%`;
  if (percent < 100 && Number(percent.toPrecision(digits)) >= 100) {
    return `>${(100 - 10 ** (2 - digits)).toFixed(digits - 2)}%`;
  }
  if (percent > 0 && percent < MIN_PERCENT) return `<${MIN_PERCENT}%`;
  return `${formatNumber(percent, digits)}%`;
}

/** A number with its sign, a plus too. */
export const formatSigned = (value: number): string =>
  value > 0 ? `+${formatNumber(value)}` : formatNumber(value);

/** Every digit that holds, for copying and for `data-aw-value`. */
export const exact = (number: number | Num): string => String(roundToError(number));

/** The value without the digits that its error makes worthless. */
export function roundToError(number: number | Num): number {
  const { value, error } = numberOf(number);
  return error > 0 && Number.isFinite(value) ? roundedTo(value, placeOf(error)) + 0 : value;
}

/** The number that `formatNumber` would show, read back. */
export function shown(value: number, digits = DIGITS): number {
  if (!Number.isFinite(value)) return value;
  const rounded = Number(value.toPrecision(digits));
  return Math.abs(rounded) >= 10 ** digits && Math.abs(rounded) < HUGE
    ? Math.round(value)
    : rounded;
}

/** `1st`, `2nd`, `72nd`. */
export function formatOrdinal(rank: number): string {
  const tens = rank % 100;
  const suffix = tens >= 11 && tens <= 13 ? "th" : (["th", "st", "nd", "rd"][rank % 10] ?? "th");
  return `${formatCount(rank)}${suffix}`;
}

/** Scheme by which a vocabulary marks the place of a piece in its word. */
export type TokenScheme = "wordpiece" | "byte-level" | "metaspace" | "plain";

/** Byte of each character of GPT-2's printable alphabet (`bytes_to_unicode`). */
const BYTE_OF: ReadonlyMap<string, number> = (() => {
  const bytes = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    bytes.set(String.fromCodePoint(printable ? byte : next++), byte);
  }
  return bytes;
})();

/** The text of a byte-level token, or null when it is no such token. Part of a character becomes U+FFFD. */
function decodeBytes(token: string): string | null {
  const bytes: number[] = [];
  for (const character of token) {
    const byte = BYTE_OF.get(character);
    if (byte === undefined) return null;
    bytes.push(byte);
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes));
}

/** Before the bytes of a token that is part of a character. */
const BYTES = "bytes ";

function bytesOf(token: string): string {
  return [...token]
    .map((character) => (BYTE_OF.get(character) ?? 0).toString(16).toUpperCase().padStart(2, "0"))
    .join(" ");
}

/**
 * Which scheme a vocabulary follows, judged by some of its tokens (and, where known, the text that
 * each one covers: only byte-level tokens decode to it).
 */
export function tokenScheme(
  tokens: Iterable<string>,
  surfaces: readonly string[] = [],
): TokenScheme {
  let index = 0;
  let scheme: TokenScheme = "plain";
  for (const token of tokens) {
    const surface = surfaces[index++];
    if (token.startsWith("Ġ")) return "byte-level";
    if (token.startsWith("▁")) return "metaspace";
    if (token.startsWith("##") && token.length > 2) scheme = "wordpiece";
    if (surface !== undefined && surface !== token && decodeBytes(token)?.trim() === surface) {
      return "byte-level";
    }
  }
  return scheme;
}

/** Characters that would otherwise leave no mark, or that would reorder their neighbors. */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u00a0\u2000-\u200a\u202f\u3000\u3164\u115f\u1160]/u;
/** Joiners are part of a script or an emoji when something stands on both sides. */
const JOINERS = "\u200c\u200d";

function codeName(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

function visibleCharacter(character: string, index: number, all: readonly string[]): string {
  if (character === " ") return index === 0 || index === all.length - 1 ? "␣" : " ";
  if (character === "\n") return "⏎";
  if (character === "\t") return "⇥";
  if (JOINERS.includes(character) && index > 0 && index < all.length - 1) return character;
  if (!UNSEEN.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return `⟨${codeName(character)}⟩`;
}

/** `text` with spaces at its ends, control and format characters, and emptiness made visible. */
export function visible(text: string): string {
  if (text === "") return "∅";
  const characters = [...text];
  const seen = characters.map(visibleCharacter).join("");
  return /^\p{M}/u.test(seen) ? `◌${seen}` : seen;
}

/** `text` in at most `most` characters. */
export function shorten(text: string, most: number): string {
  const characters = [...text];
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join("")}…`;
}

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export interface TokenLabel {
  /** As the tokenizer has it, every character visible; without its mark of a space, and bytes decoded. */
  readonly text: string;
  /** Readable name; null if `text` is readable already. */
  readonly word: string | null;
}

/**
 * A token as the tokenizer has it, and its readable word: `##ing` and `ing`.
 *
 * Most tokens of a byte-level or SentencePiece vocabulary begin with the mark of a space, which says
 * nothing of the word: `Ġthe` reads `the`, and its title has the token as it is.
 *
 * `surface` is the text that the token covers, where it covers one; without it (a predicted token) the
 * word is read from the token by its vocabulary's `scheme`. A vocabulary without capitals or accents has the
 * text's own: `italy` reads `Italy`.
 */
export function tokenLabel(token: string, scheme: TokenScheme, surface?: string): TokenLabel {
  const piece = scheme === "wordpiece" && token.startsWith("##") ? 2 : 0;
  const written =
    surface && plain(surface) === plain(token.slice(piece))
      ? token.slice(0, piece) + surface
      : token;
  const text = visible(written);
  const word = surface || readable(token, scheme);
  if (word === null || word === "" || word === written) {
    return { text, word: null };
  }
  const shownWord = visible(word);
  const marked = scheme === "byte-level" || scheme === "metaspace";
  if (marked && word === readable(token, scheme) && !word.startsWith(BYTES)) {
    return { text: shownWord, word: null };
  }
  return { text, word: shownWord === text ? null : shownWord };
}

/** A word without capitals and accents. */
export const plain = (word: string): string =>
  word
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();

function readable(token: string, scheme: TokenScheme): string | null {
  switch (scheme) {
    case "wordpiece":
      return token.startsWith("##") && token.length > 2 ? token.slice(2) : null;
    case "metaspace": {
      const word = token.replaceAll("▁", " ");
      return word.trim() === "" ? word : word.trim();
    }
    case "byte-level": {
      const word = decodeBytes(token);
      if (word === null) return null;
      if (word.includes("\ufffd")) return `${BYTES}${bytesOf(token)}`;
      return word.trim() === "" ? word : word.trim();
    }
    case "plain":
      return null;
  }
}

/** Accessible name of a token. */
export function spokenToken(label: TokenLabel): string {
  return label.word ?? label.text;
}
