/** The block of a cell on the level that is drawn: its card, its colors, and the strongest link in it. */

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
import type { Size } from "../../../ui/hover-card";
import { Num } from "../../../ui/number";
import type { WindowName } from "../facts";
import { End } from "../lazy/ends";

/** Between a cell and its card, px. */
const BESIDE = 14;
const ABOVE = 8;

export interface Block {
  readonly level: number;
  /** Its first query and key. */
  readonly query: number;
  readonly key: number;
  /** NaN where the mask forbids all of it; null while its tile is on its way. */
  readonly value: number | null;
}

export function BlockCard({
  block: { level, query, key, value },
  pooling,
  matrix,
  name,
  keyName,
  error,
  window,
}: {
  readonly block: Block;
  readonly pooling: Pooling;
  readonly matrix: LongMatrix;
  /** Labels of a query and of a key. */
  readonly name: (token: number) => string;
  readonly keyName: (token: number) => string;
  readonly error: number;
  readonly window: WindowName;
}) {
  const side = 2 ** level;
  const end = (role: "query" | "key", token: number) => {
    const last = Math.min(role === "query" ? matrix.rows : matrix.columns, token + side) - 1;
    const label = role === "query" ? name : keyName;
    const single = last === token;
    const read = single ? window(token, role) : window(token);
    // Queries and keys of the same window name it once.
    const repeats = !single && role === "key" && read === window(query);
    return (
      <End
        role={role}
        name={label(token)}
        more={
          !single && (
            <bdi dir="ltr" class="aw-muted">
              … {label(last)}
            </bdi>
          )
        }
        details={[single ? `${token}` : `${token}–${last}`, repeats ? null : read].filter(
          (part) => part !== null,
        )}
      />
    );
  };
  const quantity = matrix.quantity === "weights" ? "weight" : matrix.quantity;
  const text =
    level === 0
      ? quantity
      : `${pooling === "max" ? "largest" : "mean"} ${quantity} of ${side} × ${side}`;
  return (
    <div class="aw-link-card" data-aw-part="link" data-aw-row={query} data-aw-column={key}>
      <div class="aw-link-ends">
        {end("query", query)}
        {end("key", key)}
      </div>
      {value === null ? (
        <p class="aw-muted">{text}: …</p>
      ) : Number.isNaN(value) ? (
        <p class="aw-muted">
          {window(query) === null
            ? "masked: these queries cannot see these keys"
            : "N/A: outside of the window of these queries"}
        </p>
      ) : (
        <p>
          <span class="aw-muted">{text} </span>
          <Num value={value} error={error} />
        </p>
      )}
    </div>
  );
}

/** The upper left corner of a card next to a cell and above it, within `room` px. */
export function placeCard(
  cell: { readonly x: number; readonly y: number },
  { width, height }: Size,
  room: number,
): { readonly x: number; readonly y: number } {
  const right = cell.x + BESIDE;
  const x = right + width > room ? cell.x - width - BESIDE : right;
  return { x: Math.max(0, x), y: Math.max(0, cell.y - height - ABOVE) };
}

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
