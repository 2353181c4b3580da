/** Classes as one table: logit, exponential, probability with its bar, the sum; and classes compared. */

import {
  CLASS_SIGMOID,
  CLASS_SIGMOID_SPOKEN,
  CLASS_SOFTMAX,
  CLASS_SOFTMAX_SPOKEN,
  CLASS_VALUE,
  CLASS_VALUE_SPOKEN,
  SIGMOID_REFERENCES,
  SOFTMAX_REFERENCES,
  sigmoidWithNumbers,
} from "../figures/class-formulas";
import {
  type Activation,
  closingColumn,
  closingSigmoids,
  oddsOf,
  type SoftmaxColumn,
} from "../figures/classes";
import { largest } from "../figures/derive/matrix";
import { exact, formatCount, formatNumber, formatPercent, visible } from "../figures/format";
import { softmaxWithNumbers } from "../figures/formulas";
import type { MathNode } from "../figures/math";
import { h, setAttributes, step } from "./dom";
import { mathElement, wrappingEquation } from "./math";

/** A name longer than this would tear the equation apart. */
const NAME_MOST = 14;
/** Of a value that nothing follows from. */
const VALUE_DIGITS = 4;

export interface ClassesOptions {
  /** What a term is: a class, or a position. */
  readonly term: string;
  /** Terms with their own line; the others share one. Null: all of them. */
  readonly listed: number | null;
  readonly compare: boolean;
  /** Whether the formula in symbols and its sources stand beside the table. */
  readonly formula: boolean;
  readonly part: string;
  /** Hears of the ticked classes, at first too. */
  onCompare?(classes: readonly number[]): void;
}

export interface Classes {
  readonly element: HTMLElement;
  /** Ticked classes stay as long as the classes are the same ones. */
  show(column: SoftmaxColumn, caption: string): void;
}

/** A label as text that stays where it is, whatever it holds. */
const named = (label: string): HTMLElement =>
  h("bdi", { class: "aw-class-name", dir: "auto" }, visible(label));

const fixed = (value: number, decimals: number): string =>
  value.toFixed(decimals).replace("-", "−");

function numberCell(value: number, text: string): HTMLElement {
  return h("td", { class: "aw-number", "data-aw-value": exact(value), title: exact(value) }, text);
}

const FORMULAS: Record<Activation, readonly [MathNode, string]> = {
  softmax: [CLASS_SOFTMAX, CLASS_SOFTMAX_SPOKEN],
  sigmoid: [CLASS_SIGMOID, CLASS_SIGMOID_SPOKEN],
  identity: [CLASS_VALUE, CLASS_VALUE_SPOKEN],
};

export const references = (activation: Activation = "softmax"): HTMLElement =>
  h(
    "ul",
    { class: "aw-references" },
    ...(activation === "softmax" ? SOFTMAX_REFERENCES : SIGMOID_REFERENCES).map(({ text, doi }) =>
      h("li", {}, `${text}. doi:${doi}`),
    ),
  );

export function createClasses(
  { term, listed, compare, formula, part, onCompare }: ClassesOptions,
  signal: AbortSignal,
): Classes {
  const caption = h("caption", { class: "aw-classes-caption" });
  const head = h("thead");
  const body = h("tbody");
  const foot = h("tfoot");
  const table = h(
    "table",
    { class: "aw-classes", role: "grid", "data-aw-part": part },
    caption,
    head,
    body,
    foot,
  );
  const equation = h("div", { class: "aw-classes-equation" });
  const sources = h("div");
  const odds = h("div", { class: "aw-odds", "data-aw-part": "odds" });
  const side = h(
    "div",
    { class: "aw-classes-side" },
    equation,
    compare ? odds : null,
    formula ? sources : null,
  );
  const scroll = h("div", { class: "aw-classes-scroll" }, table);
  const element = h("div", { class: "aw-classes-block" }, scroll, side);
  let column: SoftmaxColumn | null = null;
  let chosen = -1;
  let compared: number[] = [];
  let labels = "";

  const headCell = (text: string, title: string, kind = ""): HTMLElement =>
    h("th", { scope: "col", title, class: kind }, text);

  function show(next: SoftmaxColumn, words: string): void {
    column = next;
    const { activation } = next;
    sources.replaceChildren(...(activation === "identity" ? [] : [references(activation)]));
    const key = next.labels.join("\n");
    const best = largest(next.logits, compare ? 2 : 1);
    if (key !== labels || listed !== null) {
      labels = key;
      compared = best;
      chosen = next.best;
    }
    caption.textContent = words;
    const count = next.labels.length;
    const indices =
      listed === null || count <= listed
        ? next.labels.map((_, i) => i)
        : largest(next.logits, listed);
    const rest = indices.length === count ? 0 : next.sum - total(indices.map((i) => next.exp[i]));
    const part: SoftmaxColumn = {
      ...next,
      labels: indices.map((i) => next.labels[i]),
      logits: indices.map((i) => next.logits[i]),
      exp: indices.map((i) => next.exp[i]),
      probabilities: indices.map((i) => next.probabilities[i]),
    };
    const digits =
      activation === "sigmoid" ? closingSigmoids(part) : closingColumn(part, Math.max(0, rest));
    const marked = (i: number): boolean =>
      activation === "sigmoid" && count > 1 ? next.probabilities[i] >= 0.5 : i === next.best;
    const tag =
      activation === "sigmoid" && count > 1 ? "50% or more" : count > 1 ? "largest" : null;
    head.replaceChildren(
      h(
        "tr",
        {},
        ...(compare ? [headCell("vs", "Tick classes to compare them", "aw-class-tick")] : []),
        headCell(term, `${formatCount(count)} in the model's own order`, "aw-class-label"),
        ...(activation === "identity"
          ? [headCell("value z", "the output itself")]
          : [
              headCell("logit z", `largest: ${exact(next.logitMax)}`),
              activation === "softmax"
                ? headCell("exp(z − max)", "exponential of the logit minus the largest logit")
                : headCell("exp(−z)", "exponential of minus the logit"),
              headCell(
                "probability",
                activation === "softmax" ? "exponential over the sum" : "1 / (1 + exponential)",
              ),
              headCell("0 to 100%", "probability as a bar", "aw-class-bars"),
            ]),
      ),
    );
    body.replaceChildren(
      ...indices.map((i) => {
        const bar = h("span", { class: "aw-class-bar", "aria-hidden": "true" });
        if (activation !== "identity") bar.style.inlineSize = `${100 * next.probabilities[i]}%`;
        const name = h(
          "button",
          {
            type: "button",
            class: "aw-class-button",
            tabindex: -1,
            "data-index": i,
            title: next.labels[i],
          },
          named(next.labels[i]),
        );
        return h(
          "tr",
          { class: marked(i) ? "is-best" : null, "data-index": i },
          ...(compare
            ? [
                h(
                  "td",
                  { class: "aw-class-tick" },
                  h("input", {
                    type: "checkbox",
                    tabindex: -1,
                    "data-index": i,
                    "aria-label": `Compare ${visible(next.labels[i])}`,
                  }),
                ),
              ]
            : []),
          h(
            "th",
            { scope: "row", class: "aw-class-label" },
            h(
              "div",
              { class: "aw-class-line" },
              name,
              marked(i) && tag !== null ? h("span", { class: "aw-class-best" }, tag) : null,
            ),
          ),
          ...(activation === "identity"
            ? [numberCell(next.logits[i], formatNumber(next.logits[i], VALUE_DIGITS))]
            : [
                numberCell(next.logits[i], fixed(next.logits[i], digits.logit)),
                numberCell(next.exp[i], formatNumber(next.exp[i], digits.exp)),
                numberCell(next.probabilities[i], formatPercent(next.probabilities[i])),
                h("td", { class: "aw-class-bars" }, h("span", { class: "aw-class-track" }, bar)),
              ]),
        );
      }),
    );
    const line = (name: string, kind: string, exp: number, text: string, share: number) =>
      h(
        "tr",
        { class: kind },
        ...(compare ? [h("td")] : []),
        h("th", { scope: "row", class: "aw-class-label" }, name),
        h("td"),
        numberCell(exp, text),
        numberCell(share, share === 1 ? "100%" : formatPercent(share)),
        h("td"),
      );
    const others = count - indices.length;
    foot.replaceChildren(
      ...(others > 0
        ? [
            line(
              `${formatCount(others)} others`,
              "aw-class-rest",
              rest,
              formatNumber(Math.max(0, rest), digits.exp),
              rest / next.sum,
            ),
          ]
        : []),
      ...(activation === "softmax"
        ? [line("sum", "aw-sum", next.sum, formatNumber(next.sum, digits.sum), 1)]
        : []),
    );
    mark();
    if (compare) onCompare?.(compared);
    rove(null);
    requestAnimationFrame(() => {
      const best = body.querySelector<HTMLElement>(".is-best");
      if (best) reveal(best);
    });
  }

  /** Scroll the table alone; `scrollIntoView` would move the notebook. */
  function reveal(row: HTMLElement): void {
    const top = row.offsetTop - head.offsetHeight;
    const bottom = row.offsetTop + row.offsetHeight + foot.offsetHeight;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    else if (bottom > scroll.scrollTop + scroll.clientHeight) {
      scroll.scrollTop = bottom - scroll.clientHeight;
    }
  }

  const total = (values: readonly number[]): number => values.reduce((sum, v) => sum + v, 0);

  function mark(): void {
    if (column === null) return;
    for (const row of body.rows) {
      const index = Number(row.dataset.index);
      setAttributes(row, { "aria-current": index === chosen ? "true" : null });
      const tick = row.querySelector("input");
      if (tick) tick.checked = compared.includes(index);
    }
    write();
    if (compare) weigh();
  }

  /** The equation in symbols, and with the numbers of the chosen term. */
  function write(): void {
    if (column === null || chosen < 0) return;
    const label = visible(column.labels[chosen]);
    const short =
      [...label].length > NAME_MOST ? `${[...label].slice(0, NAME_MOST).join("")}…` : label;
    const [symbols, spoken] = FORMULAS[column.activation];
    const numbers =
      column.activation === "softmax"
        ? softmaxWithNumbers({
            token: short,
            logit: column.logits[chosen],
            logitMax: column.logitMax,
            exp: column.exp[chosen],
            sumExp: column.sum,
            probability: column.probabilities[chosen],
          })
        : column.activation === "sigmoid"
          ? sigmoidWithNumbers(short, column, chosen)
          : null;
    equation.replaceChildren(
      ...(formula ? [mathElement(symbols, spoken)] : []),
      ...(numbers === null ? [] : [wrappingEquation(numbers.node, numbers.spoken)]),
    );
  }

  /** The largest of the ticked classes against each of the others, in words. */
  function weigh(): void {
    if (column === null) return;
    const of = column;
    if (of.activation !== "softmax") {
      odds.replaceChildren();
      return;
    }
    const title = h("h4", { class: "aw-odds-title" }, "Compared");
    const [first, ...others] = [...compared].sort((a, b) => of.logits[b] - of.logits[a] || a - b);
    if (others.length === 0) {
      odds.replaceChildren(
        title,
        h("p", { class: "aw-hint" }, "Tick two or more to compare them."),
      );
      return;
    }
    const value = (exactly: number, text: string): HTMLElement =>
      h(
        "strong",
        { class: "aw-number", "data-aw-value": exact(exactly), title: exact(exactly) },
        text,
      );
    odds.replaceChildren(
      title,
      ...others.map((other) => {
        const { difference, ratio, digits } = oddsOf(of, first, other);
        const even = formatNumber(ratio) === "1.00";
        return h(
          "p",
          { class: "aw-odds-line" },
          named(of.labels[first]),
          " is ",
          ...(even
            ? ["as probable as "]
            : [value(ratio, formatNumber(ratio)), " times as probable as "]),
          named(of.labels[other]),
          h(
            "span",
            { class: "aw-odds-why" },
            "logit difference ",
            value(difference, formatNumber(difference, digits)),
            " = log odds, ",
            h("span", {}, "e"),
            h("sup", {}, formatNumber(difference, digits)),
            ` = ${formatNumber(ratio)}`,
          ),
        );
      }),
    );
  }

  const controls = (row: HTMLTableRowElement): HTMLElement[] => [
    ...row.querySelectorAll<HTMLElement>("input, button"),
  ];
  /** One control is reached with Tab. */
  function rove(to: HTMLElement | null): void {
    const row = [...body.rows].find(({ dataset }) => Number(dataset.index) === chosen);
    const entry = to ?? row?.querySelector<HTMLElement>("button") ?? null;
    for (const other of body.querySelectorAll('[tabindex="0"]')) {
      other.setAttribute("tabindex", "-1");
    }
    entry?.setAttribute("tabindex", "0");
  }

  body.addEventListener(
    "click",
    (event) => {
      const row = (event.target as Element).closest("tr");
      if (row === null || (event.target as Element).closest("input") !== null) return;
      if (document.getSelection()?.isCollapsed === false) return;
      chosen = Number(row.dataset.index);
      mark();
      rove(row.querySelector<HTMLElement>("button"));
    },
    { signal },
  );
  body.addEventListener(
    "change",
    (event) => {
      const tick = event.target as HTMLInputElement;
      const index = Number(tick.dataset.index);
      compared = tick.checked ? [...compared, index] : compared.filter((other) => other !== index);
      rove(tick);
      weigh();
      onCompare?.(compared);
    },
    { signal },
  );
  body.addEventListener(
    "keydown",
    (event) => {
      const control = event.target as HTMLElement;
      const row = control.closest("tr");
      if (row === null || event.ctrlKey || event.metaKey || event.altKey) return;
      const across = /^Arrow(Left|Right)$/.test(event.key);
      const own = controls(row);
      const at = own.indexOf(control);
      const rows = [...body.rows];
      const to = across
        ? own[step(event.key, at, own.length) ?? at]
        : controls(rows[step(event.key, rows.indexOf(row), rows.length) ?? -1] ?? row)[at];
      if (step(event.key, 0, 1) === null || to === undefined) return;
      rove(to);
      to.focus({ preventScroll: true });
      const line = to.closest("tr");
      if (line) reveal(line);
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
  return { element, show };
}
