/** A matrix of narrow cells: the first words of its sentences as labels, and the links of one row, drawn large. */

import { rampIndex, signedIndex } from "../../draw/color/scale";
import type { HeatmapData, LinkMark, Starts } from "../../draw/heatmap/types";
import { rowOf, strongestOf } from "../../figures/derive/matrix";
import { textOf, type Unit } from "../../figures/derive/units";
import { type Matrix, topOf } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";
import type { Scale } from "../../state/selection";
import type { Cells } from "./cells";

/** Links of a row that are marked: so many, of at least this share of its largest. */
const LINKS = 6;
const SHARE = 0.1;
/** Words of a sentence that may fit into a label. */
const WORDS = 5;

/** The first words of the sentences that begin at `boundaries`, and of the text. */
function startsOf(
  units: readonly Unit[],
  tokens: TokenColumns,
  boundaries: HeatmapData["boundaries"]["rows"],
): ReadonlyMap<number, string> {
  if (boundaries.length === 0) return new Map();
  const first = units.findIndex(({ special }) => !special);
  const places = [first, ...boundaries.map(({ at }) => at)];
  return new Map(
    places.flatMap((at, k): [number, string][] => {
      const words = units.slice(at, Math.min(places[k + 1] ?? units.length, at + WORDS));
      const [unit] = words;
      const last = words.findLast(({ special }) => !special);
      if (unit === undefined || last === undefined || unit.special) return [];
      return [[at, textOf(tokens, unit.token, last.end).trim()]];
    }),
  );
}

export const startsOfAxes = (
  { queries, keys }: Pick<Matrix, "queries" | "keys">,
  tokens: TokenColumns,
  keyTokens: TokenColumns,
  { rows, columns }: HeatmapData["boundaries"],
): Starts => ({
  rows: startsOf(queries, tokens, rows),
  columns: startsOf(keys, keyTokens, columns),
});

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
