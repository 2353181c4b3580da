/** The matrix as a table: for reading by screen reader, and for copying. */

import { h } from "../../draw/dom";
import { exact, formatNumber } from "../../figures/format";
import { errorOf, type Matrix } from "../../figures/matrix";
import { calledOf } from "../../figures/quantities";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../contract";

/** Beyond this many rows and columns a table is not readable. */
const MOST = 40;

/** Name of the cells in the table's caption. */
const nameOf = ({ quantity, scores }: Matrix): string =>
  scores !== null
    ? "Scaled scores"
    : quantity === "weights"
      ? "Weights"
      : capital(calledOf(quantity));
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function twinTable(
  { state, signal }: ViewContext,
  matrix: () => Matrix | null,
  labels: () => readonly string[],
): { element: HTMLElement; refresh(): void } {
  const body = h("div", { class: "aw-table-scroll", tabindex: 0, role: "region" });
  const element = h(
    "details",
    { class: "aw-twin", "data-aw-part": "table" },
    h("summary", {}, "Table"),
    body,
  );

  function cell(shown: Matrix, index: number): HTMLElement {
    const value = itemAt(shown.scores ?? shown.weights, index);
    const error = shown.scores === null ? errorOf(shown, value) : (shown.scoreError ?? 0);
    return (shown.allowed !== null && shown.allowed[index] === 0) || value === -Infinity
      ? h("td", { class: "aw-number" }, "masked")
      : h(
          "td",
          { class: "aw-number", "data-aw-value": exact(value, error), title: exact(value, error) },
          formatNumber(value, undefined, error),
        );
  }

  function build(): void {
    const shown = matrix();
    if (!element.open || shown === null) {
      if (body.firstChild !== null) body.replaceChildren();
      return;
    }
    const names = labels();
    const { size } = shown;
    const count = Math.min(size, MOST);
    // Rows and columns around the focus token when the matrix is larger than a table can be.
    const focus = Math.max(0, shown.unitOf(state.get().token));
    const first = Math.max(0, Math.min(focus - Math.floor(MOST / 2), size - count));
    const range = Array.from({ length: count }, (_, i) => first + i);
    const part = size > count ? `, ${first} to ${first + count - 1} of ${size}` : "";
    body.setAttribute("aria-label", nameOf(shown));
    body.replaceChildren(
      h(
        "table",
        { class: "aw-table" },
        h("caption", {}, `${nameOf(shown)}: rows are queries, columns are keys${part}`),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td"),
            ...range.map((j) => h("th", { scope: "col" }, h("bdi", {}, itemAt(names, j)))),
          ),
        ),
        h(
          "tbody",
          {},
          ...range.map((i) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, h("bdi", {}, itemAt(names, i))),
              ...range.map((j) => cell(shown, i * size + j)),
            ),
          ),
        ),
      ),
    );
  }

  element.addEventListener("toggle", build, { signal });
  return { element, refresh: build };
}
