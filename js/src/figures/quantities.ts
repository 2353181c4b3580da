/** The quantities of a matrix by name: which of them have a head, which are rollouts, and what each means. */

import type { Mixing } from "../protocol/types";
import type { Quantity } from "../state/selection";

/** Quantity of a matrix; scores stand beside weights. */
export type Measure = Exclude<Quantity, "scores">;

export const measureOf = (quantity: Quantity): Measure =>
  quantity === "scores" ? "weights" : quantity;
/** Whether a matrix is of one head, or of the layer's mean. */
export const hasHead = (quantity: Quantity): boolean =>
  ["weights", "scores", "norms"].includes(quantity);
/** Whether it is of all layers so far. */
export const isRolled = (quantity: Quantity): boolean => quantity.endsWith("rollout");
/** The mixing quantity that it is, or that it is the rollout of; null for the others. */
export const mixingOf = (quantity: Quantity): Mixing | null => {
  const kind = quantity.replace("_rollout", "");
  return kind in MIXING ? (kind as Mixing) : null;
};
/** `weight`, `ALTI`, `rollout of norms`. */
export function calledOf(quantity: Measure): string {
  const kind = mixingOf(quantity);
  if (kind === null) return quantity === "weights" ? "weight" : quantity;
  const name = LABELS[kind];
  return isRolled(quantity) ? `rollout of ${name}` : name;
}

export const LABELS: Readonly<Record<Mixing, string>> = {
  norms: "norms",
  mixing: "mixing",
  alti: "ALTI",
  value_zeroing: "value zeroing",
};

/** Why it has no scores. */
export const NOT_OF_WEIGHTS = "only attention weights have scores";

/** Definitions, as `attn_widget/export/caption.py` has them. */
export const MIXING: Readonly<Record<Mixing, string>> = {
  norms:
    "Norms (Kobayashi et al. 2020): ‖A v W_O‖, the length of the vector that a head brings from each token; for the " +
    "mean head, that of the sum of all heads.",
  mixing:
    "Mixing (Kobayashi et al. 2021): the length of each token's part of the layer's output, residual and " +
    "LayerNorm included.",
  alti:
    "ALTI (Ferrando et al. 2022): how close each token's part comes to the layer's output; rows sum " +
    "to 1.",
  value_zeroing:
    "Value zeroing (Mohebbi et al. 2023): how far the layer's output turns when a token's values " +
    "are zero; rows sum to 1.",
};
export const ROLLED_MIXING = "The layers up to this one multiplied, rows scaled to 1. ";

/** Definition of a mixing quantity, or of its rollout; null for the others. */
export function mixingDefinition(quantity: Quantity): string | null {
  const kind = mixingOf(quantity);
  return kind && (isRolled(quantity) ? ROLLED_MIXING : "") + MIXING[kind];
}
