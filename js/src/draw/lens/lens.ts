/** The target by layer: rank and probability of its word in each layer's hidden state. */

import { exact, formatCount, formatNumber } from "../../figures/format";
import type { Lens } from "../../figures/targets";
import { itemAt } from "../../protocol/required";
import { h } from "../dom";

/** The least share that is written out; smaller ones would be too wide for their column. */
const LEAST = 1e-4;
/** Pixels. */
const WIDEST = 640;
const COLUMN = 60;
const shortPercent = (share: number): string =>
  share > 0 && share < LEAST ? `<${100 * LEAST}%` : `${formatNumber(100 * share, 1)}%`;

/** `#5,920`, `#30k`. */
const shortRank = (rank: number): string =>
  `#${rank < 1e4 ? formatCount(rank) : `${Math.floor(rank / 1000)}k`}`;

/** `place` is the word's position in the text, `[MASK] 6`; `layer` is marked. */
export function lensPanel(
  { word, ranks, probabilities }: Lens,
  place: string,
  layer?: number,
): HTMLElement {
  const layers = Array.from(ranks, (rank, i) => {
    const share = itemAt(probabilities, i);
    const bar = h("i", { class: "aw-lens-bar", "aria-hidden": "true" });
    bar.style.blockSize = `${100 * share}%`;
    const value = exact(share);
    const made = h(
      "li",
      {},
      h("span", { class: "aw-lens-name" }, i === 0 ? "emb." : `L${i - 1}`),
      h(
        "span",
        { class: "aw-lens-level" },
        bar,
        h("span", { "data-aw-value": value, title: value }, shortPercent(share)),
      ),
      h("span", { class: "aw-lens-rank", title: `rank ${rank}` }, shortRank(rank)),
    );
    made.classList.toggle("is-marked", layer !== undefined && i === layer + 1);
    return made;
  });
  const list = h("ol", { class: "aw-lens-layers aw-number" }, ...layers);
  list.style.maxWidth = `${Math.min(WIDEST, COLUMN * layers.length)}px`;
  return h(
    "div",
    { class: "aw-lens", "data-aw-part": "lens" },
    h(
      "p",
      { class: "aw-hint" },
      "Probability and rank of ",
      h("strong", {}, h("bdi", {}, word)),
      place === "" ? "" : " at ",
      h("bdi", {}, place),
      " according to each layer's state.",
    ),
    list,
    h(
      "p",
      { class: "aw-hint" },
      "The masked-LM head reads each layer (logit lens). It was trained on the last one only, so earlier ranks are not calibrated.",
    ),
  );
}
