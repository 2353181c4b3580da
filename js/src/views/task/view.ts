/** The classifier's answer, its softmax in full, and the attention of the first token. */

import { createClasses } from "../../draw/classes/table";
import { whyButton } from "../../draw/classes/why-button";
import { h } from "../../draw/dom";
import { QUIET_MS } from "../../draw/wait";
import {
  type Activation,
  CLASSIFICATION,
  type Classification,
  classesOf,
  classesTable,
  type SoftmaxColumn,
  slicedClasses,
  type TaskKind,
  termOf,
} from "../../figures/classes";
import { largest } from "../../figures/derive/matrix";
import {
  copyExactValues,
  exact,
  formatCount,
  formatNumber,
  formatPercent,
  visible,
} from "../../figures/format";
import { explain, isAbort } from "../../protocol/failure";
import type { ViewContext, ViewHandle } from "../contract";
import { textsBeside } from "./beside";
import { firstToken } from "./first";
import { classGradients } from "./gradient";
import { answerSpan } from "./span";
import { tokenClasses } from "./tokens";

const TITLES: Record<TaskKind, string> = {
  sequence: "Class of the text",
  token: "Classes of the tokens",
  question_answering: "Answer",
};

const HEADS: Record<Activation, string> = {
  softmax: "Class of the text",
  sigmoid: "Labels of the text",
  identity: "Value of the text",
};
const TERMS: Record<Activation, string> = {
  softmax: "class",
  sigmoid: "label",
  identity: "output",
};
const CAPTIONS: Record<Activation, string> = {
  softmax: "Softmax over the classes, in the model's order",
  sigmoid:
    "Sigmoid of each label separately, in the model's order. No softmax: the probabilities need not add up to 1",
  identity: "Regression: the value is the output itself; neither softmax nor sigmoid applies",
};
/** The same of one output. */
const ALONE: Record<Activation, string> = {
  ...CAPTIONS,
  sigmoid: "Sigmoid of the one output; softmax does not apply",
};
/** Labels that the headline names. */
const NAMED = 3;

/** The classifier's answer, in one line. */
function verdictOf(column: SoftmaxColumn): (Node | string)[] {
  const { activation, labels, probabilities } = column;
  const number = (value: number, text: string): HTMLElement =>
    h("strong", { class: "aw-number", "data-aw-value": exact(value), title: exact(value) }, text);
  const named = (label: string): HTMLElement =>
    h("bdi", { class: "aw-verdict-label", title: label }, visible(label));
  if (activation === "identity") {
    if (labels.length > 1) return [`${formatCount(labels.length)} values`];
    const { label, logit } = termOf(column, 0);
    return [named(label), " = ", number(logit, formatNumber(logit, 4))];
  }
  if (activation === "softmax" || labels.length === 1) {
    const { label, probability } = termOf(column, column.best);
    return [named(label), " with ", number(probability, formatPercent(probability))];
  }
  const likely = largest(probabilities, labels.length)
    .map((i) => termOf(column, i))
    .filter(({ probability }) => probability >= 0.5);
  const head = `${formatCount(likely.length)} of ${formatCount(labels.length)} at 50% or more`;
  if (likely.length === 0) return [head];
  return [
    `${head}: `,
    ...likely.slice(0, NAMED).flatMap(({ label }, k) => [...(k > 0 ? [", "] : []), named(label)]),
    likely.length > NAMED ? " …" : "",
  ];
}

/** The class that the text had before heads were switched off. */
async function addIntactVerdict(
  verdict: HTMLElement,
  { source, signal }: ViewContext,
): Promise<void> {
  if (!source.meta.heads_off?.length) return;
  try {
    const { data } = await source.slice({ kind: "intact" }, { signal });
    const was = data.classes as { label: string; probability: number } | null;
    if (was === null) return;
    const number = formatPercent(was.probability);
    const label = h("bdi", {}, visible(was.label));
    verdict.append(h("span", { class: "aw-muted" }, " with all heads ", label, ` ${number}`));
  } catch {
    // A saved page may lack it.
  }
}

export function task(element: HTMLElement, stage: ViewContext): ViewHandle {
  const { source, report, signal } = stage;
  let classification: Classification | null = null;
  const stops: (() => void)[] = [];
  const title = h("h3", { class: "aw-title" }, "Classifier");
  const verdict = h("p", { class: "aw-verdict", "data-aw-part": "verdict" });
  const main = h("div", { class: "aw-task-main", "data-aw-part": "task" });
  const waiting = h("p", { class: "aw-hint", hidden: true }, "Loading the classes …");
  const below = h("div", { class: "aw-task-first" });
  const between = h("div");
  const last = h("div");
  const root = h(
    "div",
    { class: "aw-task", dir: "ltr" },
    h("div", { class: "aw-panel-head" }, title, verdict),
    waiting,
    main,
    below,
    between,
    last,
  );
  element.append(root);
  copyExactValues(root, signal);

  function draw(of: Classification): void {
    title.textContent = TITLES[of.task];
    if (of.task === "token") {
      verdict.textContent = "Every token has its own softmax; that of the focus token is open.";
      stops.push(tokenClasses(main, stage, of));
    } else if (of.task === "question_answering") {
      stops.push(answerSpan(main, stage, of));
    } else {
      const classes = classesOf(of, 0);
      title.textContent = HEADS[of.activation];
      verdict.replaceChildren(...verdictOf(classes));
      const gradients = classGradients(between, stage, of);
      const beside = textsBeside(last, stage, of);
      stops.push(gradients.stop, beside.stop);
      void addIntactVerdict(verdict, stage);
      const compare = classes.labels.length > 1;
      const hear = (ticked: readonly number[]): void => {
        gradients.compare(ticked);
        beside.compare(ticked);
      };
      const table = createClasses(
        {
          term: TERMS[of.activation],
          listed: null,
          compare,
          formula: true,
          part: "classes",
          onCompare: hear,
        },
        signal,
      );
      table.show(classes, compare ? CAPTIONS[of.activation] : ALONE[of.activation]);
      if (of.note !== "") {
        main.append(h("p", { class: "aw-view-note", "data-aw-part": "activation-note" }, of.note));
      }
      main.append(table.element);
      const [best = 0, next] = largest(classes.probabilities, 2);
      const against = next === undefined ? {} : { against: next };
      const button = whyButton(stage, { ...against, label: best }, termOf(classes, best).label);
      if (button !== null) main.append(button);
      if (!compare) hear([0]);
    }
  }

  async function load(): Promise<void> {
    const late = setTimeout(() => {
      root.setAttribute("aria-busy", "true");
      waiting.hidden = false;
    }, QUIET_MS);
    try {
      const answer = await source.slice(CLASSIFICATION, { signal });
      if (signal.aborted) return;
      classification = slicedClasses(answer);
      draw(classification);
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
    table: () => (classification === null ? null : classesTable(classification)),
  };
}
