/** How a difference is drawn: a number with its sign, a bar from the middle, a legend, a mark in a cell. */

import { rampImage } from "../draw/color/ramp";
import { modeOf } from "../draw/color/theme";
import { h } from "../draw/dom";
import { exact, formatNumber } from "../figures/format";

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

/** The same to three significant digits. */
export const signedNumber = (value: number): string =>
  value > 0 ? `+${formatNumber(value)}` : formatNumber(value);

/** Mark of a cell between `-top` and `top`. */
export const markOf =
  (top: number) =>
  (value: number, width: number): string | null => {
    if (width >= NUMBERED) return value === 0 ? null : signed(value, top < 0.1 ? 3 : 2);
    return Math.abs(value) < MARKED * top || value === 0 ? null : value > 0 ? "+" : "−";
  };

/** A bar from the middle of its cell, and the number with its sign. */
export function signedCell(value: number, top: number): HTMLElement {
  const share = top > 0 && Number.isFinite(value) ? Math.min(1, Math.abs(value) / top) : 0;
  const bar = h("span", { class: `aw-change-bar ${value > 0 ? "is-more" : "is-less"}` });
  bar.style.inlineSize = `${50 * share}%`;
  return h(
    "td",
    { class: "aw-change", "data-aw-value": exact(value), title: exact(value) },
    h("span", { class: "aw-change-track", "aria-hidden": "true" }, bar),
    h("span", { class: "aw-number" }, signedNumber(value)),
  );
}

export function numberCell(value: number, text = formatNumber(value)): HTMLElement {
  return h("td", { class: "aw-number", "data-aw-value": exact(value), title: exact(value) }, text);
}

/** Meaning of the two colors, from `-top` to `top`; `less`, `more`: in words. */
export function signedLegend(
  root: Element,
  top: number,
  less = "less in B",
  more = "more in B",
): HTMLElement {
  const colors = rampImage("signed", modeOf(root), STOPS);
  return h(
    "p",
    { class: "aw-ramp aw-change-legend" },
    h("span", {}, h("span", { class: "aw-number" }, formatNumber(-top)), ` ${less}`),
    h("span", { class: "aw-ramp-bar", style: `background: ${colors}` }),
    h("span", {}, h("span", { class: "aw-number" }, signedNumber(top)), ` ${more}`),
  );
}

/** A table with a heading for each column. */
export function tableOf(
  columns: readonly string[],
  rows: readonly HTMLElement[],
  label: string,
): HTMLElement {
  return h(
    "table",
    { class: "aw-compare-table", "aria-label": label },
    h("thead", {}, h("tr", {}, ...columns.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows),
  );
}
