/** Positions of the tree's tokens, as a placement gives them: columns by depth (`tidy`), or pushed apart by forces (`force`). */

import { type HierarchyNode, hierarchy } from "d3-hierarchy";
import type { InfluenceTree, TreeNode } from "./influence";

/** Sizes in CSS pixels. */
export const ROW = 24;
export const PILL_HEIGHT = 20;
/** Between a weight and its pill. */
export const NUMBER_GAP = 6;
/** Between a token and its position. */
export const INDEX_GAP = 4;

/** Widths that shrink in a narrow panel, px. */
export interface Density {
  readonly label: number;
  readonly labelMost: number;
  readonly pad: number;
  readonly chevron: number;
  readonly gap: number;
  readonly margin: number;
  /** Largest factor by which forces may widen the tree. */
  readonly stretch: number;
}
const AIRY: Density = {
  label: 13,
  labelMost: 144,
  pad: 8,
  chevron: 18,
  gap: 32,
  margin: 8,
  stretch: 2,
};
const DENSE: Density = {
  label: 12,
  labelMost: 104,
  pad: 4,
  chevron: 16,
  gap: 8,
  margin: 4,
  stretch: 1,
};
const NARROW = 600;
export const densityOf = (room: number): Density => (room < NARROW ? DENSE : AIRY);

export interface TreeLabel {
  readonly text: string;
  readonly textWidth: number;
  /** Position in the text, where the name alone does not tell which token is meant. */
  readonly index: string | null;
  /** Width of both, px. */
  readonly width: number;
}

export interface TreeBox {
  readonly node: TreeNode;
  /** Tokens from the root, as `1/4/2`: the same place of the tree in every head. */
  readonly path: string;
  readonly label: TreeLabel;
  /** Width of the written weight, px. */
  readonly numberWidth: number;
  /** True if there is anything below. */
  readonly inner: boolean;
  readonly open: boolean;
  readonly parent: TreeBox | null;
  /** Width of the pill, px. */
  readonly width: number;
  /** Left end and middle of the pill. */
  x: number;
  y: number;
  /** Position from which edges to the children leave, beyond all labels of the column. */
  bend: number;
}

/** A tree of boxes; each node's data is its box. */
type Branch = HierarchyNode<TreeBox>;

/** A way to place the tokens of a tree. */
export interface Placement {
  readonly name: "tidy" | "force";
  readonly label: string;
  /** Tokens drawn at once; deeper ones are folded. A browser lays out this many within a blink. */
  readonly drawnMax: number;
  /** Space below the middle of the lowest pill, px. */
  readonly foot: number;
  /** Set `x`, `y` and `bend` of all boxes, for a panel `room` px wide. The lowest `y` is free. */
  place(root: Branch, room: number, density: Density): void;
  /** The edge to a box from its parent, as an SVG path. */
  edge(
    from: Pick<TreeBox, "x" | "y" | "width" | "bend">,
    to: Pick<TreeBox, "x" | "y" | "width" | "numberWidth">,
  ): string;
  /** Position of the weight from the left end and middle of its pill, and which end of the text that is. */
  number(box: Pick<TreeBox, "width">): { x: number; y: number; anchor: "end" | "middle" };
  /** Width that a weight takes to the left of its pill, px. */
  before(box: Pick<TreeBox, "numberWidth">): number;
}

export interface TreeLayout {
  readonly placement: Placement;
  /** Parents before children, in the order in which they are read. */
  readonly boxes: readonly TreeBox[];
  readonly density: Density;
  readonly width: number;
  readonly height: number;
}

interface Measure {
  label(node: TreeNode): TreeLabel;
  /** Width of the weight as written; 0 for the root. */
  number(node: TreeNode): number;
  path(node: TreeNode): string;
  open(node: TreeNode): boolean;
}

/** Lay out what is open of `tree` for a panel `room` px wide. */
export function layoutTree(
  { root, childrenOf }: InfluenceTree,
  placement: Placement,
  room: number,
  measure: Measure,
): TreeLayout {
  const density = densityOf(room);
  function boxOf(node: TreeNode, parent: TreeBox | null): TreeBox {
    const inner = childrenOf(node).length > 0;
    const label = measure.label(node);
    return {
      node,
      path: measure.path(node),
      label,
      numberWidth: measure.number(node),
      inner,
      open: inner && measure.open(node),
      parent,
      width: Math.ceil(label.width) + 2 * density.pad + (inner ? density.chevron : 0),
      x: 0,
      y: 0,
      bend: 0,
    };
  }
  const branches = hierarchy(boxOf(root, null), (box) =>
    box.open ? childrenOf(box.node).map((node) => boxOf(node, box)) : null,
  );
  placement.place(branches, room, density);

  const boxes: TreeBox[] = [];
  branches.eachBefore(({ data }) => {
    boxes.push(data);
  });
  const { margin } = density;
  const top = boxes.reduce((least, { y }) => Math.min(least, y), Infinity);
  let [right, bottom] = [0, 0];
  for (const box of boxes) {
    box.y = Math.round(box.y - top) + margin + ROW / 2;
    right = Math.max(right, box.x + box.width);
    bottom = Math.max(bottom, box.y);
  }
  const width = Math.ceil(right + margin);
  const height = Math.ceil(bottom + placement.foot + margin);
  return { placement, boxes, density, width, height };
}
