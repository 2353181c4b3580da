/** Below the picture: who is attended to most. */

import { h } from "../../draw/dom";
import { refill, rove } from "../../draw/roving";
import { largest } from "../../figures/derive/matrix";
import { repeated } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { errorOf, type Matrix } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";
import type { State } from "../../state/selection";
import type { ViewContext } from "../contract";

/** Names in the list of what receives most. */
const MOST = 5;

/** A weight of the matrix, a mean of such, or a sum of `terms` of them. */
export function number(matrix: Matrix, value: number, terms = 1): HTMLElement {
  const error = errorOf(matrix, value, terms);
  return h(
    "span",
    { class: "aw-number aw-sum", "data-aw-value": exact(value, error), title: exact(value, error) },
    formatNumber(value, undefined, error),
  );
}

export const named = (label: string): HTMLElement => h("bdi", { dir: "ltr" }, label);

/** `Most received: [SEP] 0.420, cat 0.113 ...`: the column means, largest first; a click shows that token's row. */
export function attendedList({ state, signal }: ViewContext): {
  readonly element: HTMLElement;
  show(matrix: Matrix, labels: readonly string[]): void;
} {
  const name = h("span", {
    class: "aw-muted",
    title: "Mean over all queries of what each key receives",
  });
  const list = h("ol", { class: "aw-attended-list" });
  rove(list, signal);
  const element = h("div", { class: "aw-attended", "data-aw-part": "received" }, name, list);
  return {
    element,
    show(matrix, labels) {
      element.hidden = matrix.size === 0;
      name.textContent = matrix.quantity === "weights" ? "Most received" : "Most taken from";
      refill(list, attendedItems(state, matrix, labels));
    },
  };
}

function attendedItems(state: State, matrix: Matrix, labels: readonly string[]): HTMLElement[] {
  const chosen = largest(matrix.received, MOST);
  const twice = repeated(chosen.map((i) => itemAt(labels, i)));
  return chosen.map((i) => {
    const { token } = itemAt(matrix.units, i);
    const label = itemAt(labels, i);
    const button = h(
      "button",
      {
        class: "aw-attended-token",
        "data-token": token,
        title: `position ${token}`,
      },
      named(label),
      twice.has(label) ? h("span", { class: "aw-muted aw-nth" }, String(token)) : null,
      number(matrix, itemAt(matrix.received, i)),
    );
    button.addEventListener("click", () => state.set({ token }));
    return h("li", {}, button);
  });
}

/** The units of a group that are on screen. */
export function membersOf({ unitOf }: Matrix, group: readonly number[]): number[] {
  return [...new Set(group.map((token) => unitOf(token)).filter((unit) => unit >= 0))];
}
