/** Exports of the attention view: its cells in long form, and the part of the text in sight. */

import type { Track } from "../../draw/heatmap/axis";
import type { Geometry } from "../../draw/heatmap/types";
import { formatCount, held } from "../../figures/format";
import { errorOf, type Matrix, scoresAbsent } from "../../figures/matrix";
import type { Table } from "../../figures/table";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../contract";

/** Share of a cell beyond the edge that is attributed to rounding of the zoom. */
const EDGE = 1e-6;
const COLUMNS = ["query", "key", "query_token", "key_token", "weight"] as const;

/** One row a cell, in the order of the text, with the digits that hold; `null` where the mask forbids one. */
export function cellTable(matrix: Matrix, scores: Float32Array | null, n: number): Table {
  const { units, size, weights, allowed } = matrix;
  const weight = (value: number): number => held(value, errorOf(matrix, value));
  const score = (value: number): number => held(value, matrix.scoreError ?? 0);
  const rows: (string | number | null)[][] = [];
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      const [query, key] = [itemAt(units, i), itemAt(units, j)];
      const possible = allowed === null || allowed[i * size + j] !== 0;
      const row = [
        query.token,
        key.token,
        query.text,
        key.text,
        possible ? weight(itemAt(weights, i * size + j)) : null,
      ];
      if (scores !== null)
        row.push(possible ? score(itemAt(scores, query.token * n + key.token)) : null);
      rows.push(row);
    }
  }
  return { columns: scores === null ? COLUMNS : [...COLUMNS, "score"], rows };
}

/** Weights, and scores where this head has them. */
export async function attentionTable(
  { source, state, signal }: ViewContext,
  matrix: Matrix,
): Promise<Table> {
  const { layer, head, quantity } = matrix;
  const n = source.meta.tokens.text.length;
  const absent = scoresAbsent({ head, words: state.get().words }, source.meta);
  if (head === "mean" || quantity !== "weights" || absent !== null) {
    return cellTable(matrix, null, n);
  }
  const ask = source.slice({ kind: "scores", layer, head }, { signal });
  // A saved page may hold the weights alone.
  const slice = source.live ? await ask : await ask.catch(() => null);
  return cellTable(matrix, (slice?.arrays.get("scores")?.data ?? null) as Float32Array | null, n);
}

/** The visible part of a zoomed map, in a sentence; null if all is visible. */
export function windowOf({ rows, columns, left, top, side, zoomed }: Geometry): string | null {
  if (!zoomed) return null;
  const part = ({ start, size, count }: Track, from: number): string => {
    const first = Math.max(0, Math.floor((from - start) / size + EDGE));
    const last = Math.min(count, Math.ceil((from + side - start) / size - EDGE));
    return `${formatCount(first + 1)} to ${formatCount(last)} of ${formatCount(count)}`;
  };
  return `A part of the matrix: rows ${part(rows, top)}, columns ${part(columns, left)}.`;
}
