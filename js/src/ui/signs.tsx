/** Parts of a difference: a number with its sign, a bar from the middle, a legend, a mark in a cell. */

import { type Mode, rampImage } from "../draw/color/ramp";
import { exact, formatNumber, formatSigned } from "../figures/format";
import { Num } from "./number";

/** Color stops of a CSS gradient: enough that no eye sees them. */
const STOPS = 17;
/** A cell from this width on has its number in it, one below its sign, px. */
const NUMBERED = 34;
/** Least share of the largest change that has a mark. */
const MARKED = 0.1;

/** Always with a sign: `+0.12`, `−0.12`, `0`. */
export function signed(value: number, digits = 2): string {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return "0";
  return `${value > 0 ? "+" : "−"}${text}`;
}

/** Mark of a cell between `-top` and `top`. */
export const markOf =
  (top: number) =>
  (value: number, width: number): string | null => {
    if (width >= NUMBERED) return value === 0 ? null : signed(value, top < 0.1 ? 3 : 2);
    return Math.abs(value) < MARKED * top || value === 0 ? null : value > 0 ? "+" : "−";
  };

/** A cell of a table: a bar from the middle, and the number with its sign. */
export function Change({ value, top }: { readonly value: number; readonly top: number }) {
  const share = top > 0 && Number.isFinite(value) ? Math.min(1, Math.abs(value) / top) : 0;
  return (
    <td class="aw-change" data-aw-value={exact(value)} title={exact(value)}>
      <span class="aw-change-track" aria-hidden="true">
        <span
          class={`aw-change-bar ${value > 0 ? "is-more" : "is-less"}`}
          style={{ inlineSize: `${50 * share}%` }}
        />
      </span>
      <span class="aw-number">{formatSigned(value)}</span>
    </td>
  );
}

/** The cells of a figure: in A, in B, and its change. */
export const Both = ({
  a,
  b,
  top,
  format = formatNumber,
  change = b - a,
}: {
  readonly a: number;
  readonly b: number;
  readonly top: number;
  readonly format?: (value: number) => string;
  readonly change?: number;
}) => (
  <>
    <Num tag="td" value={a} text={format(a)} />
    <Num tag="td" value={b} text={format(b)} />
    <Change value={change} top={top} />
  </>
);

/** The two colors from `-top` to `top`, and their meaning in words. */
export const ChangeLegend = ({
  top,
  mode,
  less = "less in B",
  more = "more in B",
}: {
  readonly top: number;
  readonly mode: Mode;
  readonly less?: string;
  readonly more?: string;
}) => (
  <p class="aw-ramp aw-change-legend">
    <span>
      <span class="aw-number">{formatNumber(-top)}</span>
      {` ${less}`}
    </span>
    <span class="aw-ramp-bar" style={{ background: rampImage("signed", mode, STOPS) }} />
    <span>
      <span class="aw-number">{formatSigned(top)}</span>
      {` ${more}`}
    </span>
  </p>
);
