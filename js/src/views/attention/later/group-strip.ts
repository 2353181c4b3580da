/** Below the picture: what the gathered tokens receive and give together. */

import { h } from "../../../draw/dom";
import { groupSums } from "../../../figures/derive/group";
import { largest } from "../../../figures/derive/matrix";
import { repeated } from "../../../figures/derive/units";
import type { Matrix } from "../../../figures/matrix";
import { itemAt } from "../../../protocol/required";
import type { ViewContext } from "../../contract";
import { membersOf, named, number } from "../group";

/** Keys in the list of a group, and names of the group. */
const MOST = { given: 3, named: 8 } as const;

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
      : h("p", { class: "aw-muted" }, `${hidden} of the group not shown and not counted.`);
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
