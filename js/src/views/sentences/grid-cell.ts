/** A cell of the matrix of sentences: its color, its number, and its words. */

import { inkOn, type Rgb } from "../../draw/color/ramp";
import { setAttributes } from "../../draw/dom";
import { exact, formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { SentenceMatrix } from "./data";

/** A number longer than this is written smaller. */
const LONG_NUMBER = 6;

/** Background of each cell: reading a style back is slow. */
const painted = new WeakMap<HTMLElement, string>();

export function paintCell(
  cell: HTMLElement,
  value: number,
  how: {
    readonly color: string;
    readonly ink: Rgb;
    readonly strongest: boolean;
    readonly error: number;
    readonly printed: boolean;
  },
): void {
  const none = Number.isNaN(value);
  const background = none ? "" : how.color;
  if (painted.get(cell) !== background) {
    painted.set(cell, background);
    cell.style.backgroundColor = background;
    cell.style.color = none ? "" : inkOn(how.ink);
  }
  // Without room for it the number is not laid out; who comes to a cell has it (`describeCell`).
  const text = how.printed ? formatNumber(value, undefined, how.error) : "";
  if (cell.textContent !== text) cell.textContent = text;
  const kind = none ? " is-impossible" : how.strongest ? " is-strongest" : "";
  const long = text.length > LONG_NUMBER ? " is-long" : "";
  setAttributes(cell, {
    class: `aw-isa-cell${kind}${long}`,
    "data-aw-value": none ? null : exact(value, how.error),
  });
}

/** Accessible names and titles are written on focus or hover: writing a thousand takes long. */
export function describeCell(cell: HTMLElement, matrix: SentenceMatrix): void {
  const [a, b] = [Number(cell.dataset.a), Number(cell.dataset.b)];
  const value = itemAt(matrix.values, a * matrix.size + b);
  const none = Number.isNaN(value);
  const error = matrix.error(value);
  const spoken = none ? "impossible, masked" : formatNumber(value, undefined, error);
  setAttributes(cell, {
    title: none ? "The model's mask forbids every link here" : exact(value, error),
    "aria-label": `S${a} to S${b}: ${spoken}`,
  });
}
