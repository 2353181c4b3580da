/** A matrix of narrow cells: the links of one row, drawn large. */

import { rampIndex, signedIndex } from "../../draw/color/scale";
import type { LinkMark } from "../../draw/heatmap/types";
import { rowOf, strongestOf } from "../../figures/derive/matrix";
import { type Matrix, topOf } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import type { Cells } from "./cells";

/** Links of a row that are marked: so many, of at least this share of its largest. */
const LINKS = 6;
const SHARE = 0.1;

/** The strongest cells of a row by what is drawn, above an even share; none for no row. */
export function linksOfRow(
  matrix: Matrix,
  { values, most, ramp }: Cells,
  row: number,
  scale: Scale,
): readonly LinkMark[] {
  const { weights, keys } = matrix;
  if (row < 0) return [];
  const own = rowOf(weights, row, keys.length);
  const strongest = strongestOf(own, LINKS);
  const least = Math.max(
    SHARE * itemAt(own, strongest[0] ?? 0),
    own.reduce((sum, weight) => sum + weight, 0) / keys.length,
  );
  return strongest
    .filter((column) => itemAt(own, column) > least)
    .map((column) => {
      const value = itemAt(values, row * keys.length + column);
      const shade =
        most === null ? rampIndex(value, topOf(matrix, scale), scale) : signedIndex(value, most);
      return { row, column, ramp, shade };
    });
}
