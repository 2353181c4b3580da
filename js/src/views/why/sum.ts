/** The sum that closes, written out: the largest terms, the rest, the bias, the target. */

import { h } from "../../draw/dom";
import { largest } from "../../figures/derive/matrix";
import { repeated } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Contributions } from "./data";

const TERMS = 5;

export interface Sum {
  /** Tokens with the largest contributions, either sign. */
  readonly terms: readonly { readonly token: number; readonly value: number }[];
  /** Sum of all other tokens, and how many they are. */
  readonly rest: number;
  readonly others: number;
}

/** The largest `count` contributions by size, and the sum of the others. */
export function sumOf(values: ArrayLike<number>, count = TERMS): Sum {
  const all = Array.from(values);
  const known = all.filter((value) => !Number.isNaN(value));
  const sizes = all.map((value) => (Number.isNaN(value) ? -1 : Math.abs(value)));
  const terms = largest(sizes, Math.min(count, known.length)).map((token) => ({
    token,
    value: itemAt(all, token),
  }));
  const rest =
    known.reduce((sum, value) => sum + value, 0) - terms.reduce((sum, one) => sum + one.value, 0);
  return { terms, rest, others: known.length - terms.length };
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
export function sumLine(found: Contributions, label: (token: number) => string): HTMLElement {
  const { terms, rest, others } = sumOf(found.values);
  const term = (value: number, name: string): HTMLElement =>
    h(
      "span",
      { class: "aw-why-term aw-muted" },
      `${name} `,
      found.signed ? signed(value) : number(value),
    );
  const twice = repeated(terms.map(({ token }) => label(token)));
  const listed = terms.map(({ token, value }) => {
    const made = h("span", { class: "aw-why-term", "data-token": token });
    made.append(
      h("bdi", {}, label(token)),
      twice.has(label(token)) ? ` ${token} ` : " ",
      found.signed ? signed(value) : number(value),
    );
    return made;
  });
  const more = others > 0 ? [term(rest, others === 1 ? "1 other" : `${others} others`)] : [];
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
