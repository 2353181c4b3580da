/** Slices of a long matrix: levels of detail and strongest links, as `attn_widget/figures/long`. */

import { type Cells, walk, wholeCells } from "../cells";
import { type Pause, pauses } from "../pauses";
import { arrayOf } from "../required";
import type { Answers, NdArray, OfHeadOrMean, RequestOf, Slice, Window } from "../slice";
import { type MatrixRun, rollout } from "./attention";

type OfMatrix = OfHeadOrMean & { readonly quantity?: "weights" | "scores" | "rollout" };

export interface LongFields {
  readonly pyramid: OfMatrix;
  readonly tile: OfMatrix & {
    readonly level: number;
    readonly row: number;
    readonly col: number;
    readonly pooling: "max" | "mean";
  };
  readonly links: OfMatrix & {
    readonly count?: number;
    readonly least?: number | null;
    readonly special?: boolean;
    readonly neighbors?: boolean;
    readonly itself?: boolean;
  };
}

/** Cells a side of a tile (attn_widget/figures/long/pyramid.py). */
export const TILE = 256;

interface Pooled {
  readonly max: NdArray<Float32Array>;
  readonly mean: NdArray<Float32Array>;
}
type Tile = Pick<LongFields["tile"], "level" | "row" | "col">;
type LinkChoice = Omit<LongFields["links"], keyof OfMatrix>;

/** The level that is one tile. */
export function coarsestOf(n: number): number {
  let level = 0;
  while (Math.ceil(n / 2 ** level) > TILE) level++;
  return level;
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
  { level, row, col }: Tile,
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

/** The answer to `pyramid` out of one walk over all cells; with the `rest` of each row where it may sum to less than 1. */
export async function pyramidOf(
  cells: Cells,
  special: readonly boolean[],
  pause: Pause,
  withRest = false,
): Promise<Slice> {
  const { n } = cells;
  const coarsest = coarsestOf(n);
  const received = new Float64Array(n);
  const queries = new Float64Array(n);
  const rest = new Float32Array(withRest ? n : 0);
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
        let given = 0;
        for (let j = 0; j < n; j++, at++) {
          const value = part[at] as number;
          if (Number.isNaN(value)) continue;
          given += value;
          received[j] = (received[j] as number) + value;
          queries[j] = (queries[j] as number) + 1;
          if (value > largest) largest = value;
          if (value < smallest) smallest = value;
          if (word && value > wordMax && !special[j]) wordMax = value;
        }
        if (withRest) rest[first + i] = Math.max(0, 1 - given);
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
      [
        "received",
        {
          // A mean over the queries that may look at the key.
          data: Float32Array.from(received, (sum, j) => sum / ((queries[j] as number) || 1)),
          shape: [n],
        },
      ],
      ...(withRest ? [["rest", { data: rest, shape: [n] }] as const] : []),
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

/** Number of cells that the mask and the choice allow. */
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

/** A run with levels of detail. */
export interface LongRun extends MatrixRun {
  /** The level of detail of a head's weights, as far as it was saved. */
  detail(layer: number, head: OfMatrix["head"]): Promise<Slice>;
  ask(request: RequestOf<LongFields>): Promise<Slice>;
}

const cellsOf = async (
  run: LongRun,
  { quantity = "weights", layer, head }: OfMatrix,
): Promise<Cells> =>
  quantity === "rollout"
    ? wholeCells(await rollout(run, layer), run.n)
    : run.cells(quantity, layer, head);

/** The largest cells of the blocks of the coarsest level, by pooling. */
const coarse = (run: LongRun, { quantity = "weights", layer, head }: OfMatrix): Promise<Slice> =>
  run.ask({ kind: "pyramid", quantity, layer, head });

export const LONG = {
  async pyramid(run, request, { signal }) {
    const { quantity = "weights", layer, head } = request;
    const cells = await cellsOf(run, request);
    const pause = pauses(signal);
    const saved = quantity === "weights" ? await run.detail(layer, head) : null;
    if (!saved?.arrays.has("mean")) {
      const { mask, tokens } = run.meta;
      // Token 0 of a mask that looks back alone is what queries attend to that find nothing else.
      const sink = quantity !== "rollout" && mask?.back.includes(layer) === true;
      const special = sink ? [true, ...tokens.special.slice(1)] : tokens.special;
      return pyramidOf(cells, special, pause, run.meta.rest === true && quantity === "weights");
    }
    const { arrays, data } = saved;
    const [low, high] = [arrays.get("places"), arrays.get("places_high")];
    const places =
      low && high && Uint16Array.from(low.data, (byte, i) => byte + 256 * (high.data[i] as number));
    const max = places ? await largestAt(cells, places, pause) : arrayOf(saved, "max");
    const others = ["mean", "received", ...(arrays.has("rest") ? ["rest"] : [])].map(
      (name) => [name, arrayOf(saved, name)] as const,
    );
    return { data, arrays: new Map([["max", max], ...others]) };
  },
  async tile(run, request, { signal }) {
    const { level, pooling } = request;
    const tile =
      level === coarsestOf(run.n)
        ? arrayOf(await coarse(run, request), pooling)
        : (await tileOf(await cellsOf(run, request), request, pauses(signal)))[pooling];
    return { data: {}, arrays: new Map([["tile", tile]]) };
  },
  async links(run, request, { signal }) {
    const cells = await cellsOf(run, request);
    const tops = arrayOf(await coarse(run, request), "max").data as Float32Array;
    return linksOf(cells, tops, run.meta.tokens.special, request, pauses(signal));
  },
} satisfies Answers<LongRun, LongFields>;
