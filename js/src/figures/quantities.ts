/** The quantities of a matrix by name: which of them have a head, which are rollouts, and what each means. */

import { MIXING_LABELS, type Mixing, OF_A_HEAD, type Quantity } from "../catalog/selection";

/** Quantity of a matrix; scores stand next to weights. */
export type Measure = Exclude<Quantity, "scores">;

export const measureOf = (quantity: Quantity): Measure =>
  quantity === "scores" ? "weights" : quantity;
/** True if a matrix is of one head, or of the layer's mean. */
export const hasHead = (quantity: Quantity): boolean =>
  (OF_A_HEAD as readonly string[]).includes(quantity);
/** True if it is of all layers so far. */
export const isRolled = (quantity: Quantity): boolean => quantity.endsWith("rollout");
/** The mixing quantity that it is, or that it is the rollout of; null for the others. */
export const mixingOf = (quantity: Quantity): Mixing | null => {
  const kind = quantity.replace("_rollout", "");
  return kind in MIXING_LABELS ? (kind as Mixing) : null;
};
/** `weight`, `ALTI`, `rollout of norms`. */
export function calledOf(quantity: Measure): string {
  const kind = mixingOf(quantity);
  if (kind === null) return quantity === "weights" ? "weight" : quantity;
  const name = MIXING_LABELS[kind];
  return isRolled(quantity) ? `rollout of ${name}` : name;
}

/** Why it has no scores. */
export const NOT_OF_WEIGHTS = "only attention weights have scores";
