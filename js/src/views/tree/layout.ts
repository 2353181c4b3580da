/** Where the tokens of the tree stand: in columns from left to right, or pushed apart by forces. */

import {
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  forceX,
  forceY,
  type SimulationNodeDatum,
} from "d3-force";
import { type HierarchyNode, hierarchy, tree as tidyTree } from "d3-hierarchy";
import type { InfluenceTree, TreeNode } from "../../figures/derive/tree";
import { itemAt, required } from "../../protocol/required";

export type LayoutName = "tidy" | "force";

/** Sizes in CSS pixels. */
export const ROW = 24;
export const PILL_HEIGHT = 20;
export const NUMBER_GAP = 6;
/** Between the end of an edge and its number. */
const EDGE_GAP = 4;
const GAP_MOST = 128;
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
  /** How much wider than high forces may push the tree. */
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

/** A little air between tokens of different parents, in rows. */
const COUSINS = 1.25;

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
  /** Whether there is anything below. */
  readonly inner: boolean;
  readonly open: boolean;
  readonly parent: TreeBox | null;
  /** Width of the pill, px. */
  readonly width: number;
  /** Left end and middle of the pill. */
  x: number;
  y: number;
  /** Where edges to the children leave, beyond all labels of the column. */
  bend: number;
}

export interface TreeLayout {
  readonly name: LayoutName;
  /** Parents before children, in the order in which they are read. */
  readonly boxes: readonly TreeBox[];
  readonly density: Density;
  readonly width: number;
  readonly height: number;
}

export interface Measure {
  label(node: TreeNode): TreeLabel;
  /** Width of the weight as written; 0 for the root. */
  number(node: TreeNode): number;
  path(node: TreeNode): string;
  open(node: TreeNode): boolean;
}

type Branch = HierarchyNode<TreeNode>;

/** Lay out what is open of `tree` for a panel `room` px wide. */
export function layoutTree(
  tree: InfluenceTree,
  name: LayoutName,
  room: number,
  measure: Measure,
): TreeLayout {
  const density = densityOf(room);
  const root = hierarchy(tree.root, (node) => (measure.open(node) ? tree.childrenOf(node) : null));
  const boxOf = new Map<Branch, TreeBox>();
  const boxes: TreeBox[] = [];
  root.eachBefore((branch) => {
    const node = branch.data;
    const inner = tree.childrenOf(node).length > 0;
    const label = measure.label(node);
    const box: TreeBox = {
      node,
      path: measure.path(node),
      label,
      numberWidth: measure.number(node),
      inner,
      open: inner && measure.open(node),
      parent: branch.parent === null ? null : (boxOf.get(branch.parent) ?? null),
      width: Math.ceil(label.width) + 2 * density.pad + (inner ? density.chevron : 0),
      x: 0,
      y: 0,
      bend: 0,
    };
    boxOf.set(branch, box);
    boxes.push(box);
  });
  if (name === "tidy") placeTidy(root, boxOf, room, density);
  else placeForce(root, boxOf, room, density);
  return { name, boxes, density, ...frame(boxes, name, density) };
}

/** Columns by depth, wide enough for their longest label: labels never meet. */
function placeTidy(
  root: Branch,
  boxOf: ReadonlyMap<Branch, TreeBox>,
  room: number,
  { gap: least, margin }: Density,
): void {
  const placed = tidyTree<TreeNode>()
    .nodeSize([ROW, 1])
    .separation((a, b) => (a.parent === b.parent ? 1 : COUSINS))(root);
  const columns: { numbers: number; pills: number }[] = [];
  const boxFor = (branch: Branch): TreeBox => required(boxOf.get(branch), "The branch's box");
  for (const branch of placed.descendants()) {
    const box = boxFor(branch);
    columns[branch.depth] ??= { numbers: 0, pills: 0 };
    const column = itemAt(columns, branch.depth);
    column.numbers = Math.max(column.numbers, Math.ceil(box.numberWidth));
    column.pills = Math.max(column.pills, box.width);
  }
  const taken = columns.reduce(
    (sum, { numbers, pills }) => sum + pills + (numbers > 0 ? numbers + NUMBER_GAP : 0),
    2 * margin,
  );
  const wanted = columns.length > 1 ? (room - taken) / (columns.length - 1) : least;
  const gap = Math.floor(Math.min(Math.max(wanted, least), GAP_MOST));
  const lefts: number[] = [];
  let x = margin;
  for (const { numbers, pills } of columns) {
    const left: number = x + (numbers > 0 ? numbers + NUMBER_GAP : 0);
    lefts.push(left);
    x = left + pills + gap;
  }
  for (const branch of placed.descendants()) {
    const box = boxFor(branch);
    box.x = itemAt(lefts, branch.depth);
    box.y = branch.x;
    box.bend = box.x + itemAt(columns, branch.depth).pills;
  }
}

interface Body extends SimulationNodeDatum {
  readonly box: TreeBox;
  x: number;
  y: number;
}

const TICKS = 240;
/** Length of an edge at rest, px, before the stretch. */
const LINK = 2 * ROW;
const REPULSION = -8 * ROW;
/** Pull towards the middle. */
const GATHER = 0.08;
/** Height of a pill with its weight below it, px. */
const NUMBER_LINE = 16;
const CELL = ROW + NUMBER_LINE;
/** Free space around a pill, px. */
const AIR = 6;
/** Passes that push overlapping pills apart at the end; each one halves what is left, or nearly. */
const SEPARATIONS = 200;

/** Forces let the tree find its shape: from a fixed start, all steps at once, nothing left to chance. */
function placeForce(
  root: Branch,
  boxOf: ReadonlyMap<Branch, TreeBox>,
  room: number,
  density: Density,
): void {
  const { margin } = density;
  // Around the root without a crossing: what forces do not undo.
  const around = tidyTree<TreeNode>()
    .size([2 * Math.PI, 1])
    .separation((a, b) => (a.parent === b.parent ? 1 : 2) / Math.max(a.depth, 1))(root);
  const bodies: Body[] = around.descendants().map((branch) => {
    const radius = LINK * branch.depth;
    return {
      box: required(boxOf.get(branch), "The branch's box"),
      x: radius * Math.sin(branch.x),
      y: -radius * Math.cos(branch.x),
    };
  });
  const boxes = bodies.map(({ box }) => box);
  // Pills are wider than high: forces work in a space in which the average one is round.
  const width = boxes.reduce((sum, box) => sum + box.width, 0) / boxes.length;
  const stretch = Math.min(Math.max(width / CELL, 1), density.stretch);
  const index = new Map(boxes.map((box, i) => [box, i]));
  const links = boxes.flatMap(({ parent }, target) => {
    const source = parent === null ? undefined : index.get(parent);
    return source === undefined ? [] : [{ source, target }];
  });
  forceSimulation(bodies)
    .force("link", forceLink(links).distance(LINK).strength(0.8))
    .force("charge", forceManyBody().strength(REPULSION))
    .force(
      "collide",
      forceCollide<Body>(({ box }) => breadth(box) / stretch / 2 + AIR),
    )
    .force("x", forceX(0).strength(GATHER))
    .force("y", forceY(0).strength(GATHER))
    .stop()
    .tick(TICKS);
  for (const body of bodies) body.x *= stretch;
  separate(bodies);
  const [left, right] = [
    Math.min(...bodies.map(({ x, box }) => x - box.width / 2)),
    Math.max(...bodies.map(({ x, box }) => x + box.width / 2)),
  ];
  const top = Math.min(...bodies.map(({ y }) => y));
  const spare = Math.max(0, (room - 2 * margin - (right - left)) / 2);
  for (const { box, x, y } of bodies) {
    box.x = Math.round(x - left - box.width / 2 + margin + spare);
    box.y = Math.round(y - top);
  }
}

const breadth = ({ width, numberWidth }: TreeBox): number => Math.max(width, numberWidth);

/** Push pills apart until none overlaps, along the axis on which they overlap less. */
function separate(bodies: readonly Body[]): void {
  for (let pass = 0; pass < SEPARATIONS; pass++) {
    let touched = false;
    for (let i = 0; i < bodies.length; i++) {
      const a = itemAt(bodies, i);
      for (let j = i + 1; j < bodies.length; j++) {
        const b = itemAt(bodies, j);
        const down = CELL + AIR - Math.abs(b.y - a.y);
        if (down <= 0.5) continue;
        const across = (breadth(a.box) + breadth(b.box)) / 2 + AIR - Math.abs(b.x - a.x);
        if (across <= 0.5) continue;
        touched = true;
        if (down < across) {
          const shift = (b.y >= a.y ? down : -down) / 2;
          a.y -= shift;
          b.y += shift;
        } else {
          const shift = (b.x >= a.x ? across : -across) / 2;
          a.x -= shift;
          b.x += shift;
        }
      }
    }
    if (!touched) return;
  }
}

/** Shift everything into sight, and say how much room it takes. */
function frame(
  boxes: readonly TreeBox[],
  name: LayoutName,
  { margin }: Density,
): Pick<TreeLayout, "width" | "height"> {
  const top = boxes.reduce((least, { y }) => Math.min(least, y), Infinity);
  let width = 0;
  let height = 0;
  for (const box of boxes) {
    box.y = Math.round(box.y - top) + margin + ROW / 2;
    if (name === "force") box.bend = box.x + box.width / 2;
    width = Math.max(width, box.x + box.width);
    height = Math.max(height, box.y);
  }
  return {
    width: Math.ceil(width + margin),
    height: Math.ceil(height + (name === "force" ? CELL - ROW / 2 : ROW / 2) + margin),
  };
}

/** The edge to a box from its parent, as an SVG path. */
export function edgePath(
  name: LayoutName,
  from: Pick<TreeBox, "x" | "y" | "width" | "bend">,
  to: Pick<TreeBox, "x" | "y" | "width" | "numberWidth">,
): string {
  if (name === "force") {
    return `M${from.x + from.width / 2},${from.y}L${to.x + to.width / 2},${to.y}`;
  }
  const end = to.x - to.numberWidth - NUMBER_GAP - EDGE_GAP;
  const middle = (from.bend + end) / 2;
  return (
    `M${from.x + from.width},${from.y}H${from.bend}` +
    `C${middle},${from.y} ${middle},${to.y} ${end},${to.y}`
  );
}

/** Where the weight of a box is written: its place and which end of the text that is. */
export function numberPlace(
  name: LayoutName,
  to: Pick<TreeBox, "x" | "y" | "width">,
): { x: number; y: number; anchor: "end" | "middle" } {
  if (name === "tidy") return { x: to.x - NUMBER_GAP, y: to.y, anchor: "end" };
  return { x: to.x + to.width / 2, y: to.y + PILL_HEIGHT / 2 + NUMBER_LINE / 2, anchor: "middle" };
}
