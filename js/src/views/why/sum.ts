/** The sum that closes, written out: the largest terms, the rest, the bias, the target. */

import { h } from "../../draw/dom";
import { largest } from "../../figures/derive/matrix";
import { repeated, type Unit } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Contributions } from "./data";

const TERMS = 5;

export interface Sum {
  /** Units with the largest contributions, either sign. */
  readonly terms: readonly { readonly unit: Unit; readonly value: number }[];
  /** Sum of all other tokens, and how many they are. */
  readonly rest: number;
  readonly others: number;
}

/** The pieces of a unit added up; NaN where one of them has no number. */
export function sumOfUnit(values: ArrayLike<number>, { token, end }: Unit): number {
  let sum = 0;
  for (let i = token; i < end; i++) sum += itemAt(values, i);
  return sum;
}

/** The largest `count` contributions of `units` by size, and the sum of all tokens beside them, hidden ones too. */
export function sumOf(values: ArrayLike<number>, units: readonly Unit[], count = TERMS): Sum {
  const all = units.map((unit) => sumOfUnit(values, unit));
  const sizes = all.map((value) => (Number.isNaN(value) ? -1 : Math.abs(value)));
  const most = Math.min(count, sizes.filter((size) => size >= 0).length);
  const terms = largest(sizes, most).map((i) => ({
    unit: itemAt(units, i),
    value: itemAt(all, i),
  }));
  const known = Array.from(values).filter((value) => !Number.isNaN(value));
  const listed = terms.reduce((count, { unit }) => count + unit.end - unit.token, 0);
  const rest =
    known.reduce((sum, value) => sum + value, 0) - terms.reduce((sum, one) => sum + one.value, 0);
  return { terms, rest, others: known.length - listed };
}

const number = (value: number): HTMLElement =>
  h(
    "span",
    { class: "aw-number", "data-aw-value": exact(value), title: exact(value) },
    formatNumber(value),
  );

const signed = (value: number): HTMLElement => {
  const made = number(value);
  if (value > 0) made.prepend("+");
  return made;
};

/** A line that says what adds up to what, or that nothing does. */
export function sumLine(
  found: Contributions,
  units: readonly Unit[],
  label: (unit: Unit) => string,
): HTMLElement {
  const { terms, rest, others } = sumOf(found.values, units);
  const term = (value: number, name: string): HTMLElement =>
    h(
      "span",
      { class: "aw-why-term aw-muted" },
      `${name} `,
      found.signed ? signed(value) : number(value),
    );
  const twice = repeated(terms.map(({ unit }) => label(unit)));
  const listed = terms.map(({ unit, value }) => {
    const made = h("span", { class: "aw-why-term", "data-token": unit.token });
    made.append(
      h("bdi", {}, label(unit)),
      twice.has(label(unit)) ? ` ${unit.token} ` : " ",
      found.signed ? signed(value) : number(value),
    );
    return made;
  });
  const more =
    others > 0 ? [term(rest, others === 1 ? "1 other token" : `${others} other tokens`)] : [];
  const line = h("p", { class: "aw-why-sum", "data-aw-part": "why-sum" }, ...listed, ...more);
  if (found.bias !== null) line.append(term(found.bias, "bias"));
  if (found.baseline !== null) line.append(term(found.baseline, "masked text"));
  if (found.gap !== null) {
    const gap = found.gap < 1e-3 ? "" : `, gap ${formatNumber(100 * found.gap, 2)}%`;
    line.append(h("span", { class: "aw-why-total" }, "= ", number(found.value), gap));
  } else {
    const unit = found.signed ? "in logits; they need not add up" : "shares of a row, without sign";
    line.append(h("span", { class: "aw-muted" }, unit));
  }
  return line;
}
