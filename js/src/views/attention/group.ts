/** Below the picture: who is attended to most, and what the gathered tokens receive and give together. */

import { h } from "../../draw/dom";
import { refill, rove } from "../../draw/roving";
import { groupSums } from "../../figures/derive/group";
import { largest } from "../../figures/derive/matrix";
import { repeated } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { errorOf, type Matrix } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";
import type { State } from "../../state/selection";
import type { ViewContext } from "../contract";

/** Names in the list of what receives most, keys in that of a group. */
const MOST = { attended: 5, given: 3, named: 8 } as const;

/** A weight of the matrix, a mean of such, or a sum of `terms` of them. */
function number(matrix: Matrix, value: number, terms = 1): HTMLElement {
  const error = errorOf(matrix, value, terms);
  return h(
    "span",
    { class: "aw-number aw-sum", "data-aw-value": exact(value, error), title: exact(value, error) },
    formatNumber(value, undefined, error),
  );
}

const named = (label: string): HTMLElement => h("bdi", { dir: "ltr" }, label);

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
  const chosen = largest(matrix.received, MOST.attended);
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

/** Weights that a group of tokens receives and gives; null without a group. */
export function groupStrip(
  { state }: ViewContext,
  matrix: Matrix,
  labels: readonly string[],
): HTMLElement | null {
  const { group, token } = state.get();
  if (group.length === 0) return null;
  const members = membersOf(matrix, group);
  const clear = h("button", { class: "aw-button aw-text-button" }, "Clear");
  clear.addEventListener("click", () => state.set({ group: [] }));
  const hidden = group.filter((one) => matrix.unitOf(one) < 0).length;
  const head = h(
    "div",
    { class: "aw-group-head" },
    h("strong", {}, members.length === 1 ? "1 token: " : `${members.length} tokens: `),
    ...members
      .slice(0, MOST.named)
      .flatMap((i, place) => [...(place > 0 ? [", "] : []), named(itemAt(labels, i))]),
    members.length > MOST.named ? ` and ${members.length - MOST.named} more` : null,
    clear,
  );
  const note =
    hidden === 0
      ? null
      : h("p", { class: "aw-muted" }, `${hidden} of the group not shown, and not counted.`);
  if (members.length === 0) return h("div", { class: "aw-group" }, head, note);

  const one = members.length === 1;
  const row = matrix.unitOf(token);
  const sums = groupSums(matrix.weights, matrix.size, members, row);
  const keys = largest(sums.given, MOST.given);
  const twice = repeated(labels);
  const name = (i: number): HTMLElement => {
    const label = itemAt(labels, i);
    return h(
      "span",
      {},
      named(label),
      twice.has(label)
        ? h("span", { class: "aw-muted aw-nth" }, String(matrix.units[i]?.token))
        : null,
    );
  };
  const line = (...content: (HTMLElement | string)[]): HTMLElement => h("p", {}, ...content);
  return h(
    "div",
    { class: "aw-group" },
    head,
    sums.fromRow === null
      ? null
      : line(
          one ? "It receives " : "Together they receive ",
          number(matrix, sums.fromRow, members.length),
          " of the row of ",
          name(row),
          one ? "." : " (sum over these keys).",
        ),
    line(
      `On average over all queries ${one ? "it receives" : "they receive"} `,
      number(matrix, sums.received, members.length),
      one ? ", and from itself " : ", and from one another ",
      number(matrix, sums.within, members.length),
      ".",
    ),
    line(
      one ? "It gives most to " : "Together they give most to ",
      ...keys.flatMap((i, place) => [
        ...(place > 0 ? [", "] : []),
        name(i),
        " ",
        number(matrix, itemAt(sums.given, i)),
      ]),
      one ? "." : " (mean of their rows).",
    ),
    note,
  );
}
