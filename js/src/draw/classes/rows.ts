/** Rows of the table of classes: the head, one a class, the line of the others, the sum. */

import type { ColumnDigits, SoftmaxColumn, SoftmaxTerm } from "../../figures/classes";
import { exact, formatCount, formatNumber, formatPercent, visible } from "../../figures/format";
import { h } from "../dom";

/** Digits of a value that nothing is computed from. */
const VALUE_DIGITS = 4;

/** A label as text that stays where it is, whatever it holds. */
export const named = (label: string): HTMLElement =>
  h("bdi", { class: "aw-class-name", dir: "auto" }, visible(label));

const fixed = (value: number, decimals: number): string =>
  value.toFixed(decimals).replace("-", "−");

function numberCell(value: number, text: string): HTMLElement {
  return h("td", { class: "aw-number", "data-aw-value": exact(value), title: exact(value) }, text);
}

const headCell = (text: string, title: string, kind = ""): HTMLElement =>
  h("th", { scope: "col", title, class: kind }, text);

/** `term` says what a term is; `compare`: whether classes can be ticked. */
export function headRow(
  { activation, labels, logitMax }: SoftmaxColumn,
  term: string,
  compare: boolean,
): HTMLElement {
  return h(
    "tr",
    {},
    ...(compare ? [headCell("vs", "Select classes to compare them", "aw-class-tick")] : []),
    headCell(term, `${formatCount(labels.length)} in the model's own order`, "aw-class-label"),
    ...(activation === "identity"
      ? [headCell("value z", "the output itself")]
      : [
          headCell("logit z", `largest: ${exact(logitMax)}`),
          activation === "softmax"
            ? headCell("exp(z − max)", "exponential of the logit minus the largest logit")
            : headCell("exp(−z)", "exponential of minus the logit"),
          headCell(
            "probability",
            activation === "softmax" ? "exponential over the sum" : "1 / (1 + exponential)",
          ),
          headCell("0 to 100%", "probability as a bar", "aw-class-bars"),
        ]),
  );
}

/** The row of class `index`; `tag` is shown next to its name, null for none. */
export function classRow(
  { label, logit, exp, probability }: SoftmaxTerm,
  index: number,
  { activation }: SoftmaxColumn,
  digits: ColumnDigits,
  { marked, tag, compare }: { marked: boolean; tag: string | null; compare: boolean },
): HTMLElement {
  const bar = h("span", { class: "aw-class-bar", "aria-hidden": "true" });
  if (activation !== "identity") bar.style.inlineSize = `${100 * probability}%`;
  const name = h(
    "button",
    {
      class: "aw-class-button",
      tabindex: -1,
      "data-index": index,
      title: label,
    },
    named(label),
  );
  const tick = h("input", {
    type: "checkbox",
    tabindex: -1,
    "data-index": index,
    "aria-label": `Compare ${visible(label)}`,
  });
  return h(
    "tr",
    { class: marked ? "is-best" : null, "data-index": index },
    ...(compare ? [h("td", { class: "aw-class-tick" }, tick)] : []),
    h(
      "th",
      { scope: "row", class: "aw-class-label" },
      h(
        "div",
        { class: "aw-class-line" },
        name,
        marked && tag !== null ? h("span", { class: "aw-class-best" }, tag) : null,
      ),
    ),
    ...(activation === "identity"
      ? [numberCell(logit, formatNumber(logit, VALUE_DIGITS))]
      : [
          numberCell(logit, fixed(logit, digits.logit)),
          numberCell(exp, formatNumber(exp, digits.exp)),
          numberCell(probability, formatPercent(probability)),
          h("td", { class: "aw-class-bars" }, h("span", { class: "aw-class-track" }, bar)),
        ]),
  );
}

/** Below the classes: `others` that have no line of their own, with exponentials of `rest` together; the sum. */
export function footRows(
  { activation, sum }: SoftmaxColumn,
  digits: ColumnDigits,
  { others, rest, compare }: { others: number; rest: number; compare: boolean },
): HTMLElement[] {
  const line = (name: string, kind: string, exp: number, text: string, share: number) =>
    h(
      "tr",
      { class: kind },
      ...(compare ? [h("td")] : []),
      h("th", { scope: "row", class: "aw-class-label" }, name),
      h("td"),
      numberCell(exp, text),
      numberCell(share, share === 1 ? "100%" : formatPercent(share)),
      h("td"),
    );
  return [
    ...(others > 0
      ? [
          line(
            `${formatCount(others)} others`,
            "aw-class-rest",
            rest,
            formatNumber(Math.max(0, rest), digits.exp),
            rest / sum,
          ),
        ]
      : []),
    ...(activation === "softmax"
      ? [line("sum", "aw-sum", sum, formatNumber(sum, digits.sum), 1)]
      : []),
  ];
}
