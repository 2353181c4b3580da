/** Levels of detail in the page itself, for a saved page that has whole matrices: as `attn_widget/figures/long`. */

import { arrayOf } from "../../protocol/required";
import { type Pause, pauses } from "../../protocol/saved/pauses";
import type { HeadIndex, Slice, Source, TypedArray } from "../../protocol/types";
import { maximum } from "../derive/matrix";
import { TILE, type TilePlace } from "./levels";
import type { LinkChoice, LinkList, LongQuantity, Pooling, TileData } from "./types";

/** Cells between two looks at the clock. */
const CELLS_AT_ONCE = 65_536;

export interface Whole {
  readonly quantity: LongQuantity;
  readonly layer: number;
  readonly head: HeadIndex;
}

/** The level that is one tile. */
export function coarsestOf(n: number): number {
  let level = 0;
  while (Math.ceil(n / 2 ** level) > TILE) level++;
  return level;
}

/** A matrix with NaN where it cannot be. */
export async function withMask(
  values: TypedArray,
  allowed: TypedArray | undefined,
  pause: Pause = pauses(),
): Promise<Float32Array> {
  // A plain loop: `Float32Array.from` takes ten times as long for millions of cells.
  const cells = new Float32Array(values.length);
  for (let from = 0; from < cells.length; from += CELLS_AT_ONCE) {
    for (let i = from; i < Math.min(cells.length, from + CELLS_AT_ONCE); i++) {
      const value = values[i] as number;
      const none =
        value === Number.NEGATIVE_INFINITY || (allowed !== undefined && allowed[i] === 0);
      cells[i] = none ? Number.NaN : value;
    }
    await pause();
  }
  return cells;
}

/** The level that is one tile, by both poolings in one walk over the rows; equal to `pooledTile` to the bit. */
export async function pooledWhole(
  cells: Float32Array,
  n: number,
  level: number,
  pause: Pause = pauses(),
): Promise<Readonly<Record<Pooling, TileData>>> {
  const side = Math.ceil(n / 2 ** level);
  const max = new Float32Array(side * side).fill(Number.NaN);
  const mean = new Float32Array(side * side).fill(Number.NaN);
  const sum = new Float64Array(side);
  const count = new Uint32Array(side);
  const most = new Float32Array(side);
  for (let r = 0; r < side; r++) {
    sum.fill(0);
    count.fill(0);
    most.fill(Number.NEGATIVE_INFINITY);
    for (let i = r << level; i < Math.min(n, (r + 1) << level); i++) {
      for (let j = 0, at = i * n; j < n; j++, at++) {
        const value = cells[at] as number;
        if (Number.isNaN(value)) continue;
        const c = j >> level;
        if (value > (most[c] as number)) most[c] = value;
        sum[c] = (sum[c] as number) + value;
        count[c] = (count[c] as number) + 1;
      }
      await pause();
    }
    for (let c = 0; c < side; c++) {
      if (count[c] === 0) continue;
      max[r * side + c] = most[c] as number;
      mean[r * side + c] = (sum[c] as number) / (count[c] as number);
    }
  }
  const tile = (data: Float32Array): TileData => ({ data, rows: side, columns: side });
  return { max: tile(max), mean: tile(mean) };
}

/** Blocks of `2 ** level` cells a side by their largest or mean cell; those of NaN alone are NaN. */
export async function pooledTile(
  cells: Float32Array,
  n: number,
  { level, row, col }: TilePlace,
  pooling: Pooling,
  pause: Pause = pauses(),
): Promise<TileData> {
  const block = 2 ** level;
  const side = Math.ceil(n / block);
  const [top, left] = [row * TILE, col * TILE];
  const rows = Math.min(TILE, side - top);
  const columns = Math.min(TILE, side - left);
  const data = new Float32Array(rows * columns).fill(Number.NaN);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      let most = Number.NEGATIVE_INFINITY;
      let sum = 0;
      let count = 0;
      const [bottom, right] = [
        Math.min(n, (top + r + 1) * block),
        Math.min(n, (left + c + 1) * block),
      ];
      for (let i = (top + r) * block; i < bottom; i++) {
        for (let j = (left + c) * block; j < right; j++) {
          const value = cells[i * n + j] as number;
          if (Number.isNaN(value)) continue;
          if (value > most) most = value;
          sum += value;
          count++;
        }
      }
      if (count > 0) data[r * columns + c] = pooling === "max" ? most : sum / count;
    }
    await pause();
  }
  return { data, rows, columns };
}

/** The strongest links of a matrix; NaN is none. */
export async function strongestLinks(
  cells: Float32Array,
  n: number,
  special: readonly boolean[],
  { count, least, ...choice }: LinkChoice,
  pause: Pause = pauses(),
): Promise<LinkList> {
  const found: { query: number; key: number; weight: number }[] = [];
  let total = 0;
  let floor = least ?? Number.NEGATIVE_INFINITY;
  const cut = (): void => {
    found.sort((a, b) => b.weight - a.weight || a.query - b.query || a.key - b.key);
    found.length = Math.min(found.length, count);
    if (found.length === count) floor = Math.max(floor, found[count - 1]?.weight ?? floor);
  };
  for (let i = 0; i < n; i++) {
    if (!choice.special && special[i]) continue;
    for (let j = 0; j < n; j++) {
      const weight = cells[i * n + j] as number;
      if (Number.isNaN(weight) || weight < (least ?? Number.NEGATIVE_INFINITY)) continue;
      if (!choice.special && special[j]) continue;
      if ((!choice.itself && i === j) || (!choice.neighbors && Math.abs(i - j) === 1)) continue;
      total++;
      if (weight < floor) continue;
      found.push({ query: i, key: j, weight });
      if (found.length > 4 * count) cut();
    }
    await pause();
  }
  cut();
  return {
    queries: Int32Array.from(found, ({ query }) => query),
    keys: Int32Array.from(found, ({ key }) => key),
    weights: Float32Array.from(found, ({ weight }) => weight),
    total,
  };
}

export interface LocalDetail {
  pyramid(of: Whole, signal: AbortSignal): Promise<Slice>;
  tile(of: Whole, place: TilePlace, pooling: Pooling, signal: AbortSignal): Promise<TileData>;
  links(of: Whole, choice: LinkChoice, signal: AbortSignal): Promise<LinkList>;
}

export function localDetail(source: Source): LocalDetail {
  const { special } = source.meta.tokens;
  const n = special.length;
  let kept: { readonly key: string; readonly cells: Float32Array } | null = null;

  async function cellsOf(
    { quantity, layer, head }: Whole,
    signal: AbortSignal,
  ): Promise<Float32Array> {
    const key = `${quantity} ${layer} ${head}`;
    if (kept?.key === key) return kept.cells;
    const slice =
      quantity === "rollout"
        ? await source.slice({ kind: "rollout", layer }, { signal })
        : quantity === "scores" && head !== "mean"
          ? await source.slice({ kind: "scores", layer, head }, { signal })
          : await source.slice({ kind: "weights", layer, head }, { signal });
    const { data } = arrayOf(slice, quantity === "scores" ? "scores" : "weights");
    const cells = await withMask(data, slice.arrays.get("allowed")?.data, pauses(signal));
    kept = { key, cells };
    return cells;
  }

  return {
    async pyramid(of, signal) {
      const cells = await cellsOf(of, signal);
      const coarsest = coarsestOf(n);
      const pause = pauses(signal);
      const { max, mean } = await pooledWhole(cells, n, coarsest, pause);
      const received = new Float32Array(n);
      let [largest, smallest, wordMax] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0];
      let masked = false;
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          const value = cells[i * n + j] as number;
          if (Number.isNaN(value)) {
            masked = true;
            continue;
          }
          received[j] = (received[j] as number) + value / n;
          if (value > largest) largest = value;
          if (value < smallest) smallest = value;
          if (value > wordMax && !special[i] && !special[j]) wordMax = value;
        }
        await pause();
      }
      const array = ({ data, rows, columns }: TileData) => ({ data, shape: [rows, columns] });
      const meanLargest = maximum(mean.data);
      return {
        data: {
          coarsest,
          largest,
          smallest,
          word_max: wordMax > 0 ? wordMax : largest,
          mean_largest: { [coarsest]: meanLargest },
          masked,
        },
        arrays: new Map([
          ["max", array(max)],
          ["mean", array(mean)],
          ["received", { data: received, shape: [n] }],
        ]),
      };
    },
    tile: async (of, place, pooling, signal) =>
      pooledTile(await cellsOf(of, signal), n, place, pooling, pauses(signal)),
    links: async (of, choice, signal) =>
      strongestLinks(await cellsOf(of, signal), n, special, choice, pauses(signal)),
  };
}
