/** Parts of a classifier's answer: the most probable span, softmaxes over positions, and its table. */

import { type Classification, columnOf, type SoftmaxColumn } from "../../figures/classes";
import { textOf } from "../../figures/derive/units";
import type { Table } from "../../figures/table";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { HeadIndex, SliceRequest, TokenColumns } from "../../protocol/types";

export const firstTokenRequest = (head: HeadIndex): SliceRequest => ({ kind: "first_token", head });

/** The softmax over the positions: of where an answer starts (0) or ends (1). */
export const positionsOf = (
  found: Classification,
  boundary: number,
  names: readonly string[],
): SoftmaxColumn => columnOf(names, found, boundary, (i) => i * found.labels.length + boundary);

export interface Span {
  readonly start: number;
  /** Inclusive. */
  readonly end: number;
  readonly probability: number;
}

/**
 * The most probable answer: the largest `P(start) P(end)` with the start not after the end, both in the
 * text that is searched (the second segment of a pair). Null where there is no such token.
 */
export function bestSpan(
  { probabilities, labels, rows }: Classification,
  { special, segment }: TokenColumns,
): Span | null {
  const width = labels.length;
  const segments = new Set(segment.filter((_, i) => !special[i]));
  const searched = Math.max(...segments);
  const starts = Array.from({ length: rows }, (_, i) =>
    special[i] || segment[i] !== searched ? Number.NaN : itemAt(probabilities, i * width),
  );
  let likeliest = -Infinity;
  const products = starts.map((own, i) => {
    if (own > likeliest) likeliest = own;
    return Number.isNaN(own) ? own : likeliest * itemAt(probabilities, i * width + 1);
  });
  const end = firstLargest(products);
  if (end < 0) return null;
  const start = firstLargest(starts.slice(0, end + 1));
  return { start, end, probability: itemAt(products, end) };
}

/** The text of an answer, as it stands in the input. */
export const spanText = (tokens: TokenColumns, { start, end }: Span): string =>
  textOf(tokens, start, end + 1);

export function classesTable(found: Classification): Table {
  const { labels, task, activation, logits, exp, sum, probabilities } = found;
  const finiteOrNull = (value = Number.NaN): number | null =>
    Number.isFinite(value) ? value : null;
  const rows = Array.from(logits, (logit, at) => {
    const [row, label] = [Math.floor(at / labels.length), at % labels.length];
    const own = activation === "softmax" && task !== "question_answering" ? row : label;
    const figures = [exp[at], sum[own], probabilities[at]].map((value) => finiteOrNull(value));
    return [row, itemAt(labels, label), logit, ...figures] as const;
  });
  return { columns: ["row", "label", "logit", "exp", "sum", "probability"], rows };
}
