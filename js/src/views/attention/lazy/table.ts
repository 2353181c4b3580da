/** The cells of the attention view in long form. */

import { roundToError } from "../../../figures/format";
import { errorOf, type Matrix, numOf, scoreOf, scoresAbsent } from "../../../figures/matrix";
import type { Table } from "../../../figures/table";
import { keysOf } from "../../../protocol/meta";
import { itemAt } from "../../../protocol/required";
import type { ViewContext } from "../../contract";
import { restIn } from "../export";

const COLUMNS = ["query", "key", "query_token", "key_token", "weight"] as const;

/**
 * One row a cell, in the order of the text, with the digits that hold; `null` where the mask forbids one. With a learned
 * sink, its share in the query's row is the last column.
 */
export function cellTable(
  matrix: Matrix,
  scores: Float32Array | null,
  m: number,
  rest: Float32Array | null = null,
): Table {
  const { queries, keys, weights, allowed } = matrix;
  const restError = errorOf(matrix, 1, keys.length);
  const weight = (value: number): number => roundToError(numOf(matrix, value));
  const score = (value: number): number => roundToError(scoreOf(matrix, value));
  const rows: (string | number | null)[][] = [];
  for (const [i, query] of queries.entries()) {
    for (const [j, key] of keys.entries()) {
      const cell = i * keys.length + j;
      const possible = allowed === null || allowed[cell] !== 0;
      const row = [
        query.token,
        key.token,
        query.text,
        key.text,
        possible ? weight(itemAt(weights, cell)) : null,
      ];
      if (scores !== null)
        row.push(possible ? score(itemAt(scores, query.token * m + key.token)) : null);
      if (rest !== null) row.push(roundToError({ value: itemAt(rest, i), error: restError }));
      rows.push(row);
    }
  }
  const columns = [
    ...COLUMNS,
    ...(scores === null ? [] : ["score"]),
    ...(rest === null ? [] : ["rest"]),
  ];
  return { columns, rows };
}

/** Weights, scores where this head has them, and the rest of each row. */
export async function attentionTable(
  { source, state, signal }: ViewContext,
  matrix: Matrix,
): Promise<Table> {
  const rest = restIn(matrix, source.meta);
  const { layer, head, quantity } = matrix;
  const m = keysOf(source.meta).text.length;
  const absent = scoresAbsent({ head, words: state.get().words }, source.meta);
  if (head === "mean" || quantity !== "weights" || absent !== null) {
    return cellTable(matrix, null, m, rest);
  }
  const ask = source.ask({ kind: "scores", layer, head }, { signal });
  // A saved page may hold the weights alone.
  const slice = source.live ? await ask : await ask.catch(() => null);
  const scores = (slice?.arrays.get("scores")?.data ?? null) as Float32Array | null;
  return cellTable(matrix, scores, m, rest);
}

declare module "../../contract" {
  interface LazyCode {
    readonly attentionTable: typeof attentionTable;
  }
}
