/** Numbers of a view that paint the ribbon: a store, and the color of each unit. */

import type { Mode } from "../../draw/color/ramp";
import { type Ramp, ramp } from "../../draw/color/ramp";
import { largestOf, signedIndex } from "../../draw/color/scale";
import { sumsOf, type Unit } from "../../figures/derive/units";
import type { PaintStore, TextPaint } from "../../views/contract";

export function createPaint(): PaintStore {
  let current: TextPaint | null = null;
  const listeners = new Set<() => void>();
  return {
    get: () => current,
    set(paint) {
      if (paint === current) return;
      current = paint;
      for (const listener of [...listeners]) listener();
    },
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Each unit's number, pieces added up, and its place on the signed ramp; NaN has none. */
export function signedOf(
  { values }: TextPaint,
  units: readonly Unit[],
  mode: Mode,
): {
  readonly colors: Ramp;
  readonly values: readonly number[];
  readonly indices: readonly (number | null)[];
  /** The end of the ramp; special tokens may pass it. */
  readonly most: number;
} {
  const sums = Array.from(sumsOf(Float32Array.from(values), units));
  const most = largestOf(
    sums,
    units.map(({ special }) => special),
  );
  const indices = sums.map((value) => (Number.isNaN(value) ? null : signedIndex(value, most)));
  return { most, colors: ramp("signed", mode), values: sums, indices };
}
