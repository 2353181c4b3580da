/** One token of the tree in numbers: the card at the pointer, and its accessible name. */

import { h } from "../../draw/dom";
import type { TreeNode } from "../../figures/derive/tree";
import { ABSENT, exact, formatCount, formatNumber, formatOrdinal } from "../../figures/format";

export interface NodeFacts {
  readonly node: TreeNode;
  readonly name: string;
  /** The readable word, where it differs. */
  readonly word: string | null;
  /** Position in the text. */
  readonly token: number;
  readonly parent: { readonly name: string; readonly token: number } | null;
  readonly siblings: number;
  readonly children: number;
  /** Null where there is none, or not yet. */
  readonly score: number | null;
  /** How far the three numbers may be off; 0 where they are exact. */
  readonly errors: { readonly weight: number; readonly product: number; readonly score: number };
  /** Why there is no score; null when there is, or will be. */
  readonly scoreAbsent: string | null;
  /** Name of a weight: attention weight or rollout. */
  readonly quantity: string;
}

const token = (name: string, index: number): HTMLElement =>
  h(
    "span",
    { class: "aw-tree-name" },
    h("bdi", { dir: "ltr" }, name),
    h("span", { class: "aw-muted aw-number" }, ` ${index}`),
  );

function figure(
  name: string,
  value: number | null,
  part: string,
  error = 0,
  write = (one: number): string => formatNumber(one, undefined, error),
): HTMLElement {
  return h(
    "div",
    { class: "aw-figure" },
    h("dt", {}, name),
    h(
      "dd",
      {
        class: "aw-number",
        "data-aw-part": part,
        "data-aw-value": value === null ? null : exact(value, error),
      },
      value === null ? ABSENT : write(value),
    ),
  );
}

export function nodeCard(facts: NodeFacts): HTMLElement {
  const { node, parent, scoreAbsent } = facts;
  return h(
    "div",
    { class: "aw-tree-card", "data-aw-part": "tree-card" },
    h(
      "p",
      { class: "aw-tree-card-title" },
      token(facts.name, facts.token),
      facts.word === null ? null : h("bdi", { class: "aw-muted" }, facts.word),
    ),
    parent === null
      ? h("p", { class: "aw-muted" }, "the root")
      : h(
          "p",
          { class: "aw-muted" },
          `${formatOrdinal(node.order)} of ${facts.siblings} children of `,
          token(parent.name, parent.token),
        ),
    h(
      "dl",
      { class: "aw-figures" },
      ...(parent === null
        ? []
        : [
            figure(facts.quantity, node.weight, "tree-weight", facts.errors.weight),
            figure("path product", node.product, "tree-product", facts.errors.product),
            figure("scaled score", facts.score, "tree-score", facts.errors.score),
          ]),
      figure("children", facts.children, "tree-children", 0, formatCount),
    ),
    parent === null || scoreAbsent === null
      ? null
      : h("p", { class: "aw-muted aw-tree-why" }, `No score: ${scoreAbsent}.`),
  );
}

export function spokenNode(facts: NodeFacts): string {
  const { node, parent } = facts;
  const name = `${facts.name}, position ${facts.token}`;
  const children = `${facts.children} ${facts.children === 1 ? "child" : "children"}`;
  if (parent === null) return `${name}, root, ${children}`;
  const { errors } = facts;
  const said = (value: number, error: number): string => formatNumber(value, undefined, error);
  const score = facts.score === null ? "" : `, scaled score ${said(facts.score, errors.score)}`;
  return (
    `${name}, ${facts.quantity} ${said(node.weight ?? Number.NaN, errors.weight)}, ` +
    `path product ${said(node.product, errors.product)}${score}, ${children}`
  );
}
