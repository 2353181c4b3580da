/** The whole tree as a table: one row an edge. */

import { formatCount, roundToError } from "../../figures/format";
import { scoreOf } from "../../figures/matrix";
import type { Table } from "../../figures/table";
import { SliceFailure } from "../../protocol/failure";
import type { Grown } from "./grown";
import { edgesOf, nodesThrough, type TreeShape } from "./influence";
import type { EdgeScores } from "./scores";

/** As many as `influence()` gives in Python. */
const TABLE_MAX = 20_000;
const COLUMNS = [
  ...["parent", "token", "parent_token", "child_token", "depth", "weight", "product", "score"],
] as const;

/** Rejects with a `SliceFailure` where the tree could be too large. */
export async function treeTable(
  {
    whole: tree,
    matrix,
    matrixOf,
    unit,
    token,
  }: Pick<Grown, "whole" | "matrix" | "matrixOf" | "unit" | "token">,
  { topK, depth }: TreeShape,
  scores: EdgeScores,
): Promise<Table> {
  if ((nodesThrough(matrix.keys.length, { topK, depth }).at(-1) ?? 0) > TABLE_MAX) {
    throw new SliceFailure(
      `A tree with ${topK} children and ${depth} levels could have over ${formatCount(TABLE_MAX)} tokens.`,
      "Choose fewer children or levels.",
    );
  }
  await scores.load(matrix);
  const rows = edgesOf(tree).flatMap((node) => {
    if (node.parent === null) return [];
    const above = node.parent.unit;
    const [parent, child] = [unit(node.parent), unit(node)];
    const { weight, product } = token(node);
    const score = matrixOf(node) === matrix ? scores.of(matrix, above, node.unit) : null;
    return [
      [
        ...[parent.token, child.token, parent.text, child.text],
        node.depth,
        weight && roundToError(weight),
        roundToError(product),
        score === null ? null : roundToError(scoreOf(matrix, score)),
      ],
    ];
  });
  return { columns: COLUMNS, rows };
}
