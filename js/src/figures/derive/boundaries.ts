/** Boundaries on an axis: starts of sentences and segments. */

import { itemAt } from "../../protocol/required";
import type { Unit } from "./units";

export interface Boundary {
  /** Between units `at - 1` and `at`. */
  readonly at: number;
  readonly kind: "sentence" | "segment";
}

/** A segment's boundary hides a sentence's in the same place; special tokens stand in no sentence. */
export function boundariesOf(
  units: readonly Unit[],
  tokenSentence: readonly (number | null)[] | null,
): Boundary[] {
  const boundaries: Boundary[] = [];
  let sentence: number | null = null;
  for (let at = 0; at < units.length; at++) {
    const unit = itemAt(units, at);
    const own = tokenSentence?.[unit.token] ?? null;
    if (at > 0 && unit.segment !== itemAt(units, at - 1).segment)
      boundaries.push({ at, kind: "segment" });
    else if (own !== null && sentence !== null && own !== sentence) {
      boundaries.push({ at, kind: "sentence" });
    }
    if (own !== null) sentence = own;
  }
  return boundaries;
}
