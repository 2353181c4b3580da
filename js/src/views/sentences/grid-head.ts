/** The first row of the matrix of sentences. */

import { h } from "../../draw/dom";
import type { SentenceMatrix } from "./data";

export const headCell = (
  { texts }: SentenceMatrix,
  b: number,
  name: (sentence: number) => HTMLElement,
): HTMLElement =>
  h(
    "div",
    { role: "columnheader", class: "aw-isa-column", "data-b": b, title: `S${b} ${texts[b]}` },
    name(b),
  );

export function gridHead(
  matrix: SentenceMatrix,
  name: (sentence: number) => HTMLElement,
): HTMLElement {
  const { texts, elsewhere, asked } = matrix;
  const corner = h(
    "div",
    { role: "columnheader", class: "aw-isa-corner" },
    asked.quantity === null ? "looks at →" : "takes from →",
  );
  return h(
    "div",
    { role: "row", class: "aw-isa-row aw-isa-head" },
    corner,
    ...texts.map((_, b) => headCell(matrix, b, name)),
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
          h(
            "div",
            {
              role: "columnheader",
              class: "aw-isa-sum",
              title: "Sum of the row",
            },
            "sum",
          ),
        ]),
  );
}
