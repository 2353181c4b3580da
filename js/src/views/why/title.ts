/** Heading of the view Why: the question, and the number that is explained. */

import { h, setAttributes } from "../../draw/dom";
import { exact, formatNumber } from "../../figures/format";
import type { Described } from "../../figures/targets";

export interface Title {
  readonly element: HTMLElement;
  /** `s` is the target's value. */
  show(of: Described, s: number): void;
}

export function createTitle(label: (token: number) => string): Title {
  const title = h("h3", { class: "aw-title" }, "Why");
  const value = h("p", { class: "aw-why-value aw-number", "data-aw-part": "why-value" });
  return {
    element: h("div", { class: "aw-panel-head" }, title, value),
    show(of, s) {
      const [first = "", second] = of.names;
      title.replaceChildren(
        "Why ",
        h("bdi", { class: "aw-why-name" }, first),
        ...(second === undefined
          ? []
          : [
              h("span", { class: "aw-muted" }, " rather than "),
              h("bdi", { class: "aw-why-name" }, second),
            ]),
        "?",
      );
      setAttributes(value, { "data-aw-value": exact(s), title: exact(s) });
      const { position, masked } = of.target;
      const sign = s > 0 && second !== undefined ? "+" : "";
      value.replaceChildren(
        `${second === undefined ? "logit" : "difference of logits"} ${sign}${formatNumber(s)}`,
        ...(position === undefined
          ? []
          : [" at ", h("bdi", {}, label(position)), ` ${position}${masked ? ", masked" : ""}`]),
      );
    },
  };
}
