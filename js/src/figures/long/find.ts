/** Queries of the find box, and the tokens that they mean. */

import type { TokenColumns } from "../../protocol/types";

export type Query =
  | { readonly kind: "none" }
  | { readonly kind: "head"; readonly layer: number; readonly head: number | "mean" }
  | { readonly kind: "weight"; readonly least: number }
  | { readonly kind: "pos"; readonly tag: string }
  | { readonly kind: "token"; readonly token: number }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "wrong"; readonly reason: string };

/** Universal part-of-speech tags (https://universaldependencies.org/u/pos/). */
export const TAGS: readonly string[] = [
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
  const head = /^L\s*(\d+)[\s.,·]*(?:H\s*(\d+)|mean)$/i.exec(text);
  if (head !== null) {
    const layer = Number(head[1]);
    if (layer >= layers) return { kind: "wrong", reason: `There are layers 0 to ${layers - 1}.` };
    if (head[2] === undefined) return { kind: "head", layer, head: "mean" };
    if (Number(head[2]) >= heads) {
      return { kind: "wrong", reason: `There are heads 0 to ${heads - 1}.` };
    }
    return { kind: "head", layer, head: Number(head[2]) };
  }
  const weight = /^weight\s*(?:>=?|≥)\s*(.*)$/i.exec(text);
  if (weight !== null) {
    const least = Number(weight[1]?.replace(",", "."));
    return Number.isFinite(least) && weight[1] !== ""
      ? { kind: "weight", least }
      : { kind: "wrong", reason: "After weight > comes a number, such as 0.3." };
  }
  const place = /^#(\d+)$/.exec(text);
  if (place !== null) {
    const token = Number(place[1]);
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
