/** Largest errors of the numbers of a saved page (attn_widget/page/encodings/codec.py). */

import type { Precision } from "../meta";

/** Half a unit of float32, in which the page computes. */
const FLOAT = 1e-7;

export interface Errors {
  /** Null for a profile: its figures are saved with all their digits. */
  readonly code: "weights" | "qk" | null;
  /** Levels of the encoding "weights". */
  readonly levels: number | null;
  /** Levels of the mean of all heads, if saved separately because some heads were left out. */
  readonly mean_levels: number | null;
  /** No weight is off by more. */
  readonly error: number;
  readonly score_error: number | null;
  readonly rollout_error: number | null;
  /** By quantity; absent in pages of earlier versions. */
  readonly mixing_errors?: Readonly<Record<string, number>>;
}

export function precisionOf({
  code,
  levels,
  mean_levels,
  error,
  score_error,
  rollout_error,
  mixing_errors = {},
}: Errors): Precision {
  if (code === null) {
    return { weight: () => 0, rollout: 0, score: 0, note: "figures with all their digits" };
  }
  // Scores off by at most e change the ratio of two exponentials by at most a factor of exp(2 e).
  const relative = Math.expm1(2 * (score_error ?? 0));
  // Both bounds are concave: that of a mean is at most the bound at the mean.
  const boundOf = (value: number, steps: number | null): number => {
    const size = Math.max(value, 0);
    const own = steps !== null ? Math.sqrt(size) / steps + 0.25 / steps ** 2 : size * relative;
    return Math.min(error, own) + FLOAT * size;
  };
  const ofHeads = code === "weights" ? levels : null;
  return {
    weight: (value, terms = 1, meanHead = false) =>
      terms * boundOf(value / terms, meanHead && mean_levels !== null ? mean_levels : ofHeads),
    rollout: rollout_error ?? error,
    mixing: mixing_errors,
    score: code === "qk" ? (score_error ?? 0) : 0,
    note:
      `weights to ± ${roundedUp(error)}` +
      (code === "qk" && score_error !== null ? `, scores to ± ${roundedUp(score_error)}` : "") +
      carried(mixing_errors) +
      "; numbers, also in tables, to one unit of their last digit",
  };
}

/** Each mixing quantity with the larger one of its own error and its rollout's. */
function carried(errors: Readonly<Record<string, number>>): string {
  const kinds = Object.keys(errors).filter((key) => !key.endsWith("_rollout"));
  const most = (kind: string): number =>
    Math.max(errors[kind] ?? 0, errors[`${kind}_rollout`] ?? 0);
  return kinds.map((kind) => `, ${kind.replace("_", " ")} to ± ${roundedUp(most(kind))}`).join("");
}

/** One digit, up to the next: the bound as it is written holds. `0.0002`, not `2×10⁻⁴`. */
export function roundedUp(error: number): string {
  const place = Math.floor(Math.log10(error));
  const units = Math.ceil(error / 10 ** place - 1e-9);
  return (units * 10 ** place).toFixed(Math.max(0, units === 10 ? -place - 1 : -place));
}
