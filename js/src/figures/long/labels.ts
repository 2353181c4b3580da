/** Labels of a long axis at every level: tokens, words, sentences, paragraphs and headings. */

import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";
import { textOf } from "../derive/units";
import type { Range } from "./levels";

export type LabelLevel = "tokens" | "words" | "sentences" | "paragraphs";

/** Tokens `[from, to)` under one label. */
export interface Span {
  readonly from: number;
  readonly to: number;
  /** Larger ones are labelled first: headings before paragraphs. */
  readonly rank: number;
}

export interface Outline {
  readonly words: readonly Span[];
  readonly sentences: readonly Span[];
  readonly paragraphs: readonly Span[];
  /** Median number of tokens of a label of each level; infinite where there is none. */
  readonly lengths: Readonly<Record<LabelLevel, number>>;
}

/** Characters of a label, as it is cut before it is measured. */
const LABEL_MAX = 48;
/** A paragraph of at most so many tokens without an end of a sentence is a heading. */
const HEADING_TOKENS = 16;

const endsSentence = (text: string): boolean => /[.!?…。！？]["'”’)\]]*$/.test(text);

/** Consecutive tokens between the places where `begins` says so; special tokens stand alone. */
function spansOf(tokens: TokenColumns, begins: (i: number) => boolean): Span[] {
  const n = tokens.text.length;
  const spans: Span[] = [];
  let from = 0;
  for (let i = 1; i <= n; i++) {
    const breaks = i === n || tokens.special[i] || tokens.special[i - 1] || begins(i);
    if (!breaks) continue;
    spans.push({ from, to: i, rank: 0 });
    from = i;
  }
  return spans;
}

/** Words and paragraphs by white space, sentences as `sentence` has them, or by their final mark. */
export function outlineOf(
  tokens: TokenColumns,
  sentence: readonly (number | null)[] | null = null,
): Outline {
  const before = (i: number): string => tokens.before[i] ?? "";
  const other = (i: number): boolean => tokens.segment[i] !== tokens.segment[i - 1];
  const paragraph = (i: number): boolean => other(i) || /\n/.test(before(i));
  const paragraphs = spansOf(tokens, paragraph).map((span) => ({
    ...span,
    rank: isHeading(tokens, span) ? 1 : 0,
  }));
  const words = spansOf(tokens, (i) => other(i) || /\s/.test(before(i)));
  const sentences = spansOf(tokens, (i) =>
    sentence === null
      ? paragraph(i) || (/\s/.test(before(i)) && endsSentence(itemAt(tokens.surface, i - 1)))
      : paragraph(i) || sentence[i] !== sentence[i - 1],
  );
  const lengths = {
    tokens: 1,
    words: medianLength(words),
    sentences: medianLength(sentences),
    paragraphs: medianLength(paragraphs),
  };
  return { words, sentences, paragraphs, lengths };
}

function isHeading(tokens: TokenColumns, { from, to }: Span): boolean {
  if (tokens.special[from] || to - from > HEADING_TOKENS) return false;
  return (
    itemAt(tokens.surface, from).startsWith("#") || !endsSentence(textOf(tokens, from, to).trim())
  );
}

/** The text of a span on one line. */
export function labelOf(tokens: TokenColumns, { from, to }: Pick<Span, "from" | "to">): string {
  if (tokens.special[from]) return itemAt(tokens.text, from);
  const end = Math.min(to, from + LABEL_MAX);
  // A heading of Markdown without its marks.
  const text = textOf(tokens, from, end).replace(/\s+/g, " ").trim().replace(/^#+ /, "");
  const characters = [...text];
  return characters.length > LABEL_MAX || end < to
    ? `${characters.slice(0, LABEL_MAX).join("").trimEnd()}…`
    : text;
}

/** Median length of spans, in tokens; infinite where there are none. */
function medianLength(spans: readonly Span[]): number {
  if (spans.length === 0) return Number.POSITIVE_INFINITY;
  const lengths = spans.map(({ from, to }) => to - from).sort((a, b) => a - b);
  return itemAt(lengths, Math.floor(lengths.length / 2));
}

/** The finest level of which a typical label has `gap` pixels; paragraphs where none has. */
export function labelLevel(
  { lengths }: Pick<Outline, "lengths">,
  pixels: number,
  gap: number,
): LabelLevel {
  const order = ["tokens", "words", "sentences"] as const;
  return order.find((level) => lengths[level] * pixels >= gap) ?? "paragraphs";
}

/** Spans that touch a range: they are in order. */
export function spansIn(spans: readonly Span[], [from, to]: Range): readonly Span[] {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (itemAt(spans, middle).to <= from) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < spans.length && itemAt(spans, end).from < to) end++;
  return spans.slice(low, end);
}

export interface Placed extends Span {
  /** Position of the label, px on the axis. */
  readonly at: number;
}

/**
 * The labels that are written, at least `gap` px apart: every one in sight where there is room, else by rank and
 * then by length. A span is labelled at its beginning, or at the edge that cuts it; a short one in its middle.
 */
export function placeLabels(
  spans: readonly Span[],
  position: (token: number) => number,
  [low, high]: Range,
  gap: number,
): Placed[] {
  const placed = spans
    .map((span) => {
      const [a, b] = [Math.max(position(span.from), low), Math.min(position(span.to), high)];
      return { ...span, at: b - a < 2 * gap ? (a + b) / 2 : a + gap / 2 };
    })
    .filter(({ at }) => at >= low && at <= high);
  const weightiest = [...placed].sort(
    (a, b) => b.rank - a.rank || b.to - b.from - (a.to - a.from) || a.from - b.from,
  );
  const slots = new Map<number, number[]>();
  const chosen: Placed[] = [];
  for (const label of weightiest) {
    const slot = Math.floor(label.at / gap);
    const near = [slot - 1, slot, slot + 1].flatMap((near_slot) => slots.get(near_slot) ?? []);
    if (near.some((at) => Math.abs(at - label.at) < gap)) continue;
    slots.set(slot, [...(slots.get(slot) ?? []), label.at]);
    chosen.push(label);
  }
  return chosen.sort((a, b) => a.from - b.from);
}
