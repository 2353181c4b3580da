/** The first row of the matrix of sentences. */

import { h } from "../../draw/dom";
import type { SentenceMatrix } from "./data";

export function gridHead(
  { texts, elsewhere, asked }: SentenceMatrix,
  name: (sentence: number) => HTMLElement,
): HTMLElement {
  const corner = h(
    "div",
    { role: "columnheader", class: "aw-isa-corner" },
    asked.quantity === null ? "looks at →" : "takes from →",
  );
  return h(
    "div",
    { role: "row", class: "aw-isa-row aw-isa-head" },
    corner,
    ...texts.map((text, b) =>
      h("div", { role: "columnheader", class: "aw-isa-column", title: `S${b} ${text}` }, name(b)),
    ),
    ...(elsewhere === null
      ? []
      : [
          h(
            "div",
            {
              role: "columnheader",
              class: "aw-isa-outside",
              title: "Share on tokens in no sentence: special tokens",
            },
            "elsewhere",
          ),
          h("div", { role: "columnheader", class: "aw-isa-sum", title: "Sum of the row" }, "sum"),
        ]),
  );
}
