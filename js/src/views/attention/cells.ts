/** The cells of the heatmap: weights, or scores where these are asked for; which of them are marked, and what a click chooses. */

import type { Cell, HeatmapData, Highlights } from "../../draw/heatmap/types";
import { toggled } from "../../figures/derive/units";
import { formatNumber } from "../../figures/format";
import { isSquare, type Matrix, membersOf, numOf, scoreOf } from "../../figures/matrix";
import type { AxisLabels } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import { largestAbsolute } from "../../protocol/ties";
import type { Selection } from "../../state/selection";
import type { ViewContext } from "../contract";

export interface Cells extends Pick<HeatmapData, "values" | "allowed" | "ramp"> {
  /** Upper end of the ramp of scores; null for weights. */
  readonly most: number | null;
}

/** Scores as a heatmap takes them: what is impossible is hatched and has no number. */
export function cellsOf({ weights, scores, allowed }: Matrix): Cells {
  if (scores === null) return { values: weights, allowed, ramp: "weight", most: null };
  const signed = { ramp: "signed", most: largestAbsolute(scores) } as const;
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
  return formatNumber(matrix.scores === null ? numOf(matrix, value) : scoreOf(matrix, value));
}

/** Highlights of the selection (focus row, pinned pair, group) and of the cell under the cursor. */
export function highlightsOf(
  matrix: Matrix,
  { token, pair, group }: Selection,
  hover: Cell | null,
  links: (row: number) => Highlights["links"],
): Highlights {
  const { queryOf, keyOf } = matrix;
  const cell = pair === null ? null : { row: queryOf(pair[0]), column: keyOf(pair[1]) };
  const columns = membersOf(matrix, group);
  return {
    row: queryOf(token),
    pair: cell !== null && cell.row >= 0 && cell.column >= 0 ? cell : null,
    hover,
    links: links(hover !== null && hover.row >= 0 ? hover.row : queryOf(token)),
    group: { rows: isSquare(matrix) ? columns : [], columns },
  };
}

/** A cell pins its pair, a label makes its token the focus; a second time releases them. A key of another text joins the group. */
export function pickCell(
  context: ViewContext,
  matrix: Matrix,
  labels: AxisLabels,
  { row, column }: Cell,
): void {
  const { state } = context;
  if (row < 0 && !isSquare(matrix)) {
    gatherCell(context, matrix, labels, { row, column });
    return;
  }
  const { token: focus, pair } = state.get();
  const { token } = itemAt(matrix.queries, row >= 0 ? row : column);
  if (row < 0 || column < 0) {
    state.set({ token: focus === token ? null : token });
    return;
  }
  const key = itemAt(matrix.keys, column).token;
  const same = pair !== null && pair[0] === token && pair[1] === key;
  state.set({ token, pair: same ? null : [token, key] });
}

/** The key of a cell joins the group, or leaves it; of one text any label does. */
export function gatherCell(
  { state, announce }: ViewContext,
  matrix: Matrix,
  labels: AxisLabels,
  { row, column }: Cell,
): void {
  const unit = column < 0 && isSquare(matrix) ? row : column;
  if (unit < 0) return;
  const { token } = itemAt(matrix.keys, unit);
  const change = toggled(state.get().group, { token, end: token + 1 });
  state.set({ group: change });
  const count = `${change.length} ${change.length === 1 ? "token" : "tokens"}`;
  announce(
    `${labels.keys[unit]} ${change.includes(token) ? "added to" : "removed from"} the group: ${count}`,
  );
}
