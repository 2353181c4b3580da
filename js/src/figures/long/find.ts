/** Queries of the find box, and the tokens that they mean. */

import type { TokenColumns } from "../../protocol/types";
import { comparisonIn, headIn } from "../query";

type Query =
  | { readonly kind: "none" }
  | { readonly kind: "head"; readonly layer: number; readonly head: number | "mean" }
  | { readonly kind: "weight"; readonly least: number }
  | { readonly kind: "pos"; readonly tag: string }
  | { readonly kind: "token"; readonly token: number }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "wrong"; readonly reason: string };

/** Universal part-of-speech tags (https://universaldependencies.org/u/pos/). */
const TAGS: readonly string[] = [
  "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ",
  "SYM", "VERB", "X",
]; // biome-ignore format: a table

/** `L3 H5`, `weight > 0.3`, `NOUN`, `#120`, or a text. */
export function parseQuery(
  typed: string,
  { layers, heads, tokens }: { layers: number; heads: number; tokens: number },
): Query {
  const text = typed.trim();
  if (text === "") return { kind: "none" };
  const mean = /^L\s*(\d+)[\s.,·]*mean$/i.exec(text);
  const place =
    mean === null
      ? /^L.*H/i.test(text)
        ? headIn(text)
        : null
      : { layer: Number(mean[1]), head: "mean" as const };
  if (place !== null) {
    const { layer, head } = place;
    if (layer >= layers) return { kind: "wrong", reason: `There are layers 0 to ${layers - 1}.` };
    if (head !== "mean" && head >= heads) {
      return { kind: "wrong", reason: `There are heads 0 to ${heads - 1}.` };
    }
    return { kind: "head", layer, head };
  }
  const comparison = comparisonIn(text);
  if (comparison?.name.toLowerCase() === "weight" && comparison.operator.startsWith(">")) {
    return Number.isFinite(comparison.limit)
      ? { kind: "weight", least: comparison.limit }
      : { kind: "wrong", reason: "After weight > comes a number, such as 0.3." };
  }
  const position = /^#(\d+)$/.exec(text);
  if (position !== null) {
    const token = Number(position[1]);
    return token < tokens
      ? { kind: "token", token }
      : { kind: "wrong", reason: `There are positions 0 to ${tokens - 1}.` };
  }
  const tag = text.replace(/^pos:\s*/i, "");
  if (TAGS.includes(tag) || (tag !== text && TAGS.includes(tag.toUpperCase()))) {
    return { kind: "pos", tag: tag.toUpperCase() };
  }
  return { kind: "text", text };
}

/** Tokens `[from, to)` of every place where the text stands, upper and lower case alike; at most `most`. */
export function findText(
  tokens: TokenColumns,
  text: string,
  most = 2000,
): (readonly [number, number])[] {
  const matches: (readonly [number, number])[] = [];
  const n = tokens.text.length;
  // The text as it stands, and the token of each of its characters.
  const parts: string[] = [];
  const starts: number[] = [];
  let length = 0;
  for (let i = 0; i < n; i++) {
    const piece = tokens.special[i]
      ? "\u0000"
      : `${(tokens.before[i] ?? "").replace(/\s+/g, " ")}${tokens.surface[i] ?? ""}`;
    starts.push(length);
    parts.push(piece);
    length += piece.length;
  }
  const whole = parts.join("").toLowerCase();
  const sought = text.replace(/\s+/g, " ").toLowerCase();
  if (sought === "") return matches;
  const tokenAt = (character: number): number => {
    let [low, high] = [0, n - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] as number) <= character) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  for (let at = whole.indexOf(sought); at >= 0; at = whole.indexOf(sought, at + sought.length)) {
    // A space before a token belongs to it: a match of a word begins behind it.
    matches.push([tokenAt(at), tokenAt(at + sought.length - 1) + 1]);
    if (matches.length >= most) break;
  }
  return matches;
}

/** Tokens of words with a part of speech, in runs. */
export function findTag(
  tags: readonly (string | null)[],
  tag: string,
): (readonly [number, number])[] {
  const matches: (readonly [number, number])[] = [];
  for (let i = 0; i < tags.length; i++) if (tags[i] === tag) matches.push([i, i + 1]);
  return matches;
}
