/** The target by layer: rank and probability of its word in each layer's hidden state. */

import { h } from "../../draw/dom";
import { exact, formatCount, formatPercent } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Lens } from "./data";

export function lensTable({ ranks, probabilities }: Lens, word: string): HTMLElement {
  const cell = (tag: "th" | "td", text: string, value?: number): HTMLElement =>
    h(tag, value === undefined ? {} : { "data-aw-value": exact(value), title: exact(value) }, text);
  const columns = Array.from(ranks, (rank, i) => {
    const share = itemAt(probabilities, i);
    const bar = h("i", { class: "aw-why-level", "aria-hidden": "true" });
    bar.style.blockSize = `${100 * share}%`;
    return { rank, share, bar, name: i === 0 ? "emb." : `L${i - 1}` };
  });
  const table = h(
    "table",
    { class: "aw-why-lens aw-number", "data-aw-part": "why-lens" },
    h("caption", {}, "Rank of ", h("bdi", {}, word), " as each layer's state would have it"),
    h("tr", {}, cell("th", "after"), ...columns.map(({ name }) => cell("th", name))),
    h(
      "tr",
      { class: "aw-why-levels" },
      cell("th", "p"),
      ...columns.map(({ share, bar }) => {
        const made = cell("td", "", share);
        made.append(bar, h("span", {}, formatPercent(share, 1)));
        return made;
      }),
    ),
    h(
      "tr",
      {},
      cell("th", "rank"),
      ...columns.map(({ rank }) => cell("td", formatCount(rank), rank)),
    ),
  );
  return h(
    "div",
    { class: "aw-why-scroll" },
    table,
    h(
      "p",
      { class: "aw-hint" },
      "The masked-LM head reads each layer (logit lens). It was trained on the last one only, so earlier ranks are not calibrated.",
    ),
  );
}
