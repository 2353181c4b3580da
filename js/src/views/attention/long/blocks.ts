/** The block of a cell on the level that is drawn, its colors, and the strongest link in it. */

import { type Mode, ramp } from "../../../draw/color/ramp";
import type { Cell } from "../../../draw/heatmap/types";
import type { ColorsAt } from "../../../draw/long/tile-images";
import { TILE, type TilePlace } from "../../../figures/long/levels";
import {
  type LongMatrix,
  type LongStore,
  mostOfLong,
  type Pooling,
  type TileData,
  topAt,
} from "../../../figures/long/store";
import type { Scale } from "../../../state/selection";
import type { Block } from "./card";

/** The block that has a cell, and its number where its tile is here. */
export function blockUnder(
  { row: query, column: key }: Cell,
  level: number,
  tileAt: (place: TilePlace) => TileData | null,
): Block {
  const [i, j] = [query >> level, key >> level];
  const tile = tileAt({ level, row: Math.floor(i / TILE), col: Math.floor(j / TILE) });
  const value = tile === null ? null : (tile.data[(i % TILE) * tile.columns + (j % TILE)] ?? null);
  return { level, query: i << level, key: j << level, value };
}

/** Its strongest link: a block of at most `TILE` tokens a side lies in one tile of the finest level. */
export async function strongestIn(
  store: LongStore,
  matrix: LongMatrix,
  { level, query, key }: Block,
  signal: AbortSignal,
): Promise<readonly [number, number]> {
  const place = { level: 0, row: Math.floor(query / TILE), col: Math.floor(key / TILE) };
  const tile = await store.tile(matrix, place, "max", signal);
  const [top, left] = [query % TILE, key % TILE];
  let best = Number.NEGATIVE_INFINITY;
  let strongest: readonly [number, number] = [query, key];
  for (let i = top; i < Math.min(top + 2 ** level, tile.rows); i++) {
    for (let j = left; j < Math.min(left + 2 ** level, tile.columns); j++) {
      const value = tile.data[i * tile.columns + j] as number;
      if (!(value > best)) continue;
      best = value;
      strongest = [place.row * TILE + i, place.col * TILE + j];
    }
  }
  return strongest;
}

/** The colors of each level: a block's are those of its cells, or of its mean. */
export function colorsOf(matrix: LongMatrix, pooling: Pooling, scale: Scale, mode: Mode): ColorsAt {
  const signed = matrix.quantity === "scores";
  const { words } = ramp(signed ? "signed" : "weight", mode);
  return (level) => ({
    words,
    top: signed ? mostOfLong(matrix) : scale === "unit" ? 1 : topAt(matrix, pooling, level, scale),
    root: scale === "sqrt" && !signed,
    signed,
  });
}
