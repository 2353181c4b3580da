/** A classifier's answer: classes, their softmax, and the digits with which it closes. */

import { itemAt } from "../protocol/required";
import { firstLargest } from "../protocol/ties";
import type { Slice, SliceRequest } from "../protocol/types";
import { shown } from "./format";

type TaskKind = "sequence" | "token" | "question_answering";
/** One class of all; each label by itself; the value as it is (regression). */
type Activation = "softmax" | "sigmoid" | "identity";

export interface Classification {
  readonly task: TaskKind;
  readonly activation: Activation;
  /** Facts that the checkpoint leaves unspecified; usually empty. */
  readonly note: string;
  readonly labels: readonly string[];
  /** Texts (one), tokens, or positions. */
  readonly rows: number;
  /** `[rows, labels]`. */
  readonly logits: Float32Array;
  readonly exp: Float32Array;
  readonly probabilities: Float32Array;
  /** `[rows]`; of question answering, whose softmax runs over positions, `[labels]`; else of each label. */
  readonly sum: Float64Array;
}

/** One softmax: its terms in the model's order. */
export interface SoftmaxColumn {
  readonly activation: Activation;
  readonly labels: readonly string[];
  readonly logits: readonly number[];
  /** `exp(logit - max)`; of a sigmoid `exp(-logit)`. */
  readonly exp: readonly number[];
  readonly sum: number;
  readonly probabilities: readonly number[];
  readonly logitMax: number;
  /** Index of the largest term. */
  readonly best: number;
}

/** One term of a softmax: a class, or a position. */
export interface SoftmaxTerm {
  readonly label: string;
  readonly logit: number;
  readonly exp: number;
  readonly probability: number;
}

export const termOf = (column: SoftmaxColumn, index: number): SoftmaxTerm => ({
  label: itemAt(column.labels, index),
  logit: itemAt(column.logits, index),
  exp: itemAt(column.exp, index),
  probability: itemAt(column.probabilities, index),
});

/** The column with some of its terms alone; its sum and its largest logit stay. */
export const withTerms = (column: SoftmaxColumn, terms: readonly SoftmaxTerm[]): SoftmaxColumn => ({
  ...column,
  labels: terms.map(({ label }) => label),
  logits: terms.map(({ logit }) => logit),
  exp: terms.map(({ exp }) => exp),
  probabilities: terms.map(({ probability }) => probability),
});

export const CLASSIFICATION: SliceRequest = { kind: "classification" };
export function slicedClasses({ data, arrays }: Slice): Classification {
  const labels = data.labels as readonly string[];
  const floats = (name: string): Float32Array =>
    (arrays.get(name)?.data ?? new Float32Array(0)) as Float32Array;
  const logits = floats("logits");
  return {
    task: data.task as TaskKind,
    // The next-sentence head is always a softmax and does not say so.
    activation: (data.activation ?? "softmax") as Activation,
    note: typeof data.note === "string" ? data.note : "",
    labels,
    rows: logits.length / labels.length,
    logits,
    exp: floats("exp"),
    probabilities: floats("probabilities"),
    sum: (arrays.get("sum")?.data ?? new Float64Array(0)) as Float64Array,
  };
}

/** One softmax of many: its sum has the place `own`, its terms those that `at` gives. */
export function columnOf(
  labels: readonly string[],
  { activation, logits, exp, probabilities, sum }: Classification,
  own: number,
  at: (index: number) => number,
): SoftmaxColumn {
  // A regression has logits alone.
  const pick = (values: Float32Array): number[] =>
    labels.map((_, i) => values[at(i)] ?? Number.NaN);
  const picked = pick(logits);
  const logitMax = picked.reduce((most, value) => Math.max(most, value), -Infinity);
  return {
    activation,
    labels,
    logits: picked,
    exp: pick(exp),
    sum: sum[own] ?? Number.NaN,
    probabilities: pick(probabilities),
    logitMax,
    best: firstLargest(picked),
  };
}

/** The softmax over the classes of one text or token. */
export const classesOf = (found: Classification, row: number): SoftmaxColumn =>
  columnOf(found.labels, found, row, (i) => row * found.labels.length + i);

export interface ColumnDigits {
  /** Decimals of the logits. */
  readonly logit: number;
  /** Significant digits of the exponentials and of their sum. */
  readonly exp: number;
  readonly sum: number;
}

const RESULT_DIGITS = 3;
/** float32 has no more. */
const MAX_DIGITS = 7;

/**
 * The fewest digits with which a reader's own calculation closes: exponentials from the printed logits,
 * their sum from the printed exponentials, probabilities from both.
 */
export function closingColumn(
  { logits, logitMax, exp, sum, probabilities }: SoftmaxColumn,
  /** Exponentials that are summed up in one line "others". */
  rest = 0,
): ColumnDigits {
  const adds = (d: number, s: number): boolean =>
    shown(
      exp.reduce((total, value) => total + shown(value, d), shown(rest, d)),
      s,
    ) === shown(sum, s);
  const divides = (d: number, s: number): boolean =>
    exp.every(
      (value, i) =>
        shown(shown(value, d) / shown(sum, s), RESULT_DIGITS) ===
        shown(itemAt(probabilities, i), RESULT_DIGITS),
    );
  let digits = { exp: MAX_DIGITS, sum: MAX_DIGITS - 1 };
  search: for (let s = RESULT_DIGITS; s < MAX_DIGITS; s++) {
    for (let d = s; d <= Math.min(s + 2, MAX_DIGITS); d++) {
      if (adds(d, s) && divides(d, s)) {
        digits = { exp: d, sum: s };
        break search;
      }
    }
  }
  const rounded = (value: number, decimals: number): number => Number(value.toFixed(decimals));
  let logit = 2;
  while (
    logit < MAX_DIGITS &&
    !logits.every(
      (value, i) =>
        shown(Math.exp(rounded(value, logit) - rounded(logitMax, logit)), digits.exp) ===
        shown(itemAt(exp, i), digits.exp),
    )
  ) {
    logit++;
  }
  return { logit, ...digits };
}

/** The same of sigmoids: exponentials from the printed logits, probabilities from the printed exponentials. */
export function closingSigmoids({ logits, exp, probabilities }: SoftmaxColumn): ColumnDigits {
  const closes = (d: number): boolean =>
    exp.every(
      (value, i) =>
        !Number.isFinite(value) ||
        shown(1 / (1 + shown(value, d))) === shown(itemAt(probabilities, i)),
    );
  let digits = RESULT_DIGITS;
  while (digits < MAX_DIGITS && !closes(digits)) digits++;
  const follows = (decimals: number): boolean =>
    exp.every(
      (value, i) =>
        !Number.isFinite(value) ||
        shown(Math.exp(-Number(itemAt(logits, i).toFixed(decimals))), digits) ===
          shown(value, digits),
    );
  let logit = 2;
  while (logit < MAX_DIGITS && !follows(logit)) logit++;
  return { logit, exp: digits, sum: digits };
}

interface Odds {
  readonly difference: number;
  readonly ratio: number;
  /** Significant digits of the difference from which the ratio follows as printed. */
  readonly digits: number;
}

/** Odds of one class against another: the difference of logits is the log of the odds. */
export function oddsOf({ logits }: SoftmaxColumn, first: number, second: number): Odds {
  const difference = itemAt(logits, first) - itemAt(logits, second);
  const ratio = Math.exp(difference);
  let digits = RESULT_DIGITS;
  while (digits < MAX_DIGITS && shown(Math.exp(shown(difference, digits))) !== shown(ratio)) {
    digits++;
  }
  return { difference, ratio, digits };
}
