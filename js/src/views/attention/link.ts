/** One link in numbers: the card at the pointer, and the strip with its arithmetic. */

import { h } from "../../draw/dom";
import { byTouch } from "../../draw/touch";
import { ABSENT, exact, formatNumber, formatOrdinal, formatPercent } from "../../figures/format";
import type { Matrix } from "../../figures/matrix";
import type { Link } from "../../figures/pairs";
import { calledOf } from "../../figures/quantities";
import { itemAt } from "../../protocol/required";
import { laterParts } from "../contract";
import type { TokenFacts } from "./facts";

/** Digits of the arithmetic: enough that every step gives the next one as it is written. */
const DIGITS = { scale: 8, product: 7, score: 6, exponential: 4, sum: 5 } as const;
const WAITING = "…";

function figure(name: string, value: number | null, text?: string, error = 0): HTMLElement {
  return h(
    "div",
    { class: "aw-figure" },
    h("dt", {}, name),
    h(
      "dd",
      {
        class: "aw-number",
        "data-aw-value": value === null ? null : exact(value, error),
        title: value === null ? null : exact(value, error),
      },
      text ?? (value === null ? ABSENT : formatNumber(value, undefined, error)),
    ),
  );
}

/** `cat · 2 · id 4937 · NOUN`: one end of a link. */
function end(
  { units }: Matrix,
  index: number,
  label: string,
  facts: TokenFacts,
  role: "query" | "key",
): HTMLElement {
  const unit = itemAt(units, index);
  const readable = unit.surface !== label && !unit.special ? unit.surface : null;
  const pieces = unit.end - unit.token;
  const details = [
    pieces > 1 ? `${unit.token}–${unit.end - 1}, ${pieces} pieces` : `${unit.token}`,
    // Tokens from outside have no ids.
    ...(pieces > 1 || facts.id(unit.token) < 0 ? [] : [`id ${facts.id(unit.token)}`]),
    ...[facts.tags(unit.token), facts.window(unit.token, role)].filter((part) => part !== null),
  ];
  return h(
    "div",
    { class: "aw-link-end" },
    h("span", { class: "aw-muted aw-link-role" }, role),
    h("bdi", { dir: "ltr", class: "aw-link-name" }, label),
    readable === null ? null : h("bdi", { class: "aw-muted" }, readable),
    h("span", { class: "aw-muted aw-link-at" }, details.join(" · ")),
  );
}

function ends(
  matrix: Matrix,
  row: number,
  column: number,
  labels: readonly string[],
  facts: TokenFacts,
): HTMLElement {
  return h(
    "div",
    { class: "aw-link-ends" },
    end(matrix, row, itemAt(labels, row), facts, "query"),
    end(matrix, column, itemAt(labels, column), facts, "key"),
  );
}

const isImpossible = ({ allowed, size }: Matrix, row: number, column: number): boolean =>
  allowed !== null && allowed[row * size + column] === 0;

const impossible = (query: number, facts: TokenFacts): string =>
  facts.window(query) === null
    ? "masked: this query cannot see this key"
    : `N/A: this key is outside of the query’s ${facts.window(query)}`;

/** The card at the pointer; where scores are what the colors show, the score comes first. */
export function linkCard(
  matrix: Matrix,
  row: number,
  column: number,
  labels: readonly string[],
  link: Link,
  facts: TokenFacts,
): HTMLElement {
  const waiting = link.pending ? WAITING : undefined;
  const possible = matrix.allowed?.subarray(row * matrix.size, (row + 1) * matrix.size);
  const keys = possible?.reduce((sum, one) => sum + Math.sign(one), 0) ?? matrix.size;
  const { errors } = link;
  const called = calledOf(matrix.quantity);
  const weight = figure(called, link.weight, undefined, errors.weight);
  const absent = link.score === null ? waiting : undefined;
  const score = figure("scaled score", link.score, absent, errors.score);
  const shareText = formatPercent(link.share, undefined, errors.share);
  const share = figure("share of row", link.share, shareText, errors.share);
  const rank = h("span", { class: "aw-muted" }, ` ${formatOrdinal(link.rank)} of ${keys}`);
  share.querySelector("dd")?.append(rank);
  const noProduct = link.product === null ? waiting : undefined;
  const product = figure("q · k", link.product, noProduct, errors.product);
  return h(
    "div",
    { class: "aw-link-card", "data-aw-part": "link", "data-aw-row": row, "data-aw-column": column },
    ends(matrix, row, column, labels, facts),
    isImpossible(matrix, row, column)
      ? h("p", { class: "aw-muted" }, impossible(itemAt(matrix.units, row).token, facts))
      : h(
          "dl",
          { class: "aw-figures" },
          ...(matrix.scores === null
            ? [weight, share, score, product]
            : [score, weight, share, product]),
        ),
    link.absent === null ? null : h("p", { class: "aw-muted aw-link-why" }, `N/A: ${link.absent}.`),
  );
}

const sign = (text: string): HTMLElement =>
  h("span", { class: "aw-sign", "aria-hidden": "true" }, text);

/** From the dot product to the weight, every number as the next step takes it. */
export function arithmetic(matrix: Matrix, link: Link): HTMLElement {
  const steps: HTMLElement[] = [];
  const { product, scaling, score, rowMax, exponential, sum, errors } = link;
  const long = (value: number): string => formatNumber(value, DIGITS.score, errors.score);
  // exp(a difference of two scores), and a sum of such.
  const relative = Math.expm1(2 * errors.score);
  if (product !== null && scaling !== null && score !== null) {
    const bias = score - product * scaling;
    const exactly = Math.abs(bias) < 1e-4 * Math.max(1, Math.abs(score)) + errors.score;
    steps.push(
      figure(
        "q · k",
        product,
        formatNumber(product, DIGITS.product, errors.product),
        errors.product,
      ),
      sign("×"),
      // 1 / √64 is 0.125, not 0.12500000.
      figure("scale", scaling, String(Number(scaling.toPrecision(DIGITS.scale)))),
      ...(exactly ? [] : [sign("+"), figure("mask, bias", bias, long(bias), errors.score)]),
      sign("="),
    );
  }
  if (score !== null && rowMax !== null && exponential !== null && sum !== null) {
    steps.push(
      figure("scaled score", score, long(score), errors.score),
      sign("−"),
      figure("row max", rowMax, long(rowMax), errors.score),
      sign("→"),
      figure(
        "exp(score − max)",
        exponential,
        formatNumber(exponential, DIGITS.exponential, exponential * relative),
        exponential * relative,
      ),
      sign("÷"),
      figure("sum of the row", sum, formatNumber(sum, DIGITS.sum, sum * relative), sum * relative),
      sign("="),
    );
  }
  const called = calledOf(matrix.quantity);
  steps.push(figure(called, link.weight, undefined, errors.weight));
  // Where a row is shown whole, share and weight are one number.
  if (Math.abs(link.share - link.weight) > 1e-3 * link.weight) {
    const share = formatPercent(link.share, undefined, errors.share);
    steps.push(sign("·"), figure("share of row", link.share, share, errors.share));
  }
  return h("dl", { class: "aw-figures aw-chain" }, ...steps);
}

/** The pinned pair: how the weight comes about. */
export function linkStrip(
  host: Element,
  matrix: Matrix,
  row: number,
  column: number,
  labels: readonly string[],
  link: Link,
  facts: TokenFacts,
  unpin: () => void,
  sum: HTMLElement | null = null,
): HTMLElement {
  const close = h(
    "button",
    { class: "aw-button", "aria-label": "Unpin this pair", title: "Unpin" },
    "×",
  );
  close.addEventListener("click", unpin);
  const heading = ends(matrix, row, column, labels, facts);
  if (isImpossible(matrix, row, column)) {
    const why = h("p", { class: "aw-muted" }, "Masked: this query cannot see this key.");
    return h("div", { class: "aw-pinned" }, heading, why, close);
  }
  return h(
    "div",
    { class: "aw-pinned" },
    heading,
    link.q === null || link.k === null
      ? null
      : (laterParts()?.vectorStrips(host, link.q, link.k) ?? null),
    arithmetic(matrix, link),
    sum,
    link.absent === null || sum !== null
      ? null
      : h("p", { class: "aw-muted" }, `N/A: ${link.absent}.`),
    close,
  );
}

/** Placeholder while no pair is pinned. */
export const pairHint = (size: number): HTMLElement =>
  h(
    "p",
    { class: "aw-hint" },
    size === 0
      ? "The text has only special tokens, which are hidden: switch them on below."
      : byTouch()
        ? "Tap a cell for its numbers; tap again to pin it and open its arithmetic; hold labels to sum tokens."
        : "Hover for numbers; click a cell to pin it and open its arithmetic; " +
          "Ctrl + click labels to sum tokens.",
  );
