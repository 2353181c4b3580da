/** Positions of weights on the ramp: the four scales, and their words in the legend. */

import type { Scale } from "../../state/selection";
import { RAMP_SIZE } from "./ramp";

/** Position of `value` on the ramp, 0..1; for the scale of words `max` is that of words. */
export function rampPosition(value: number, max: number, scale: Scale): number {
  const top = scale === "unit" ? 1 : max;
  if (!(top > 0) || !(value > 0)) return 0;
  const share = Math.min(value / top, 1);
  return scale === "sqrt" ? Math.sqrt(share) : share;
}

/** The ramp entry of `value`. */
export function rampIndex(value: number, max: number, scale: Scale): number {
  return Math.round(rampPosition(value, max, scale) * (RAMP_SIZE - 1));
}

/** The value at a place of the ramp, the inverse of `rampPosition`. */
export function rampValue(position: number, max: number, scale: Scale): number {
  if (scale === "unit") return position;
  return max * (scale === "sqrt" ? position * position : position);
}

export const SCALE_LABELS: Record<Scale, string> = {
  words: "0 to this head’s strongest weight, special tokens apart",
  head: "0 to this head’s strongest weight",
  unit: "0 to 1",
  sqrt: "square root, 0 to this head’s strongest weight",
};

/** The largest size among words, where there is one; among all, where all are special. NaN has no size. */
export function largestOf(values: readonly number[], special: readonly boolean[]): number {
  const sizes = values.map((value) => (Number.isNaN(value) ? 0 : Math.abs(value)));
  const words = sizes.filter((_, i) => special[i] !== true);
  return Math.max(0, ...words) || Math.max(0, ...sizes);
}

/** The entry of the signed ramp for a value between `-most` and `most`: zero is its middle, always. */
export function signedIndex(value: number, most: number): number {
  const half = RAMP_SIZE / 2;
  if (!(most > 0) || value === 0 || Number.isNaN(value)) return half;
  const step = Math.round(Math.min(Math.abs(value) / most, 1) * (half - 1));
  return value > 0 ? half + step : half - 1 - step;
}
