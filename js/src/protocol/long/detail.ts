/** Levels of detail and strongest links of a long matrix that is read a window at a time: as `attn_widget/figures/long`. */

import type { Pause } from "../saved/pauses";
import type { NdArray, Slice, SliceRequest, Window } from "../types";
import type { Cells } from "./cells";

/** Cells a side of a tile (attn_widget/figures/long/pyramid.py). */
export const TILE = 256;
/** Cells that are read between two looks at the clock: two milliseconds; of 8,192 tokens four rows. */
const CELLS_AT_ONCE = 32_768;

export interface Pooled {
  readonly max: NdArray<Float32Array>;
  readonly mean: NdArray<Float32Array>;
}
export type Place = Pick<SliceRequest<"tile">, "level" | "row" | "col">;
export type LinkChoice = Pick<
  SliceRequest<"links">,
  "count" | "least" | "special" | "neighbors" | "itself"
>;

/** The level that is one tile. */
export function coarsestOf(n: number): number {
  let level = 0;
  while (Math.ceil(n / 2 ** level) > TILE) level++;
  return level;
}

/** Reads a window some rows at a time. */
async function walk(
  cells: Cells,
  rows: Window,
  columns: Window,
  pause: Pause,
  visit: (part: Float32Array, first: number, count: number) => void,
): Promise<void> {
  const width = columns[1] - columns[0];
  const step = Math.max(1, Math.floor(CELLS_AT_ONCE / width));
  for (let first = rows[0]; first < rows[1]; first += step) {
    const last = Math.min(rows[1], first + step);
    const read = cells.read([first, last], columns);
    visit(read instanceof Float32Array ? read : await read, first, last - first);
    await pause();
  }
}

/** Cells of a window by blocks of `2 ** level` a side, in both poolings; blocks of NaN alone are NaN. */
async function pooled(
  cells: Cells,
  level: number,
  rows: Window,
  columns: Window,
  pause: Pause,
  also: (part: Float32Array, first: number, count: number) => void = () => undefined,
): Promise<Pooled> {
  const width = columns[1] - columns[0];
  const [high, wide] = [Math.ceil((rows[1] - rows[0]) / 2 ** level), Math.ceil(width / 2 ** level)];
  const max = new Float32Array(high * wide).fill(Number.NaN);
  const mean = new Float32Array(high * wide).fill(Number.NaN);
  const sum = new Float64Array(wide);
  const count = new Uint32Array(wide);
  const most = new Float32Array(wide).fill(Number.NEGATIVE_INFINITY);
  await walk(cells, rows, columns, pause, (part, first, rowCount) => {
    also(part, first, rowCount);
    for (let i = 0, at = 0; i < rowCount; i++) {
      for (let j = 0; j < width; j++, at++) {
        const value = part[at] as number;
        if (Number.isNaN(value)) continue;
        const c = j >> level;
        if (value > (most[c] as number)) most[c] = value;
        sum[c] = (sum[c] as number) + value;
        count[c] = (count[c] as number) + 1;
      }
      const done = first + i - rows[0] + 1;
      if (done % 2 ** level !== 0 && first + i + 1 !== rows[1]) continue;
      const row = ((done - 1) >> level) * wide;
      for (let c = 0; c < wide; c++) {
        if (count[c] === 0) continue;
        max[row + c] = most[c] as number;
        mean[row + c] = (sum[c] as number) / (count[c] as number);
      }
      sum.fill(0);
      count.fill(0);
      most.fill(Number.NEGATIVE_INFINITY);
    }
  });
  const shape = [high, wide];
  return { max: { data: max, shape }, mean: { data: mean, shape } };
}

/** Tokens `[from, to)` of a row or column of tiles. */
const tokensOf = (level: number, index: number, n: number): Window => [
  index * TILE * 2 ** level,
  Math.min(n, (index + 1) * TILE * 2 ** level),
];

/** A tile of any level in both poolings, which are one on the finest level. */
export async function tileOf(
  cells: Cells,
  { level, row, col }: Place,
  pause: Pause,
): Promise<Pooled> {
  const [rows, columns] = [tokensOf(level, row, cells.n), tokensOf(level, col, cells.n)];
  if (level > 0) return pooled(cells, level, rows, columns, pause);
  const width = columns[1] - columns[0];
  const data = new Float32Array((rows[1] - rows[0]) * width);
  await walk(cells, rows, columns, pause, (part, first) => {
    data.set(part, (first - rows[0]) * width);
  });
  const tile = { data, shape: [rows[1] - rows[0], width] };
  return { max: tile, mean: tile };
}

/** The answer to `pyramid` out of one walk over all cells. */
export async function pyramidOf(
  cells: Cells,
  special: readonly boolean[],
  pause: Pause,
): Promise<Slice> {
  const { n } = cells;
  const coarsest = coarsestOf(n);
  const received = new Float64Array(n);
  let [largest, smallest, wordMax] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0];
  const { max, mean } = await pooled(
    cells,
    coarsest,
    [0, n],
    [0, n],
    pause,
    (part, first, rows) => {
      for (let i = 0, at = 0; i < rows; i++) {
        const word = !special[first + i];
        for (let j = 0; j < n; j++, at++) {
          const value = part[at] as number;
          if (Number.isNaN(value)) continue;
          received[j] = (received[j] as number) + value / n;
          if (value > largest) largest = value;
          if (value < smallest) smallest = value;
          if (word && value > wordMax && !special[j]) wordMax = value;
        }
      }
    },
  );
  let meanLargest = Number.NEGATIVE_INFINITY;
  for (const value of mean.data) if (value > meanLargest) meanLargest = value;
  return {
    data: {
      coarsest,
      largest,
      smallest,
      word_max: wordMax > 0 ? wordMax : largest,
      mean_largest: { [coarsest]: meanLargest },
      masked: cells.mask !== null,
    },
    arrays: new Map<string, NdArray>([
      ["max", max],
      ["mean", mean],
      ["received", { data: Float32Array.from(received), shape: [n] }],
    ]),
  };
}

/** The largest cell of every block of the coarsest level, from its place in the block (`row * 2^level + column`). */
export async function largestAt(
  cells: Cells,
  places: ArrayLike<number>,
  pause: Pause,
): Promise<NdArray<Float32Array>> {
  const level = coarsestOf(cells.n);
  const side = Math.ceil(cells.n / 2 ** level);
  const data = new Float32Array(side * side);
  for (let row = 0; row < side; row++) {
    for (let column = 0; column < side; column++) {
      const place = places[row * side + column] as number;
      const query = (row << level) + (place >> level);
      const key = (column << level) + (place & (2 ** level - 1));
      const cell = cells.read([query, query + 1], [key, key + 1]);
      data[row * side + column] = (cell instanceof Float32Array ? cell : await cell)[0] as number;
    }
    await pause();
  }
  return { data, shape: [side, side] };
}

/** A hair above rounding: what a page computes may differ by a unit of the last place from what was saved. */
const SLACK = 1 + 1e-6;

/**
 * The strongest links of a matrix. `tops`, the largest cell of every block of the coarsest level, tells which blocks need
 * not be read.
 */
export async function linksOf(
  cells: Cells,
  tops: Float32Array,
  special: readonly boolean[],
  choice: LinkChoice,
  pause: Pause,
): Promise<Slice> {
  const { n } = cells;
  const { count = 50, special: specials = true, neighbors = true, itself = true } = choice;
  const least = choice.least ?? null;
  const level = coarsestOf(n);
  const side = Math.ceil(n / 2 ** level);
  const found: { query: number; key: number; weight: number }[] = [];
  let floor = least ?? Number.NEGATIVE_INFINITY;
  let total = 0;
  const cut = (): void => {
    found.sort((a, b) => b.weight - a.weight || a.query - b.query || a.key - b.key);
    found.length = Math.min(found.length, count);
    if (found.length === count) floor = Math.max(floor, found[count - 1]?.weight ?? floor);
  };
  const above = (top: number, value: number): boolean => top + (SLACK - 1) * Math.abs(top) >= value;
  const order = [...tops.keys()]
    .filter((at) => !Number.isNaN(tops[at] as number))
    .sort((a, b) => (tops[b] as number) - (tops[a] as number));
  for (const at of order) {
    const top = tops[at] as number;
    // All links from `least` on are counted; without it their number follows from the mask.
    if (!above(top, least ?? floor)) break;
    const [row, column] = [Math.floor(at / side) << level, (at % side) << level];
    const rows: Window = [row, Math.min(n, row + 2 ** level)];
    const columns: Window = [column, Math.min(n, column + 2 ** level)];
    const read = cells.read(rows, columns);
    const part = read instanceof Float32Array ? read : await read;
    for (let i = rows[0], cell = 0; i < rows[1]; i++) {
      for (let j = columns[0]; j < columns[1]; j++, cell++) {
        const weight = part[cell] as number;
        if (Number.isNaN(weight) || (least !== null && weight < least)) continue;
        if (!specials && (special[i] || special[j])) continue;
        if ((!itself && i === j) || (!neighbors && Math.abs(i - j) === 1)) continue;
        total++;
        if (weight >= floor) found.push({ query: i, key: j, weight });
      }
    }
    if (found.length > 2 * count) cut();
    await pause();
  }
  cut();
  if (least === null) {
    total = await possibleLinks(cells, special, { specials, neighbors, itself }, pause);
  }
  const array = (data: NdArray["data"]): NdArray => ({ data, shape: [found.length] });
  return {
    data: { total },
    arrays: new Map([
      ["queries", array(Int32Array.from(found, ({ query }) => query))],
      ["keys", array(Int32Array.from(found, ({ key }) => key))],
      ["weights", array(Float32Array.from(found, ({ weight }) => weight))],
    ]),
  };
}

/** How many cells the mask and the choice allow. */
async function possibleLinks(
  { n, mask }: Cells,
  special: readonly boolean[],
  { specials, neighbors, itself }: { specials: boolean; neighbors: boolean; itself: boolean },
  pause: Pause,
): Promise<number> {
  // Special tokens before each position.
  const before = new Int32Array(n + 1);
  for (let i = 0; i < n; i++) before[i + 1] = (before[i] as number) + (special[i] ? 1 : 0);
  const left = (i: number, j: number): boolean =>
    j >= 0 &&
    j < n &&
    (specials || !special[j]) &&
    ((!itself && i === j) || (!neighbors && Math.abs(i - j) === 1));
  let total = 0;
  for (let i = 0; i < n; i++) {
    if (!specials && special[i]) continue;
    const visit = (from: number, to: number): void => {
      total += to - from;
      if (!specials) total -= (before[to] as number) - (before[from] as number);
      for (let j = Math.max(from, i - 1); j < Math.min(to, i + 2); j++) if (left(i, j)) total--;
    };
    if (mask === null) visit(0, n);
    else mask.runs(i, 0, n, visit);
    await pause();
  }
  return total;
}
