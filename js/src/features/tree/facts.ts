/** A token of the tree in full, as its pill, its card and screen readers give it. */

import { rampPosition } from "../../draw/color/scale";
import { formatNumber } from "../../figures/format";
import { scoreOf } from "../../figures/matrix";
import { calledOf } from "../../figures/quantities";
import type { Num } from "../../protocol/types";
import type { Scale } from "../../state/selection";
import type { Grown, TreeToken } from "./grown";
import type { TreeNode } from "./influence";
import type { EdgeScores } from "./scores";

export interface Facts extends TreeToken {
  readonly parent: TreeToken | null;
  /** Place among its siblings, 1 = the largest weight; 0 for the root. */
  readonly order: number;
  /** Children of its parent, itself included; 1 for the root. */
  readonly siblings: number;
  readonly children: number;
  /** Name of a weight: attention weight or rollout. */
  readonly quantity: string;
  /** Scaled score of the edge from its parent; null where there is none, or not yet. */
  readonly score: Num | null;
  /** Why there is no score; null when there is, or will be. */
  readonly scoreAbsent: string | null;
  /** Width of its edge, 0..1 of the widest. */
  readonly share: number;
  /** In words, for screen readers. */
  readonly spoken: string;
}

export function factsOf(node: TreeNode, of: Grown, scores: EdgeScores, scale: Scale): Facts {
  const { parent, order, weight } = node;
  const { matrix, below, whole } = of;
  const own = of.matrixOf(node);
  const score =
    own === matrix && parent !== null ? scores.of(matrix, parent.unit, node.unit) : null;
  const facts = {
    ...of.token(node),
    parent: parent && of.token(parent),
    order,
    siblings: parent === null ? 1 : whole.childrenOf(parent).length,
    children: whole.childrenOf(node).length,
    quantity: calledOf(own.quantity),
    score: score === null ? null : scoreOf(matrix, score),
    scoreAbsent:
      own === matrix ? scores.absent(matrix) : "the encoder’s links have their scores on its part",
    share: rampPosition(weight ?? 0, Math.max(matrix.max, below?.max ?? 0), scale),
  };
  return { ...facts, spoken: spokenOf(facts) };
}

function spokenOf({ name, token, children, quantity, ...numbers }: Omit<Facts, "spoken">): string {
  const { weight, product, score } = numbers;
  const below = `${children} ${children === 1 ? "child" : "children"}`;
  if (weight === null) return `${name}, position ${token}, root, ${below}`;
  return [
    `${name}, position ${token}`,
    `${quantity} ${formatNumber(weight)}`,
    `path product ${formatNumber(product)}`,
    ...(score === null ? [] : [`scaled score ${formatNumber(score)}`]),
    below,
  ].join(", ");
}
