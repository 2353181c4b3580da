/** Classes as one table: logit, exponential, probability with its bar, the sum; and classes compared. */

import {
  closingColumn,
  closingSigmoids,
  type SoftmaxColumn,
  termOf,
  withTerms,
} from "../../figures/classes";
import { largest } from "../../figures/derive/matrix";
import { consume, h, setAttributes, step } from "../dom";
import { scrollDown } from "../scroll";
import { references, symbols, withNumbers } from "./formula";
import { comparison } from "./odds";
import { classRow, footRows, headRow } from "./rows";

export interface ClassesOptions {
  /** Kind of a term: a class, or a position. */
  readonly term: string;
  /** Terms with their own line; the others share one. Null: all of them. */
  readonly listed: number | null;
  readonly compare: boolean;
  /** Whether the formula in symbols and its sources are shown next to the table. */
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
    const terms = indices.map((index) => ({ index, ...termOf(next, index) }));
    const listedSum = terms.reduce((sum, { exp }) => sum + exp, 0);
    const rest = indices.length === count ? 0 : next.sum - listedSum;
    const part = withTerms(next, terms);
    const apart = activation === "sigmoid" && count > 1;
    const digits =
      activation === "sigmoid" ? closingSigmoids(part) : closingColumn(part, Math.max(0, rest));
    const tag = apart ? "50% or more" : count > 1 ? "largest" : null;
    head.replaceChildren(headRow(next, term, compare));
    body.replaceChildren(
      ...terms.map((own) => {
        const marked = apart ? own.probability >= 0.5 : own.index === next.best;
        return classRow(own, own.index, next, digits, { marked, tag, compare });
      }),
    );
    foot.replaceChildren(
      ...footRows(next, digits, { others: count - indices.length, rest, compare }),
    );
    mark();
    if (compare) onCompare?.(compared);
    rove(null);
    requestAnimationFrame(() => {
      const best = body.querySelector<HTMLElement>(".is-best");
      if (best) reveal(best);
    });
  }

  function reveal(row: HTMLElement): void {
    const { offsetTop: top, offsetHeight: height } = row;
    scrollDown(scroll, top - head.offsetHeight, top + height + foot.offsetHeight);
  }

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
    const numbers = withNumbers(column, chosen);
    equation.replaceChildren(
      ...(formula ? [symbols(column.activation)] : []),
      ...(numbers === null ? [] : [numbers]),
    );
  }

  function weigh(): void {
    if (column === null) return;
    odds.replaceChildren(...(column.activation === "softmax" ? comparison(column, compared) : []));
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
      consume(event);
    },
    { signal },
  );
  return { element, show };
}
