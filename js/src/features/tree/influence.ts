/** The influence tree: what a token attends to most, what those attend to most, and so on. */

interface Influences {
  /** `[size, size]`, rows are queries. */
  readonly weights: Float32Array;
  /** 0 where the model's mask forbids a cell. */
  readonly allowed: Uint8Array | null;
  readonly size: number;
}

/** A token of the tree with the edge from its parent; the same token may stand on many paths. */
export interface TreeNode {
  /** Row and column of the matrix. */
  readonly unit: number;
  /** Edges from the root. */
  readonly depth: number;
  /** Place among its siblings, 1 = the largest weight; 0 for the root. */
  readonly order: number;
  /** Null for the root. */
  readonly weight: number | null;
  /** Product of the weights from the root, 1 for the root. */
  readonly product: number;
  readonly parent: TreeNode | null;
}

export interface InfluenceTree {
  readonly root: TreeNode;
  /** By weight, then by position; made when they are asked for, and then kept. */
  childrenOf(node: TreeNode): readonly TreeNode[];
}

export interface TreeShape {
  /** Children of a token, at most. */
  readonly topK: number;
  /** Edges from the root to a leaf, at most. */
  readonly depth: number;
}

/** Positions of the `count` largest possible weights of a row, largest first; equal ones by position. */
function strongest({ weights, allowed, size }: Influences, row: number, count: number): number[] {
  const chosen: number[] = [];
  for (let key = 0; key < size; key++) {
    const at = row * size + key;
    const weight = weights[at] as number;
    if (Number.isNaN(weight) || (allowed !== null && allowed[at] === 0)) continue;
    const last = chosen.length < count ? undefined : chosen.at(-1);
    if (last !== undefined && !(weight > (weights[row * size + last] as number))) continue;
    let place = chosen.length;
    while (place > 0 && weight > (weights[row * size + (chosen[place - 1] as number)] as number))
      place--;
    chosen.splice(place, 0, key);
    if (chosen.length > count) chosen.pop();
  }
  return chosen;
}

/**
 * The tree below a unit: the `topK` strongest keys of each, never one that is already on the path. Where the keys are
 * another text, `below` says what these attend to; without it the tree ends there.
 */
export function influenceTree(
  first: Influences,
  unit: number,
  { topK, depth }: TreeShape,
  below: Influences | null = first,
): InfluenceTree {
  const ranked = new Map<Influences, Map<number, readonly number[]>>();
  const grown = new WeakMap<TreeNode, readonly TreeNode[]>();

  function keysOf(matrix: Influences, row: number): readonly number[] {
    const rows = ranked.get(matrix) ?? new Map<number, readonly number[]>();
    ranked.set(matrix, rows);
    // A path bars at most `depth` keys, so this many are enough.
    const keys = rows.get(row) ?? strongest(matrix, row, topK + depth);
    rows.set(row, keys);
    return keys;
  }

  function grow(node: TreeNode): readonly TreeNode[] {
    const matrix = node.parent === null ? first : below;
    if (node.depth >= depth || matrix === null) return [];
    const path = new Set<number>();
    for (let at: TreeNode | null = node; at !== null; at = at.parent)
      // The root of another text is no key.
      if (at.parent !== null || below === first) path.add(at.unit);
    return keysOf(matrix, node.unit)
      .filter((key) => !path.has(key))
      .slice(0, topK)
      .map((key, i) => {
        const weight = matrix.weights[node.unit * matrix.size + key] as number;
        return {
          unit: key,
          depth: node.depth + 1,
          order: i + 1,
          weight,
          product: node.product * weight,
          parent: node,
        };
      });
  }

  return {
    root: { unit, depth: 0, order: 0, weight: null, product: 1, parent: null },
    childrenOf(node) {
      let children = grown.get(node);
      if (children === undefined) {
        children = grow(node);
        grown.set(node, children);
      }
      return children;
    },
  };
}

/** Largest error of the product of a path whose weights may be off by `error`. */
export function errorOfProduct(
  node: TreeNode,
  error: (weight: number, node: TreeNode) => number,
): number {
  let most = 1;
  for (let at: TreeNode | null = node; at !== null; at = at.parent) {
    if (at.weight !== null) most *= at.weight + error(at.weight, at);
  }
  return most - node.product;
}

/** Nodes that a tree over `size` units can have down to each depth, the root being depth 0. */
export function nodesThrough(size: number, { topK, depth }: TreeShape): number[] {
  const totals = [1];
  let level = 1;
  for (let above = 0; above < Math.min(depth, size - 1); above++) {
    level *= Math.min(topK, size - 1 - above);
    totals.push((totals[above] as number) + level);
  }
  return totals;
}

/** Every edge, by its child: those of a token together, before those further down. */
export function edgesOf({ root, childrenOf }: InfluenceTree): TreeNode[] {
  const edges: TreeNode[] = [];
  const visit = (node: TreeNode): void => {
    const children = childrenOf(node);
    edges.push(...children);
    children.forEach(visit);
  };
  visit(root);
  return edges;
}
