/** How far the numbers of a saved page may be off (attn_widget/export/codec.py). */

import { formatNumber } from "../draw/format";
import type { Precision } from "../types";

/** Half a unit of float32, in which the page computes. */
const FLOAT = 1e-7;

export interface Errors {
  readonly code: "weights" | "qk";
  readonly levels: number | null;
  readonly error: number;
  readonly score_error: number | null;
  readonly rollout_error: number | null;
}

export function precisionOf({
  code,
  levels,
  error,
  score_error,
  rollout_error,
}: Errors): Precision {
  // Scores off by at most e change the ratio of two exponentials by at most a factor of exp(2 e).
  const relative = Math.expm1(2 * (score_error ?? 0));
  // Both bounds are concave: that of a mean is at most the bound at the mean.
  const one = (value: number): number => {
    const size = Math.max(value, 0);
    const own =
      code === "weights" && levels !== null
        ? Math.sqrt(size) / levels + 0.25 / levels ** 2
        : size * relative;
    return Math.min(error, own) + FLOAT * size;
  };
  const upTo = (most: number): string => `± ${formatNumber(most, 1)}`;
  return {
    weight: (value, terms = 1) => terms * one(value / terms),
    rollout: rollout_error ?? error,
    score: code === "qk" ? (score_error ?? 0) : 0,
    note:
      `weights to ${upTo(rounded(error))}` +
      (code === "qk" && score_error !== null ? `, scores to ${upTo(rounded(score_error))}` : ""),
  };
}

/** Up to the next digit, so that the bound as it is written holds. */
function rounded(error: number): number {
  const unit = 10 ** Math.floor(Math.log10(error));
  return Number((Math.ceil(error / unit - 1e-9) * unit).toPrecision(1));
}
