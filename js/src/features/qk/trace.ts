/** The trace as a tree: a cell, the heads that bring most of its contrast, and the cells at which those read. */

import { headName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { TreeNode } from "../tree/influence";
import { SIDES, type SideName, type Traced } from "./data";
import type { Names } from "./names";

/** A cell, or, with a side, a head that brings a share of its parent's contrast. */
export interface TraceItem extends TreeNode {
  readonly parent: TraceItem | null;
  readonly children: TraceItem[];
  /** The cell that it is, or leads to. */
  readonly cell: Traced;
  readonly side: SideName | null;
  readonly name: string;
  readonly index: string | null;
  readonly path: string;
}

const cellName = (names: Names, { query, key }: Traced): string =>
  `${names.token("query", query)} → ${names.token("key", key)}`;
const cellPlace = ({ query, key }: Traced): string => `${query} → ${key}`;

interface TraceTree {
  readonly root: TraceItem;
  /** By number: `unit` of a node. */
  readonly items: readonly TraceItem[];
}

export function traceTree(traced: Traced, names: Names): TraceTree {
  const items: TraceItem[] = [];
  function add(
    item: Pick<TraceItem, "cell" | "side" | "name" | "index" | "weight">,
    parent: TraceItem | null,
  ) {
    const unit = items.length;
    const node: TraceItem = {
      ...item,
      ...{ unit, parent, children: [], product: 1 },
      depth: parent === null ? 0 : parent.depth + 1,
      order: parent === null ? 0 : parent.children.length + 1,
      path: parent === null ? "0" : `${parent.path}/${unit}`,
    };
    items.push(node);
    parent?.children.push(node);
    return node;
  }
  function grow(cell: Traced, parent: TraceItem | null): TraceItem {
    const { layer, head } = cell;
    const of = cellName(names, cell);
    const name = parent === null ? `${headName(layer, head)}: ${of}` : of;
    const at = add({ cell, side: null, weight: null, name, index: cellPlace(cell) }, parent);
    for (const side of SIDES)
      for (const child of cell.children.filter((each) => each.side === side)) {
        const { part, value, node } = child;
        const head = headName(...(part as [number, number]));
        grow(node, add({ cell: node, side, weight: value, name: head, index: side }, at));
      }
    return at;
  }
  grow(traced, null);
  return { root: itemAt(items, 0), items };
}

/** A cell in words, for screen readers. */
export const spokenItem = (names: Names, { cell, side, weight, children }: TraceItem): string =>
  side === null
    ? `${headName(cell.layer, cell.head)}, ${cellName(names, cell)}, contrast ${cell.contrast.toFixed(2)}, ${children.length} followed`
    : `${headName(cell.layer, cell.head)} on the ${side} side brings ${weight?.toFixed(2)}, and reads ${cellName(names, cell)}`;
