/** The target by layer: rank and probability of its word in each layer's hidden state. */

import { exact, formatCount, formatPercent } from "../../figures/format";
import type { Lens } from "../../figures/targets";
import { itemAt } from "../../protocol/required";
import { h } from "../dom";

/** `place` is the word's position in the text, `[MASK] 6`; `layer` is marked. */
export function lensTable(
  { word, ranks, probabilities }: Lens,
  place: string,
  layer?: number,
): HTMLElement {
  const cell = (tag: "th" | "td", text: string, value?: number): HTMLElement =>
    h(tag, value === undefined ? {} : { "data-aw-value": exact(value), title: exact(value) }, text);
  const columns = Array.from(ranks, (rank, i) => {
    const share = itemAt(probabilities, i);
    const bar = h("i", { class: "aw-lens-level", "aria-hidden": "true" });
    bar.style.blockSize = `${100 * share}%`;
    const marked = layer !== undefined && i === layer + 1;
    return { rank, share, bar, marked, name: i === 0 ? "emb." : `L${i - 1}` };
  });
  const table = h(
    "table",
    { class: "aw-lens aw-number", "data-aw-part": "lens" },
    h(
      "caption",
      {},
      "Rank of ",
      h("strong", {}, h("bdi", {}, word)),
      place === "" ? "" : " at ",
      h("bdi", {}, place),
      " as each layer's state would have it",
    ),
    h(
      "tr",
      {},
      cell("th", "after"),
      ...columns.map(({ name, marked }) => {
        const made = cell("th", name);
        made.classList.toggle("is-marked", marked);
        return made;
      }),
    ),
    h(
      "tr",
      { class: "aw-lens-levels" },
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
    { class: "aw-lens-frame" },
    table,
    h(
      "p",
      { class: "aw-hint" },
      "The masked-LM head reads each layer (logit lens). It was trained on the last one only, so earlier ranks are not calibrated.",
    ),
  );
}
