/** The first words of the sentences of a matrix of narrow cells, as labels. */

import type { HeatmapData, Starts } from "../../../draw/heatmap/types";
import { textOf, type Unit } from "../../../figures/derive/units";
import type { Matrix } from "../../../figures/matrix";
import type { TokenColumns } from "../../../protocol/types";

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

declare module "../../contract" {
  interface LazyCode {
    readonly startsOfAxes: typeof startsOfAxes;
  }
}
