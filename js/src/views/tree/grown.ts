/** The tree of a matrix from a root, with the names that its tokens have on screen. */

import {
  type InfluenceTree,
  influenceTree,
  type TreeNode,
  type TreeShape,
} from "../../figures/derive/tree";
import { tokenLabel } from "../../figures/format";
import type { Matrix } from "../../figures/matrix";
import { schemeOf, unitLabel } from "../../figures/names";
import { isRolled } from "../../figures/quantities";
import { itemAt } from "../../protocol/required";
import type { Source } from "../../protocol/types";

export interface Grown {
  readonly matrix: Matrix;
  readonly whole: InfluenceTree;
  readonly token: (node: TreeNode) => number;
  readonly name: (node: TreeNode) => string;
  /** The readable word, where it differs from the name. */
  readonly word: (node: TreeNode) => string | null;
  /** Position in the text, where the name alone does not tell which token is meant. */
  readonly index: (node: TreeNode) => string | null;
  /** Tokens from the root, as `1/4/2`: the same place of the tree in every head. */
  readonly path: (node: TreeNode) => string;
  readonly nameOf: (token: number) => string;
}

export function grow(
  matrix: Matrix,
  token: number | null,
  shape: TreeShape,
  source: Source,
): Grown {
  const { units, quantity, weights, size } = matrix;
  const scheme = schemeOf(source.meta.tokens);
  const names = units.map((unit) => unitLabel(unit, scheme));
  const paths = new WeakMap<TreeNode, string>();
  // A model whose mask forbids cells: rollout is exactly 0 where no path is allowed.
  const allowed =
    isRolled(quantity) && source.arrays.has("possible")
      ? Uint8Array.from(weights, (weight) => (weight > 0 ? 1 : 0))
      : matrix.allowed;
  const chosen = matrix.unitOf(token);
  const root = chosen >= 0 ? chosen : firstWord(matrix);
  const tokenOf = ({ unit }: TreeNode): number => itemAt(units, unit).token;
  const name = ({ unit }: TreeNode): string => itemAt(names, unit);
  function path(node: TreeNode): string {
    const known = paths.get(node);
    if (known !== undefined) return known;
    const own = String(tokenOf(node));
    const made = node.parent === null ? own : `${path(node.parent)}/${own}`;
    paths.set(node, made);
    return made;
  }
  return {
    matrix,
    whole: influenceTree({ weights, allowed, size }, root, shape),
    token: tokenOf,
    name,
    word({ unit }) {
      const { special, text, surface } = itemAt(units, unit);
      return special ? null : tokenLabel(text, scheme, surface).word;
    },
    index: (node) =>
      names.indexOf(name(node)) === names.lastIndexOf(name(node)) ? null : String(tokenOf(node)),
    path,
    nameOf: (token) => names[matrix.unitOf(token)] ?? "",
  };
}

/** Default root of the tree: the first word. */
function firstWord({ units }: Matrix): number {
  const word = units.findIndex(({ special, surface }) => !special && /[\p{L}\p{N}]/u.test(surface));
  return Math.max(word >= 0 ? word : units.findIndex(({ special }) => !special), 0);
}
