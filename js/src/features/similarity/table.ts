/** A ranking or the pairs of two texts as a table. */

import type { Table } from "../../figures/table";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../../views/contract";
import type { Shown } from "./data";

const BIAS = "(bias)";

type Row = Table["rows"][number];
type Ranked = NonNullable<NonNullable<ViewContext["source"]["meta"]["similarity"]>["ranking"]>;

/** One row a passage; `attn_widget/features/exports/tables.py` has the same. */
export const rankingTable = ({ passages }: Ranked): Table => ({
  columns: ["rank", "index", "score", "passage"],
  rows: passages.map(({ index, score, text }, i) => [i + 1, index, score, text]),
});

/** One row a pair with the biases, or, where the score is no sum over pairs, one row a token. */
export function pairsTable({ similar, a, b, matrix }: Shown): Table | null {
  if (similar.matrices.length === 0) {
    const sides = [similar.a, similar.b];
    const tokens = sides.flatMap(({ position, text, values }): Row[] =>
      position.map((at, i) => [at, itemAt(text, i), itemAt(values, i)]),
    );
    return {
      columns: ["position", "token", "value"],
      rows: [...tokens, [null, BIAS, similar.a.bias]],
    };
  }
  if (matrix === null) return null;
  const more = matrix.pairs.kind === "input" ? 1 : 0;
  const rows: Row[] = [];
  for (let i = 0; i < a.names.length + more; i++) {
    for (let j = 0; j < b.names.length + more; j++) {
      const [inA, inB] = [i < a.names.length, j < b.names.length];
      const value = inA
        ? inB
          ? itemAt(matrix.values, i * b.names.length + j)
          : itemAt(matrix.biasesA, i)
        : inB
          ? itemAt(matrix.biasesB, j)
          : matrix.pairs.both;
      const at = (inside: boolean, k: number) => (inside ? k : null);
      rows.push([at(inA, i), at(inB, j), a.names[i] ?? BIAS, b.names[j] ?? BIAS, value]);
    }
  }
  return { columns: ["a", "b", "a_text", "b_text", "value"], rows };
}
