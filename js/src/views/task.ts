/** What a classifier says of the text, its softmax opened up, and where the first token looks. */

import { h } from "../draw/dom";
import { copyExactValues, exact, formatPercent, visible } from "../draw/format";
import type { Stage } from "../matrix";
import { explain, isAbort } from "../source/failure";
import type { Drawn } from "../types";
import { createClasses } from "./task-classes";
import {
  CLASSIFICATION,
  type Classification,
  classesOf,
  classesTable,
  slicedClasses,
  type TaskKind,
} from "./task-data";
import { firstToken } from "./task-first";
import { answerSpan } from "./task-span";
import { tokenClasses } from "./task-tokens";

/** Before this an answer is not waited for on screen (ms). */
const QUIET = 120;

const TITLES: Record<TaskKind, string> = {
  sequence: "Class of the text",
  token: "Classes of the tokens",
  question_answering: "Answer",
};

export function task(element: HTMLElement, stage: Stage): Drawn {
  const { source, report, signal } = stage;
  let found: Classification | null = null;
  const stops: (() => void)[] = [];
  const title = h("h3", { class: "aw-title" }, "Classifier");
  const verdict = h("p", { class: "aw-verdict", "data-aw-part": "verdict" });
  const main = h("div", { class: "aw-task-main", "data-aw-part": "task" });
  const waiting = h("p", { class: "aw-hint", hidden: true }, "Asking for the classes …");
  const below = h("div", { class: "aw-task-first" });
  const root = h(
    "div",
    { class: "aw-task", dir: "ltr" },
    h("div", { class: "aw-panel-head" }, title, verdict),
    waiting,
    main,
    below,
  );
  element.append(root);
  copyExactValues(root, signal);

  function draw(of: Classification): void {
    title.textContent = TITLES[of.task];
    if (of.task === "token") {
      verdict.textContent = "Every token has a softmax of its own; the focus token's is open.";
      stops.push(tokenClasses(main, stage, of));
    } else if (of.task === "question_answering") {
      stops.push(answerSpan(main, stage, of));
    } else {
      const classes = classesOf(of, 0);
      const share = classes.probabilities[classes.best];
      verdict.replaceChildren(
        h("bdi", { class: "aw-verdict-label" }, visible(classes.labels[classes.best])),
        " with ",
        h(
          "strong",
          { class: "aw-number", "data-aw-value": exact(share), title: exact(share) },
          formatPercent(share),
        ),
      );
      const table = createClasses(
        {
          term: "class",
          listed: null,
          compare: classes.labels.length > 1,
          formula: true,
          part: "classes",
        },
        signal,
      );
      table.show(classes, "Softmax over the classes, in the model's order");
      main.append(table.element);
    }
  }

  async function load(): Promise<void> {
    const late = setTimeout(() => {
      root.setAttribute("aria-busy", "true");
      waiting.hidden = false;
    }, QUIET);
    try {
      const answer = await source.slice(CLASSIFICATION, { signal });
      if (signal.aborted) return;
      found = slicedClasses(answer);
      draw(found);
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      const { message, hint } = explain(error);
      report(message, hint);
      main.replaceChildren(h("p", { class: "aw-hint" }, `${message} ${hint}`.trim()));
    } finally {
      clearTimeout(late);
      waiting.hidden = true;
      root.removeAttribute("aria-busy");
    }
  }

  stops.push(firstToken(below, stage));
  void load();
  return {
    dispose() {
      for (const stop of stops) stop();
      root.remove();
    },
    table: () => (found === null ? null : classesTable(found)),
  };
}
