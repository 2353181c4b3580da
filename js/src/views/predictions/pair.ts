/** Whether the second text follows the first: the next-sentence head's softmax, opened up. */

import { createClasses } from "../../draw/classes/table";
import { h } from "../../draw/dom";
import { classesOf, slicedClasses } from "../../figures/classes";
import { exact, formatPercent } from "../../figures/format";
import { explain, isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { RunContext } from "../contract";

/** A panel for a pair of texts; null for one text, or without the head. */
export function nextSentence({ source, signal }: RunContext): HTMLElement | null {
  const { meta } = source;
  if (meta.text_pair === null || !meta.model.has.nsp) return null;
  const verdict = h("span", { class: "aw-number", "data-aw-part": "next-sentence" });
  const body = h("div", { class: "aw-pair-body" });
  const element = h(
    "details",
    { class: "aw-pair", open: true },
    h("summary", {}, "Does B follow A? ", verdict),
    body,
  );
  const classes = createClasses(
    { term: "B", listed: null, compare: false, formula: false, part: "next-sentence-terms" },
    signal,
  );
  source.slice({ kind: "next_sentence" }, { signal }).then(
    (slice) => {
      const column = classesOf(slicedClasses(slice), 0);
      // The first class is "is next" in every model with this head (Devlin et al. 2019).
      const probability = itemAt(column.probabilities, 0);
      verdict.textContent = `P(is next) = ${formatPercent(probability)}`;
      verdict.dataset.awValue = exact(probability);
      verdict.title = exact(probability);
      classes.show(column, "softmax of the next-sentence head over its two classes");
      body.replaceChildren(classes.element);
    },
    (error: unknown) => {
      if (isAbort(error)) return;
      const { message, hint } = explain(error);
      body.replaceChildren(h("p", { class: "aw-hint" }, `${message} ${hint}`.trim()));
    },
  );
  return element;
}
