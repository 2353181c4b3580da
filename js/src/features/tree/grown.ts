/** The tree of a matrix from a root, with the names that its tokens have on screen. */

import { chanceOf, isAboveChance } from "../../figures/chance";
import type { Unit } from "../../figures/derive/units";
import { tokenLabel } from "../../figures/format";
import { errorOf, type Matrix, numOf } from "../../figures/matrix";
import { schemeOf, unitLabel } from "../../figures/names";
import { isRolled } from "../../figures/quantities";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import type { Num, Source } from "../../protocol/types";
import {
  errorOfProduct,
  type InfluenceTree,
  influenceTree,
  type TreeNode,
  type TreeShape,
} from "./influence";

/** A token of the tree with its names and numbers, from the matrix alone. */
export interface TreeToken {
  /** Tokens from the root, as `1/4/2`: the same place of the tree in every head. */
  readonly path: string;
  /** Position of its first token in the text. */
  readonly token: number;
  readonly name: string;
  /** The readable word, where it differs from the name. */
  readonly word: string | null;
  /** Position as text, where the name alone does not tell which token is meant. */
  readonly index: string | null;
  /** Weight of the edge from its parent; null for the root. */
  readonly weight: Num | null;
  /** Product of the weights from the root. */
  readonly product: Num;
}

export interface Grown {
  /** Share of the root's row that lies on what is left out; null if nothing is. */
  readonly left: number | null;
  readonly matrix: Matrix;
  /** The matrix of the keys' own text, where that is another one; null while it is not known. */
  readonly below: Matrix | null;
  /** The matrix that an edge is of, by its child. */
  readonly matrixOf: (node: TreeNode) => Matrix;
  /** Weight of the link from one token to another, its error, and what it were by chance. */
  readonly link: (from: TreeNode, to: TreeNode) => Num & { readonly chance: number };
  /** True where a token and one below it are reached above chance: else the tree is folded there. */
  readonly leadsOn: (node: TreeNode) => boolean;
  readonly unit: (node: TreeNode) => Unit;
  readonly whole: InfluenceTree;
  readonly token: (node: TreeNode) => TreeToken;
  readonly nameOf: (token: number) => string;
  /** The names among which a node has its own, and where. */
  readonly among: (node: TreeNode) => readonly [names: readonly string[], at: number];
}

export function grow(
  matrix: Matrix,
  token: number | null,
  { bare, ...shape }: TreeShape & { readonly bare: boolean },
  source: Source,
  encoder: Matrix | null = null,
): Grown {
  const { queries, keys, quantity, weights } = matrix;
  const size = keys.length;
  const square = queries === keys;
  // Words of one text may be merged a moment before those of the other.
  const below = !square && encoder?.keys.length === size ? encoder : null;
  const scheme = schemeOf(source.meta.tokens);
  const names = keys.map((unit) => unitLabel(unit, scheme));
  const rootNames = square ? names : queries.map((unit) => unitLabel(unit, scheme));
  const tokens = new WeakMap<TreeNode, TreeToken>();
  // A model whose mask forbids cells: rollout is exactly 0 where no path is allowed.
  const possible =
    isRolled(quantity) && source.arrays.has("possible")
      ? Uint8Array.from(weights, (weight) => (weight > 0 ? 1 : 0))
      : matrix.allowed;
  const chosen = matrix.queryOf(token);
  const root = chosen >= 0 ? chosen : firstWord(matrix);
  const others = bare ? keys.map((unit, i) => !(square && i === root) && !isWord(unit)) : [];
  // A text without any other word keeps what it has.
  const hides = others.includes(true) && others.filter((is) => !is).length > 1;
  const shown = (cells: Float32Array, mask: Uint8Array | null) =>
    hides
      ? Uint8Array.from(cells, (_, cell) => (others[cell % size] ? 0 : (mask?.[cell] ?? 1)))
      : mask;
  const influences = { weights, allowed: shown(weights, possible), size };
  const lower = below && {
    ...{ weights: below.weights, allowed: shown(below.weights, below.allowed), size },
  };
  const left = hides
    ? others.reduce((sum, is, key) => sum + (is ? weights[root * size + key] || 0 : 0), 0)
    : null;
  const unitOf = ({ parent, unit }: TreeNode): Unit => itemAt(parent ? keys : queries, unit);
  const matrixOf = ({ depth }: TreeNode): Matrix => (depth > 1 && below !== null ? below : matrix);

  function tokenOf(node: TreeNode): TreeToken {
    const cached = tokens.get(node);
    if (cached !== undefined) return cached;
    const { parent, weight, product } = node;
    const unit = unitOf(node);
    const { token, special, text, surface } = unit;
    const name = unitLabel(unit, scheme);
    const peers = square || parent !== null ? names : rootNames;
    const grown: TreeToken = {
      path: parent === null ? String(token) : `${tokenOf(parent).path}/${token}`,
      token,
      name,
      word: special ? null : tokenLabel(text, scheme, surface).word,
      index: peers.indexOf(name) === peers.lastIndexOf(name) ? null : String(token),
      weight: weight === null ? null : numOf(matrixOf(node), weight),
      product: {
        value: product,
        error: errorOfProduct(node, (weight, at) => errorOf(matrixOf(at), weight)),
      },
    };
    tokens.set(node, grown);
    return grown;
  }
  const whole = influenceTree(influences, root, shape, square ? influences : lower);
  const link = (from: TreeNode, to: TreeNode) => {
    const of = from.parent === null || below === null ? matrix : below;
    const weight = itemAt(of.weights, from.unit * size + to.unit);
    const count = keysOf(source.meta).text.length;
    return { ...numOf(of, weight), chance: chanceOf(of, from.unit, to.unit, count) };
  };
  const isAbove = (node: TreeNode): boolean => {
    if (node.parent === null) return true;
    const { value, chance } = link(node.parent, node);
    return isAboveChance(value, chance);
  };
  return {
    matrix,
    left,
    below,
    matrixOf,
    link,
    leadsOn: (node) =>
      node.parent === null || (isAbove(node) && whole.childrenOf(node).some(isAbove)),
    unit: unitOf,
    whole,
    token: tokenOf,
    among: ({ parent, unit }) => [square || parent !== null ? names : rootNames, unit],
    nameOf: (token) => rootNames[matrix.queryOf(token)] ?? "",
  };
}

export const isWord = ({ special, surface }: Pick<Unit, "special" | "surface">): boolean =>
  !special && /[\p{L}\p{N}]/u.test(surface);

/** Default root of the tree: the first word. */
function firstWord({ queries }: Matrix): number {
  const word = queries.findIndex(isWord);
  return Math.max(word >= 0 ? word : queries.findIndex(({ special }) => !special), 0);
}
