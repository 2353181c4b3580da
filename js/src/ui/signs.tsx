/** Parts of a difference: a number with its sign, a bar from the middle, a mark in a cell. */

import { exact, formatSigned } from "../figures/format";

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
