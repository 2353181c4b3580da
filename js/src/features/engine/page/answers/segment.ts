/**
 * Words and sentences of a text without a tagger, as `attn_widget/language/words.py` and `segment.py` find them.
 *
 * Spans are code points `[start, end)`.
 */

import { isMarker, unitStarts } from "./lines";

export type Span = readonly [start: number, end: number];

// White space of Python's `str.isspace` that `\s` lacks, and what `\s` has beyond it.
const MORE_SPACE = "\u001c\u001d\u001e\u001f\u0085";
const NO_SPACE = "\ufeff";
/** Written without spaces: character by character, or by what stands together. */
const SINGLE = /[\p{Script=Han}\p{Script=Hiragana}]/u;
const CLUSTERS = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const MARK = /^\p{M}$/u;
/** A full stop, white space, and what looks like a beginning. */
const PLAIN_ENDS = /[.!?…]+[\p{Pe}\p{Pf}"']*\s+(?=[\p{Pi}\p{Ps}"']*[\p{Lu}\p{Lt}\p{N}])/gu;
const OTHER_ENDS = /[。！？｡؟۔।॥։።]+[\p{Pe}\p{Pf}"']*/gu;

const wordBounds = new Intl.Segmenter("und", { granularity: "word" });
const clusterBounds = new Intl.Segmenter("und", { granularity: "grapheme" });

const isSpace = (character: string): boolean =>
  MORE_SPACE.includes(character) || (character !== NO_SPACE && /^\s$/u.test(character));

const lengthOf = (text: string): number => Array.from(text).length;

/** A span without white space at its ends; start and end are the same if nothing is left. */
export function trim(characters: readonly string[], [start, end]: Span): Span {
  let [first, last] = [start, end];
  while (first < last && isSpace(characters[first] as string)) first++;
  while (first < last && isSpace(characters[last - 1] as string)) last--;
  return [first, last];
}

/** Each character with the marks that follow it. */
function singly(text: string): string[] {
  const clusters: string[] = [];
  for (const character of text) {
    if (MARK.test(character) && clusters.length > 0) clusters.push(`${clusters.pop()}${character}`);
    else clusters.push(character);
  }
  return clusters;
}

function piecesOf(segment: string): readonly string[] {
  if (SINGLE.test(segment)) return singly(segment);
  if (CLUSTERS.test(segment))
    return Array.from(clusterBounds.segment(segment), ({ segment: one }) => one);
  return [segment];
}

/** Words and punctuation marks, without white space, in order. */
export function wordsOf(text: string): Span[] {
  const characters = Array.from(text);
  const spans: Span[] = [];
  let at = 0;
  for (const { segment } of wordBounds.segment(text)) {
    for (const piece of piecesOf(segment)) {
      const end = at + lengthOf(piece);
      const word = trim(characters, [at, end]);
      if (word[0] < word[1]) spans.push(word);
      at = end;
    }
  }
  return spans;
}

/** Words that no token crosses, and the word of each token; words without a token are left out. */
export function align(
  text: string,
  spans: readonly Span[],
): { readonly words: readonly Span[]; readonly wordOf: readonly (number | null)[] } {
  const characters = Array.from(text);
  const parts = wordsOf(text);
  const joined = parts.map(() => false);
  const firsts = spans.map((span) => {
    const [start, end] = trim(characters, span);
    if (start === end) return null;
    const first = parts.findIndex((part) => part[1] > start);
    let last = first;
    while (last + 1 < parts.length && (parts[last + 1] as Span)[0] < end) last++;
    for (let k = first; k < last; k++) joined[k] = true;
    return first;
  });
  const merged: Span[] = [];
  const mergedOf = parts.map((part, k) => {
    const before = merged[merged.length - 1];
    if (k > 0 && joined[k - 1] && before !== undefined)
      merged[merged.length - 1] = [before[0], part[1]];
    else merged.push(part);
    return merged.length - 1;
  });
  const belongs = firsts.map((first) => (first === null ? null : (mergedOf[first] ?? null)));
  const used = [...new Set(belongs.filter((belong) => belong !== null))].sort((a, b) => a - b);
  return {
    words: used.map((word) => merged[word] as Span),
    wordOf: belongs.map((word) => (word === null ? null : used.indexOf(word))),
  };
}

/** Starts of sentences in a text whose line breaks end none. */
function startsOf(unit: string): number[] {
  const others = [...unit.matchAll(OTHER_ENDS)].filter((end) => {
    // 「はい。」と言った。: the sentence around a quotation goes on.
    const after = unit.charAt(end.index + end[0].length);
    return /[。！？｡؟۔।॥։።]$/u.test(end[0]) || after === "" || !"と、，,".includes(after);
  });
  const ends = [...unit.matchAll(PLAIN_ENDS), ...others];
  const starts = new Set([0, ...ends.map((end) => end.index + end[0].length)]);
  const cuts = [...starts].sort((a, b) => a - b).filter((cut) => cut === 0 || cut < unit.length);
  return cuts.filter((cut, k) => k === 0 || !isMarker(unit.slice(cuts[k - 1], cut)));
}

/** Contiguous sentences that cover the text, each with something to see in it. */
export function sentencesOf(text: string): Span[] {
  const characters = Array.from(text);
  if (text.trim() === "") return [];
  // UTF-16 places to code points.
  const place = (at: number): number => lengthOf(text.slice(0, at));
  const units = unitStarts(text);
  const starts = units.flatMap((begin, k) =>
    startsOf(text.slice(begin, units[k + 1] ?? text.length)).map((start) => place(begin + start)),
  );
  const cuts = [...new Set([0, ...starts, characters.length])].sort((a, b) => a - b);
  const visible = (span: Span): boolean => {
    const [start, end] = trim(characters, span);
    return start < end;
  };
  const tiles: Span[] = [];
  for (let i = 0; i + 1 < cuts.length; i++) {
    const span: Span = [cuts[i] as number, cuts[i + 1] as number];
    const before = tiles[tiles.length - 1];
    if (before !== undefined && !(visible(span) && visible(before)))
      tiles[tiles.length - 1] = [before[0], span[1]];
    else tiles.push(span);
  }
  return tiles;
}
