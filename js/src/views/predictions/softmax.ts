/** One softmax opened up: the equation with its numbers, its terms, and where the probability goes. */

import { whyButton } from "../../draw/classes/why-button";
import { h } from "../../draw/dom";
import { mathElement } from "../../draw/math";
import {
  exact,
  formatCount,
  formatNumber,
  formatPercent,
  type TokenScheme,
  tokenElement,
  tokenLabel,
  visible,
} from "../../figures/format";
import { SOFTMAX, SOFTMAX_SPOKEN, softmaxWithNumbers } from "../../figures/formulas";
import type { RunContext } from "../contract";
import { type Entry, type Mode, type Softmax, targetOf, terms } from "./data";

/** Terms written out above the line "others". */
const TERMS = 6;
/** A segment narrower than this share of the bar has no room for its name. */
const NAMED_SEGMENT = 0.09;

export interface Opened {
  readonly softmax: Softmax;
  readonly chosen: Entry;
  readonly originalId: number;
}

/** Draw into `panel`; `choose` is called with another term's id, `why` leads to its reasons. */
export function drawSoftmax(
  panel: HTMLElement,
  { softmax, chosen, originalId }: Opened,
  scheme: TokenScheme,
  choose: (tokenId: number) => void,
  why: HTMLElement | null = null,
): void {
  const numbers = softmaxWithNumbers({
    ...terms(softmax, chosen),
    token: visible(chosen.token),
  });
  const equation = h(
    "div",
    { class: "aw-softmax-equation" },
    mathElement(SOFTMAX, SOFTMAX_SPOKEN),
    mathElement(numbers.node, numbers.spoken),
    h(
      "p",
      { class: "aw-view-note" },
      `z are logits, and the sum runs over all ${formatCount(softmax.vocabSize)} entries of the ` +
        `vocabulary. Uniform chance would be ${formatNumber(1 / softmax.vocabSize)}.`,
    ),
    why,
  );
  panel.replaceChildren(
    equation,
    termTable(softmax, chosen, originalId, scheme, choose),
    massBar(softmax, chosen),
  );
}

/** The way to the reasons for an entry; null at special tokens, which are not predicted. */
export function whyOf(
  context: RunContext,
  { softmax, chosen }: Omit<Opened, "originalId">,
  mode: Mode,
): HTMLElement | null {
  return context.source.meta.tokens.special[softmax.position]
    ? null
    : whyButton(context, targetOf(softmax, chosen, mode), chosen.token);
}

function number(value: number, text: string): HTMLElement {
  return h("td", { "data-aw-value": exact(value), title: exact(value) }, text);
}

function termTable(
  { entries, logitMax, sumExp, vocabSize }: Softmax,
  chosen: Entry,
  originalId: number,
  scheme: TokenScheme,
  choose: (tokenId: number) => void,
): HTMLElement {
  const listed = entries.slice(0, TERMS);
  if (!listed.some(({ id }) => id === chosen.id)) listed.splice(TERMS - 1, 1, chosen);
  const restExp = sumExp - listed.reduce((total, { exp }) => total + exp, 0);
  const rows = listed.map((entry) => {
    const label = tokenLabel(entry.token, scheme);
    const button = h(
      "button",
      { "data-token-id": entry.id, "aria-pressed": String(entry.id === chosen.id) },
      tokenElement(label),
    );
    button.addEventListener("click", () => choose(entry.id));
    const row = h(
      "tr",
      { class: entry.id === originalId ? "is-original" : null },
      h("td", { class: "aw-rank" }, formatCount(entry.rank)),
      h("th", { scope: "row" }, button),
      number(entry.logit, formatNumber(entry.logit, 4)),
      number(entry.exp, formatNumber(entry.exp)),
      number(entry.probability, formatPercent(entry.probability)),
    );
    if (entry.id === chosen.id) row.setAttribute("aria-current", "true");
    return row;
  });
  const head = (text: string, title: string): HTMLElement => h("th", { scope: "col", title }, text);
  const others = vocabSize - listed.length;
  return h(
    "table",
    { class: "aw-terms" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head("rank", "1 is the most probable"),
        head("entry", "entry of the vocabulary"),
        head("logit z", `largest logit: ${exact(logitMax)}`),
        head("exp(z − max)", "exponential of the logit minus the largest logit"),
        head("probability", "exponential over the sum"),
      ),
    ),
    h("tbody", {}, ...rows),
    h(
      "tfoot",
      {},
      h(
        "tr",
        {},
        h("td", {}),
        h("th", { scope: "row" }, `${formatCount(others)} others`),
        h("td", {}),
        number(restExp, formatNumber(Math.max(0, restExp))),
        number(restExp / sumExp, formatPercent(Math.max(0, restExp / sumExp))),
      ),
      h(
        "tr",
        { class: "aw-sum" },
        h("td", {}),
        h("th", { scope: "row" }, "sum"),
        h("td", {}),
        number(sumExp, formatNumber(sumExp)),
        number(1, "100%"),
      ),
    ),
  );
}

function massBar({ entries, vocabSize }: Softmax, chosen: Entry): HTMLElement {
  const mass = entries.reduce((total, { probability }) => total + probability, 0);
  const rest = Math.max(0, 1 - mass);
  const segments = entries.map((entry) => {
    const segment = h(
      "span",
      {
        class: entry.id === chosen.id ? "aw-mass-part is-chosen" : "aw-mass-part",
        title: `${visible(entry.token)} ${formatPercent(entry.probability)}`,
        "data-token-id": entry.id,
        "data-aw-value": exact(entry.probability),
      },
      entry.probability >= NAMED_SEGMENT ? h("bdi", {}, visible(entry.token)) : null,
    );
    segment.style.width = `${(entry.probability * 100).toFixed(4)}%`;
    return segment;
  });
  const remainder = h("span", {
    class: "aw-mass-part is-rest",
    title: `other entries ${formatPercent(rest)}`,
    "data-aw-value": exact(rest),
  });
  const caption =
    `top ${entries.length}: ${formatPercent(mass)}; ` +
    `the other ${formatCount(vocabSize - entries.length)} entries: ${formatPercent(rest)}`;
  return h(
    "figure",
    { class: "aw-mass" },
    h(
      "div",
      { class: "aw-mass-bar", role: "img", "aria-label": `Probability: ${caption}` },
      ...segments,
      remainder,
    ),
    h("figcaption", {}, caption),
  );
}
