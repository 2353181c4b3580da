/** Numbers of a view that paint the ribbon: a store, and the color of each unit. */

import type { Mode } from "../../draw/color/ramp";
import { type Ramp, ramp } from "../../draw/color/ramp";
import { largestOf, signedIndex } from "../../draw/color/scale";
import { sumsOf, type Unit, unitOfToken } from "../../figures/derive/units";
import { listen } from "../../state/listen";
import type { PaintStore, TextPaint } from "../../views/contract";

export function createPaint(): PaintStore {
  let current: TextPaint | null = null;
  let pointed: number | null = null;
  const painted = listeners<void>();
  const points = listeners<number | null>();
  return {
    get: () => current,
    set(paint) {
      if (paint === current) return;
      current = paint;
      painted.call();
    },
    on: painted.on,
    point(token) {
      if (token === pointed) return;
      pointed = token;
      points.call(token);
    },
    onPoint: points.on,
  };
}

function listeners<T>(): {
  readonly call: (value: T) => void;
  readonly on: (listener: (value: T) => void, signal?: AbortSignal) => () => void;
} {
  const all = new Set<(value: T) => void>();
  return {
    call: (value) => {
      for (const listener of [...all]) listener(value);
    },
    on: (listener, signal) => listen(all, listener, signal),
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

/** Point at a token in the text, where a view paints it, and mark the one that the view points at. */
export function linkPointed(
  line: HTMLElement,
  paint: PaintStore,
  shown: () => { readonly units: readonly Unit[]; readonly buttons: readonly HTMLElement[] },
  signal: AbortSignal,
): void {
  paint.onPoint((token) => {
    const { units, buttons } = shown();
    line.querySelector(".aw-pointed")?.classList.remove("aw-pointed");
    buttons[unitOfToken(units, token)]?.classList.add("aw-pointed");
  }, signal);
  const point = ({ target }: Event): void => {
    if (paint.get() === null) return;
    const button = (target as Element).closest<HTMLElement>(".aw-ribbon-token");
    paint.point(button === null ? null : Number(button.dataset.token));
  };
  line.addEventListener("pointerover", point, { signal });
  line.addEventListener("pointerleave", () => paint.point(null), { signal });
}
