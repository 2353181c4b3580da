/** Masked tokens of this run: the original, its rank, and the model's own answer. */

import { h } from "../../draw/dom";
import { exact, formatCount, formatPercent, visible } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import type { Predictions } from "./data";

/** Guesses that are named: the list below has them all. */
const NAMED = 3;

const share = (value: number): HTMLElement =>
  h(
    "span",
    { class: "aw-number", "data-aw-value": exact(value), title: exact(value) },
    formatPercent(value),
  );

/** One line for every masked token; null where this run masks none. */
export function maskedStrip(
  predictions: Predictions,
  { masked }: Meta,
  show: (position: number) => void,
): HTMLElement | null {
  const lines = masked.filter(({ token }) => token < predictions.done);
  if (lines.length === 0) return null;
  const { topK, ids, probabilities, vocabulary, originalRank, originalProbability } = predictions;
  return h(
    "ul",
    { class: "aw-masked-strip", "data-aw-part": "masked" },
    ...lines.map(({ token, text }) => {
      const guesses = Array.from({ length: Math.min(NAMED, topK) }, (_, k) => {
        const at = token * topK + k;
        const id = itemAt(ids.data, at);
        return h(
          "span",
          { class: "aw-masked-guess" },
          h("bdi", { dir: "ltr" }, visible(vocabulary[id] ?? String(id))),
          " ",
          share(itemAt(probabilities.data, at)),
        );
      });
      const rank = itemAt(originalRank.data, token);
      const button = h(
        "button",
        { class: "aw-masked-was", "data-token": token },
        h("span", { class: "aw-number aw-muted" }, String(token)),
        " ",
        h("bdi", { dir: "ltr" }, visible(text)),
      );
      button.setAttribute("aria-label", `${token} ${visible(text)}: show its row`);
      button.addEventListener("click", () => show(token));
      return h(
        "li",
        { "data-token": token },
        button,
        h("span", { class: "aw-muted", "aria-hidden": "true" }, "→"),
        ...guesses,
        h(
          "span",
          { class: "aw-masked-rank", "data-aw-rank": rank },
          h("bdi", { dir: "ltr" }, visible(text)),
          `: rank ${formatCount(rank)}, `,
          share(itemAt(originalProbability.data, token)),
        ),
      );
    }),
  );
}
