/** One link in numbers: the card at the pointer, and the strip with its arithmetic. */

import { h } from "../draw/dom";
import { ABSENT, exact, formatNumber, formatPercent } from "../draw/format";
import type { Matrix } from "../matrix";
import type { Link } from "../pairs";

function figure(name: string, value: number | null, text?: string): HTMLElement {
  return h(
    "div",
    { class: "aw-figure" },
    h("dt", {}, name),
    h(
      "dd",
      { class: "aw-number", "data-aw-value": value === null ? null : exact(value) },
      value === null ? ABSENT : (text ?? formatNumber(value)),
    ),
  );
}

function heading(
  { units }: Matrix,
  row: number,
  column: number,
  labels: readonly string[],
): HTMLElement {
  const name = (index: number): HTMLElement => {
    const unit = units[index]!;
    const readable = unit.surface !== labels[index] && !unit.special ? unit.surface : null;
    return h(
      "span",
      { class: "aw-link-end" },
      h("bdi", { dir: "ltr" }, labels[index]!),
      readable === null ? null : h("bdi", { class: "aw-muted" }, readable),
    );
  };
  const at = `position ${units[row]!.token} to ${units[column]!.token}`;
  return h(
    "div",
    { class: "aw-link-ends", title: at },
    name(row),
    h("span", { class: "aw-muted" }, "→"),
    name(column),
    h("span", { class: "aw-muted aw-link-at" }, `${units[row]!.token} → ${units[column]!.token}`),
  );
}

/** The card at the pointer. */
export function linkCard(
  matrix: Matrix,
  row: number,
  column: number,
  labels: readonly string[],
  link: Link,
): HTMLElement {
  const impossible = matrix.allowed !== null && matrix.allowed[row * matrix.size + column] === 0;
  return h(
    "div",
    { class: "aw-link-card", "data-aw-part": "link", "data-aw-row": row, "data-aw-column": column },
    heading(matrix, row, column, labels),
    impossible
      ? h("p", { class: "aw-muted" }, "masked: this query cannot see this key")
      : h(
          "dl",
          { class: "aw-figures" },
          figure("weight", link.weight),
          figure("share of row", link.share, formatPercent(link.share)),
          figure("scaled score", link.score),
          figure("q · k", link.product),
        ),
  );
}

/** The pinned pair: how the weight comes about. */
export function linkStrip(
  matrix: Matrix,
  row: number,
  column: number,
  labels: readonly string[],
  link: Link,
  unpin: () => void,
): HTMLElement {
  const close = h(
    "button",
    { type: "button", class: "aw-button", "aria-label": "Unpin this pair", title: "Unpin" },
    "×",
  );
  close.addEventListener("click", unpin);
  const sign = (text: string): HTMLElement =>
    h("span", { class: "aw-sign", "aria-hidden": "true" }, text);
  const steps: (HTMLElement | null)[] = [];
  const scaled = link.product !== null && link.scaling !== null && link.score !== null;
  if (scaled) {
    const bias = link.score! - link.product! * link.scaling!;
    const exactly = Math.abs(bias) < 1e-4 * Math.max(1, Math.abs(link.score!));
    steps.push(
      figure("q · k", link.product),
      sign("×"),
      figure("scale", link.scaling),
      ...(exactly ? [] : [sign("+"), figure("mask, bias", bias)]),
      sign("="),
    );
  }
  if (link.score !== null) {
    steps.push(
      figure("scaled score", link.score),
      sign("→"),
      figure("exp(score − max)", link.exponential),
      sign("÷"),
      figure("sum of the row", link.sum),
      sign("="),
    );
  }
  steps.push(figure("weight", link.weight));
  // Where a row is shown whole, share and weight are one number.
  if (Math.abs(link.share - link.weight) > 1e-3 * link.weight) {
    steps.push(sign("·"), figure("share of row", link.share, formatPercent(link.share)));
  }
  const why =
    matrix.head === "mean"
      ? "The mean head averages weights; it has no scores of its own."
      : link.score === null && matrix.units.some(({ token, end }) => end - token > 1)
        ? "Words average several rows and columns; single tokens have scores."
        : null;
  return h(
    "div",
    { class: "aw-pinned" },
    heading(matrix, row, column, labels),
    h("dl", { class: "aw-figures aw-chain" }, ...steps),
    why === null ? null : h("span", { class: "aw-muted" }, why),
    close,
  );
}
