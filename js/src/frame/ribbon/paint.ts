/** Colors of the ribbon: of the focus token's row, or of the numbers of a view. */

import type { Mode } from "../../draw/color/ramp";
import { inkOn, type Ramp, ramp } from "../../draw/color/ramp";
import { largestOf, rampIndex, signedIndex } from "../../draw/color/scale";
import { sumsOf, type Unit } from "../../figures/derive/units";
import { exact } from "../../figures/format";
import type { TokenRow } from "../../figures/row";
import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import type { RibbonOverlay } from "../../views/contract";

/** Numbers of the units of a line, and their places on the signed ramp; NaN has none. */
interface SignedLine {
  readonly values: readonly number[];
  readonly indices: readonly (number | null)[];
}

export interface Signed extends SignedLine {
  readonly colors: Ramp;
  /** The source's line, on the same ramp. */
  readonly source: SignedLine;
  /** The end of the ramp; special tokens may pass it. */
  readonly most: number;
  readonly verb: string;
}

/** Each unit's number, pieces added up, of a text and of its source. */
export function signedOf(
  { values, source, verb }: RibbonOverlay,
  units: readonly Unit[],
  sources: readonly Unit[],
  mode: Mode,
): Signed {
  const sums = Array.from(sumsOf(Float32Array.from(values), units));
  const others = source ? Array.from(sumsOf(Float32Array.from(source), sources)) : [];
  const most = largestOf(
    [...sums, ...others],
    [...units, ...(source ? sources : [])].map(({ special }) => special),
  );
  const line = (numbers: readonly number[]): SignedLine => ({
    values: numbers,
    indices: numbers.map((value) => (Number.isNaN(value) ? null : signedIndex(value, most))),
  });
  return { ...line(sums), source: line(others), most, colors: ramp("signed", mode), verb };
}

/** Colors of a line of units. */
interface LinePaint {
  readonly colors: Ramp;
  /** One a unit; null leaves the line without color. */
  readonly values: ArrayLike<number> | null;
  /** Place of a number on the ramp; null for none. */
  index(value: number, unit: number): number | null;
  error(value: number): number;
  /** True if a number passes the end of the ramp. */
  passes(value: number, unit: number): boolean;
  isForbidden(unit: number): boolean;
}

/** Colors by the row of the focus token, where it has one. */
export const rowPaint = (
  shown: TokenRow,
  focused: boolean,
  scale: Scale,
  mode: Mode,
): LinePaint => ({
  colors: ramp("weight", mode),
  values: focused && shown.quantity !== "scores" ? shown.values : null,
  index: (value) => (Number.isNaN(value) ? null : rampIndex(value, shown.top, scale)),
  error: (value) => shown.error(value),
  passes: (value, unit) => value > shown.top && shown.overflow.has(unit),
  isForbidden: (unit) => focused && !shown.isPossible(unit),
});

/** Colors by the numbers of a view. */
export const signedPaint = (
  { values, indices }: SignedLine,
  { colors, most }: Signed,
): LinePaint => ({
  colors,
  values: values.length === 0 ? null : values,
  index: (_, unit) => indices[unit] ?? null,
  error: () => 0,
  passes: (value) => Math.abs(value) > most,
  isForbidden: () => false,
});

/** Paint the buttons of the units from `first` on; `colors` are their present ones, so that only changes touch the page. */
export function paintLine(
  buttons: readonly HTMLElement[],
  first: number,
  colors: string[],
  paint: LinePaint,
): void {
  const { css, rgb } = paint.colors;
  buttons.forEach((button, at) => {
    const unit = first + at;
    const value = paint.values?.[unit] ?? null;
    const place = value === null ? null : paint.index(value, unit);
    const color = place === null ? "" : itemAt(css, place);
    if (value === null || place === null) delete button.dataset.awValue;
    else button.dataset.awValue = exact({ value, error: paint.error(value) });
    button.classList.toggle("aw-overflow", place !== null && paint.passes(value ?? 0, unit));
    button.classList.toggle("aw-forbidden", paint.isForbidden(unit));
    if (colors[at] === color) return;
    colors[at] = color;
    button.style.backgroundColor = color;
    button.style.color = place === null ? "" : inkOn(itemAt(rgb, place));
  });
}
