/** The focus as a table: a row for each head and token. */

import { roundToError } from "../../figures/format";
import type { Table } from "../../figures/table";
import type { HeadRows } from "./data";
import { type PatchGrid, placeOf } from "./geometry";

export const COLUMNS = ["layer", "head", "token", "text", "row", "column", "weight"] as const;

/** Heads that were not saved are left out. Rows and columns count from 1, as in the names of patches. */
export function pictureTable(
  { rows }: HeadRows,
  grid: PatchGrid,
  nameOf: (token: number) => string,
  error: (value: number) => number = () => 0,
): Table {
  const [layers = 0, heads = 0, n = 0] = rows.shape;
  const names = Array.from({ length: n }, (_, token) => nameOf(token));
  const places = names.map((_, token) => placeOf(grid, token));
  return {
    columns: COLUMNS,
    rows: Array.from({ length: layers * heads }, (_, i) =>
      names.map((name, token) => {
        const place = places[token] ?? null;
        const value = rows.data[i * n + token] as number;
        return [
          ...[Math.floor(i / heads), i % heads, token, name],
          ...[
            place && place.row + 1,
            place && place.column + 1,
            roundToError({ value, error: error(value) }),
          ],
        ];
      }),
    )
      .flat()
      .filter((row) => !Number.isNaN(row.at(-1))),
  };
}
