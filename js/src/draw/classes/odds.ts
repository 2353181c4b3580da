/** Classes compared: how much likelier the first is than each of the others, in words. */

import { oddsOf, type SoftmaxColumn } from "../../figures/classes";
import { exact, formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { h } from "../dom";
import { named } from "./rows";

const value = (exactly: number, text: string): HTMLElement =>
  h("strong", { class: "aw-number", "data-aw-value": exact(exactly), title: exact(exactly) }, text);

/** The likeliest of the ticked classes against each of the others. */
export function comparison(column: SoftmaxColumn, ticked: readonly number[]): HTMLElement[] {
  const { labels, logits } = column;
  const title = h("h4", { class: "aw-odds-title" }, "Compared");
  const [first, ...others] = [...ticked].sort(
    (a, b) => itemAt(logits, b) - itemAt(logits, a) || a - b,
  );
  if (first === undefined || others.length === 0) {
    return [title, h("p", { class: "aw-hint" }, "Select two or more to compare them.")];
  }
  return [
    title,
    ...others.map((other) => {
      const { difference, ratio, digits } = oddsOf(column, first, other);
      const even = formatNumber(ratio) === "1.00";
      return h(
        "p",
        { class: "aw-odds-line" },
        named(itemAt(labels, first)),
        " is ",
        ...(even
          ? ["as probable as "]
          : [value(ratio, formatNumber(ratio)), " times as probable as "]),
        named(itemAt(labels, other)),
        h(
          "span",
          { class: "aw-odds-why" },
          "logit difference ",
          value(difference, formatNumber(difference, digits)),
          " = log odds, ",
          h("span", {}, "e"),
          h("sup", {}, formatNumber(difference, digits)),
          ` = ${formatNumber(ratio)}`,
        ),
      );
    }),
  ];
}
