/** The cells of the heatmap: weights, or scores where these are asked for; and which of them are marked. */

import type { Cell, HeatmapData, Highlights } from "../../draw/heatmap/types";
import { magnitude } from "../../figures/derive/matrix";
import { formatNumber } from "../../figures/format";
import { errorOf, type Matrix } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";
import type { Selection } from "../../state/selection";
import { membersOf } from "./group";

export interface Cells extends Pick<HeatmapData, "values" | "allowed" | "ramp"> {
  /** Where the ramp of scores ends; null for weights. */
  readonly most: number | null;
}

/** Scores as a heatmap takes them: what is impossible is hatched and has no number. */
export function cellsOf({ weights, scores, allowed }: Matrix): Cells {
  if (scores === null) return { values: weights, allowed, ramp: "weight", most: null };
  const signed = { ramp: "signed", most: magnitude(scores) } as const;
  if (!scores.includes(-Infinity)) return { values: scores, allowed, ...signed };
  return {
    values: scores.map((score) => (score === -Infinity ? 0 : score)),
    allowed: Uint8Array.from(scores, (score, i) =>
      score === -Infinity || allowed?.[i] === 0 ? 0 : 1,
    ),
    ...signed,
  };
}

/** A cell's number in words. */
export function spokenCell(matrix: Matrix, { values, allowed }: Cells, index: number): string {
  if (allowed?.[index] === 0) return "impossible, masked";
  const value = itemAt(values, index);
  const error = matrix.scores === null ? errorOf(matrix, value) : matrix.scoreError;
  return formatNumber(value, undefined, error);
}

/** Highlights of the selection (focus row, pinned pair, group) and of the cell under the cursor. */
export function highlightsOf(
  matrix: Matrix,
  { token, pair, group }: Selection,
  hover: Cell | null,
): Highlights {
  const { unitOf } = matrix;
  const cell = pair === null ? null : { row: unitOf(pair[0]), column: unitOf(pair[1]) };
  return {
    row: unitOf(token),
    pair: cell !== null && cell.row >= 0 && cell.column >= 0 ? cell : null,
    hover,
    group: membersOf(matrix, group),
  };
}
