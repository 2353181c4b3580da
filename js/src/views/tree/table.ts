/** The whole tree as a table: one row an edge. */

import {
  edgesOf,
  errorOfProduct,
  type InfluenceTree,
  nodesThrough,
  type TreeShape,
} from "../../figures/derive/tree";
import { formatCount, held } from "../../figures/format";
import { errorOf, type Matrix } from "../../figures/matrix";
import type { Table } from "../../figures/table";
import { SliceFailure } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { EdgeScores } from "./scores";

/** As many as `influence()` gives in Python. */
const TABLE_MOST = 20_000;
const COLUMNS = [
  ...["parent", "token", "parent_token", "child_token", "depth", "weight", "product", "score"],
] as const;

/** Rejects with a `SliceFailure` where the tree could be too large. */
export async function treeTable(
  tree: InfluenceTree,
  matrix: Matrix,
  { topK, depth }: TreeShape,
  scores: EdgeScores,
): Promise<Table> {
  if ((nodesThrough(matrix.size, { topK, depth }).at(-1) ?? 0) > TABLE_MOST) {
    throw new SliceFailure(
      `A tree with ${topK} children and ${depth} levels could have over ${formatCount(TABLE_MOST)} tokens.`,
      "Choose fewer children or levels.",
    );
  }
  await scores.load(matrix);
  const error = (weight: number): number => errorOf(matrix, weight);
  const rows = edgesOf(tree).flatMap((node) => {
    if (node.parent === null) return [];
    const above = node.parent.unit;
    const [parent, child] = [itemAt(matrix.units, above), itemAt(matrix.units, node.unit)];
    const score = scores.of(matrix, above, node.unit);
    return [
      [
        ...[parent.token, child.token, parent.text, child.text],
        node.depth,
        node.weight === null ? null : held(node.weight, error(node.weight)),
        held(node.product, errorOfProduct(node, error)),
        score === null ? null : held(score, matrix.scoreError ?? 0),
      ],
    ];
  });
  return { columns: COLUMNS, rows };
}
