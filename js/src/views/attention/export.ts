/** Exports of the attention view: its cells in long form, and the part of the text in sight. */

import type { Geometry, Track } from "../../draw/heatmap/types";
import { restOf } from "../../figures/derive/matrix";
import { formatCount, roundToError } from "../../figures/format";
import { errorOf, type Matrix, numOf, scoreOf, scoresAbsent } from "../../figures/matrix";
import type { Table } from "../../figures/table";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import type { ViewContext } from "../contract";

/** Tolerance (in cells) at the edge of a zoomed map. */
const EDGE = 1e-6;
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

/** Share of a learned sink in each row, `[queries]`: known where all keys are shown. */
export function restIn(
  { keys, queries, quantity, weights }: Matrix,
  meta: Meta,
): Float32Array | null {
  const tokens = keys.reduce((sum, { token, end }) => sum + end - token, 0);
  if (!meta.rest || quantity !== "weights" || tokens < keysOf(meta).text.length) return null;
  return restOf(weights, queries.length, keys.length);
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

/** The visible part of a zoomed map, in a sentence; null if all is visible. */
export function windowOf({
  rows,
  columns,
  left,
  top,
  width,
  height,
  zoomed,
}: Geometry): string | null {
  if (!zoomed) return null;
  const part = ({ start, size, count }: Track, from: number, extent: number): string => {
    const first = Math.max(0, Math.floor((from - start) / size + EDGE));
    const last = Math.min(count, Math.ceil((from + extent - start) / size - EDGE));
    return `${formatCount(first + 1)} to ${formatCount(last)} of ${formatCount(count)}`;
  };
  return `A part of the matrix: rows ${part(rows, top, height)}, columns ${part(columns, left, width)}.`;
}
