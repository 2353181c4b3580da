/** Matrices of a long text in a saved page: windows, tiles, rows and links against the whole matrix. */

import { describe, expect, test } from "vitest";
import { type Cells, maskOf, meanCells } from "../src/protocol/cells";
import {
  codedCells,
  factorsOf,
  scoreCells,
  softmaxRows,
  weightCells,
} from "../src/protocol/saved/codes";
import { coarsestOf, largestAt, linksOf, pyramidOf, tileOf } from "../src/protocol/slices/long";
import { sentenceBlock, sentenceMatrix } from "../src/protocol/slices/sentences";
import type { NdArray, Slice, TypedArray } from "../src/protocol/types";

const pause = () => undefined;
const array = (data: TypedArray): NdArray => ({ data, shape: [data.length] });
const noise = (i: number): number => ((i * 7919) % 10007) / 10007 - 0.5;

/** Arrays of a mask as a page has them: differences from row to row. */
const differences = (values: readonly number[]): NdArray =>
  array(Int32Array.from(values, (value, i) => value - (i === 0 ? 0 : values[i - 1]!)));

const MASKS: Readonly<Record<string, (n: number) => ReadonlyMap<string, NdArray>>> = {
  none: () => new Map(),
  causal: (n) =>
    new Map([
      ["mask_start", differences(Array.from({ length: n }, () => 0))],
      ["mask_stop", differences(Array.from({ length: n }, (_, i) => i + 1))],
    ]),
  window: (n) =>
    new Map([
      ["mask_start", differences(Array.from({ length: n }, (_, i) => Math.max(0, i - 9)))],
      ["mask_stop", differences(Array.from({ length: n }, (_, i) => Math.min(n, i + 10)))],
      ["mask_common", array(Uint8Array.from({ length: n }, (_, i) => Number(i % 300 === 0)))],
    ]),
  bits: (n) => {
    const width = Math.ceil(n / 8);
    const bits = new Uint8Array(n * width).map((_, i) => (i * 37 + 11) % 251);
    return new Map([["mask_bits", { data: bits, shape: [n, width] }]]);
  },
};

function allowedBy(
  arrays: ReadonlyMap<string, NdArray>,
  n: number,
): (i: number, j: number) => boolean {
  const bits = arrays.get("mask_bits")?.data;
  if (bits !== undefined) {
    return (i, j) => ((bits[i * Math.ceil(n / 8) + (j >> 3)]! >> (j & 7)) & 1) === 1;
  }
  if (arrays.size === 0) return () => true;
  let [start, stop] = [0, 0];
  const ends = Array.from({ length: n }, (_, i) => {
    start += arrays.get("mask_start")!.data[i]!;
    stop += arrays.get("mask_stop")!.data[i]!;
    return [start, stop] as const;
  });
  const common = arrays.get("mask_common")?.data;
  return (i, j) => (j >= ends[i]![0] && j < ends[i]![1]) || common?.[j] === 1;
}

/** A head in factors, and its whole matrices by plain loops. */
function headOf(n: number, mask: ReadonlyMap<string, NdArray>, seed = 0) {
  const rank = 6;
  const values = Int32Array.from({ length: 2 * rank * n }, (_, i) =>
    Math.round(60 * noise(i + seed)),
  );
  const zigzag = values.map((value) => (value < 0 ? -2 * value - 1 : 2 * value));
  const step = 0.05;
  const allowed = allowedBy(mask, n);
  const scores = new Float32Array(n * n);
  const logTotal = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let total = 0;
    for (let j = 0; j < n; j++) {
      let product = 0;
      for (let r = 0; r < rank; r++) product += values[r * n + i]! * values[(rank + r) * n + j]!;
      scores[i * n + j] = allowed(i, j) ? product * step ** 2 : Number.NEGATIVE_INFINITY;
      total += Math.exp(scores[i * n + j]!);
    }
    logTotal[i] = total === 0 ? Number.POSITIVE_INFINITY : Math.log(total);
  }
  const arrays = new Map<string, NdArray>([
    ...mask,
    ["rank", array(Int32Array.of(rank))],
    ["step", array(Float64Array.of(step))],
    ["shift", array(new Float32Array(n))],
    ["log_total", array(logTotal)],
    ["low", array(Uint8Array.from(zigzag, (one) => one & 255))],
    ["high", array(Uint8Array.from(zigzag, (one) => (one >> 8) & 255))],
  ]);
  const weights = Float32Array.from(scores, (score, at) =>
    score === Number.NEGATIVE_INFINITY
      ? Number.NaN
      : Math.exp(score - logTotal[Math.floor(at / n)]!),
  );
  return { factors: factorsOf(arrays, n), scores, weights };
}

/** Blocks of a whole matrix, by plain loops. */
function pooledPlainly(whole: Float32Array, n: number, level: number) {
  const side = Math.ceil(n / 2 ** level);
  const max = new Float32Array(side * side).fill(Number.NaN);
  const mean = new Float32Array(side * side).fill(Number.NaN);
  for (let r = 0; r < side; r++) {
    for (let c = 0; c < side; c++) {
      const block: number[] = [];
      for (let i = r << level; i < Math.min(n, (r + 1) << level); i++) {
        for (let j = c << level; j < Math.min(n, (c + 1) << level); j++) {
          const value = whole[i * n + j]!;
          if (!Number.isNaN(value)) block.push(value);
        }
      }
      if (block.length === 0) continue;
      max[r * side + c] = Math.max(...block);
      mean[r * side + c] = block.reduce((a, b) => a + b) / block.length;
    }
  }
  return { side, max, mean };
}

const cut = (whole: Float32Array, n: number, [a, b]: number[], [c, d]: number[]): Float32Array =>
  Float32Array.from(
    { length: (b! - a!) * (d! - c!) },
    (_, at) => whole[(a! + Math.floor(at / (d! - c!))) * n + c! + (at % (d! - c!))]!,
  );

/** Equal to the bit; vitest compares millions of cells by the minute. */
const expectSame = (found: ArrayLike<number>, expected: ArrayLike<number>): void => {
  expect(found.length).toBe(expected.length);
  for (let i = 0; i < expected.length; i++) {
    if (!Object.is(found[i], expected[i])) expect([i, found[i]]).toEqual([i, expected[i]]);
  }
};

const expectMeans = (found: Float32Array, expected: Float32Array): void => {
  expectSame(
    found.map((one) => Number(Number.isNaN(one))),
    expected.map((one) => Number(Number.isNaN(one))),
  );
  const off = found.map((value, i) => Math.abs(value - expected[i]!) || 0);
  expect(off.reduce((a, b) => Math.max(a, b))).toBeLessThan(1e-6);
};

describe.each(Object.keys(MASKS))("mask: %s", (name) => {
  const n = 530;
  const mask = MASKS[name]!(n);
  const { factors, scores, weights } = headOf(n, mask);
  const cells = weightCells(factors);

  test("windows of weights and scores are those of the whole matrix to the bit", () => {
    for (const [rows, columns] of [
      [
        [0, n],
        [0, n],
      ],
      [
        [300, 301],
        [0, n],
      ],
      [
        [17, 90],
        [511, 525],
      ],
    ] as const) {
      expectSame(
        cells.read(rows, columns) as Float32Array,
        cut(weights, n, [...rows], [...columns]),
      );
      const found = scoreCells(factors).read(rows, columns) as Float32Array;
      const expected = cut(scores, n, [...rows], [...columns]);
      expectSame(
        found.map((value) => (Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value)),
        expected,
      );
    }
  });

  test("a row with its normalizer is the softmax of the row", () => {
    const row = scores.slice(300 * n, 301 * n);
    const found = (cells.read([300, 301], [0, n]) as Float32Array).map((one) => one || 0);
    const expected = softmaxRows(row, n);
    expect(Math.max(...found.map((one, i) => Math.abs(one - expected[i]!)))).toBeLessThan(1e-7);
  });

  test.each([1, 3])("tiles of level %i: max to the bit, mean to 1e-6", async (level) => {
    const { side, max, mean } = pooledPlainly(weights, n, level);
    for (let row = 0; row * 256 < side; row++) {
      for (let col = 0; col * 256 < side; col++) {
        const found = await tileOf(cells, { level, row, col }, pause);
        const at = [row, col].map((one) => [one * 256, Math.min(side, one * 256 + 256)]);
        expectSame(found.max.data, cut(max, side, at[0]!, at[1]!));
        expectMeans(found.mean.data, cut(mean, side, at[0]!, at[1]!));
      }
    }
  });

  test("level 0 has the cells themselves, cut at the end of the text", async () => {
    const { max, mean } = await tileOf(cells, { level: 0, row: 2, col: 1 }, pause);
    expect(max).toBe(mean);
    expect(max.shape).toEqual([n - 512, 256]);
    expectSame(max.data, cut(weights, n, [512, n], [256, 512]));
  });

  test("the coarsest level by one walk, by its places, and what is known of the whole", async () => {
    const special = Array.from({ length: n }, (_, i) => i === 0 || i === n - 1);
    const level = coarsestOf(n);
    const { side, max, mean } = pooledPlainly(weights, n, level);
    const found = await pyramidOf(cells, special, pause);
    expectSame(found.arrays.get("max")!.data, max);
    expect(found.arrays.has("rest")).toBe(false);
    const withRest = await pyramidOf(cells, special, pause, true);
    withRest.arrays.get("rest")!.data.forEach((rest, i) => {
      const row = weights.subarray(i * n, (i + 1) * n).filter((value) => !Number.isNaN(value));
      expect(rest).toBeCloseTo(Math.max(0, 1 - row.reduce((a, b) => a + b, 0)), 5);
    });
    expectMeans(found.arrays.get("mean")!.data as Float32Array, mean);
    const possible = weights.filter((value) => !Number.isNaN(value));
    const words = weights.filter(
      (value, at) => !Number.isNaN(value) && !special[Math.floor(at / n)] && !special[at % n],
    );
    expect(found.data).toMatchObject({
      coarsest: level,
      largest: possible.reduce((a, b) => Math.max(a, b)),
      smallest: possible.reduce((a, b) => Math.min(a, b)),
      word_max: words.reduce((a, b) => Math.max(a, b)),
      masked: name !== "none",
    });
    const column = Array.from({ length: n }, (_, i) => weights[i * n + 7]!).filter(Number.isFinite);
    expect(found.arrays.get("received")!.data[7]).toBeCloseTo(
      column.reduce((a, b) => a + b) / column.length,
      7,
    );
    const places = Array.from({ length: side * side }, (_, at) => {
      const [r, c] = [Math.floor(at / side), at % side];
      for (let place = 0; place < 4 ** level; place++) {
        const [i, j] = [(r << level) + (place >> level), (c << level) + (place % 2 ** level)];
        if (i < n && j < n && weights[i * n + j] === max[at]) return place;
      }
      return 0;
    });
    expectSame((await largestAt(cells, places, pause)).data, max);
  });

  test.each([
    { special: false, neighbors: false, itself: false },
    { special: true, neighbors: true, itself: true },
    { special: true, neighbors: true, itself: true, least: 0.02 },
  ])("strongest links are those that sorting finds: %o", async (choice) => {
    const special = Array.from({ length: n }, (_, i) => i % 50 === 0);
    const { max } = pooledPlainly(weights, n, coarsestOf(n));
    const found = await linksOf(cells, max, special, { count: 25, ...choice }, pause);
    const all = [...weights.keys()].filter((at) => {
      const [i, j] = [Math.floor(at / n), at % n];
      return (
        !Number.isNaN(weights[at]!) &&
        (choice.special || (!special[i] && !special[j])) &&
        (choice.itself || i !== j) &&
        (choice.neighbors || Math.abs(i - j) !== 1) &&
        weights[at]! >= (choice.least ?? 0)
      );
    });
    all.sort((a, b) => weights[b]! - weights[a]! || a - b);
    const [queries, keys] = ["queries", "keys"].map((one) => found.arrays.get(one)!.data);
    expect([...queries!].map((query, i) => query * n + keys![i]!)).toEqual(all.slice(0, 25));
    expect(found.data.total).toBe(all.length);
  });

  test("sentences gather what their tokens give, and open token by token", async () => {
    const sentences = [
      Array.from({ length: 300 }, (_, i) => i + 1),
      Array.from({ length: 170 }, (_, i) => i + 350),
    ];
    const part = { layer: 1, head: 2, open: async () => cells };
    const find = (slice: Slice, of: string) => slice.arrays.get(of)!.data;
    const mass = await sentenceMatrix("mass", [part, part], sentences, n, {}, pause);
    const most = await sentenceMatrix("max", [part], sentences, n, {}, pause);
    sentences.forEach((queries, a) => {
      const sum = (keys: readonly number[]) =>
        queries.reduce(
          (total, i) => total + keys.reduce((s, j) => s + (weights[i * n + j]! || 0), 0),
          0,
        );
      sentences.forEach((keys, b) => {
        expect(find(mass, "matrix")[2 * a + b]).toBeCloseTo(sum(keys) / queries.length, 6);
        const block = queries.flatMap((i) => keys.map((j) => weights[i * n + j]! || 0));
        expect(find(most, "matrix")[2 * a + b]).toBe(Math.max(...block));
      });
      const inside = sentences.flat();
      const outside = [...Array(n).keys()].filter((key) => !inside.includes(key));
      expect(find(mass, "elsewhere")[a]).toBeCloseTo(sum(outside) / queries.length, 6);
    });
    const [query, key] = [find(most, "witness_query")[1]!, find(most, "witness_key")[1]!];
    const top = find(most, "matrix")[1]!;
    if (top > 0) expect(weights[query * n + key]).toBe(top);
    const possible = most.arrays.get("possible")?.data[1] ?? 1;
    expect(possible).toBe(Number(top > 0));
    const drill = await sentenceBlock(
      "mass",
      [part, part],
      [
        [3, 9],
        [4, 350],
      ],
      {},
      pause,
    );
    expect([...find(drill, "weights")]).toEqual(
      [3, 9].flatMap((i) => [4, 350].map((j) => weights[i * n + j]! || 0)),
    );
  });
});

test("coded weights come chunk by chunk, and only those that are asked for", async () => {
  const n = 700;
  const plane = Uint8Array.from({ length: n * n }, (_, i) => (i * 31) % 256);
  const asked: number[] = [];
  const cells = codedCells(
    n,
    maskOf(MASKS.causal!(n), n),
    { largest: 0.5, levels: 255 },
    async (at) => {
      asked.push(at);
      const data = plane.subarray(at * 256 * n, Math.min(n, (at + 1) * 256) * n);
      return new Map([["codes", { data, shape: [data.length / n, n] }]]);
    },
  );
  const whole = Float32Array.from(plane, (code, at) => {
    const share = code / 255;
    return at % n <= Math.floor(at / n) ? 0.5 * share * share : Number.NaN;
  });
  expectSame(await cells.read([250, 520], [100, 300]), cut(whole, n, [250, 520], [100, 300]));
  expect(asked).toEqual([0, 1, 2]);
  const { max } = await tileOf(cells, { level: 1, row: 1, col: 0 }, pause);
  const pooled = pooledPlainly(whole, n, 1);
  expectSame(max.data, cut(pooled.max, pooled.side, [256, 350], [0, 256]));
});

test("the mean head is the mean of the heads", async () => {
  const n = 300;
  const heads = [0, 5000].map((seed) => headOf(n, MASKS.causal!(n), seed));
  const mean: Cells = meanCells(heads.map(({ factors }) => weightCells(factors)));
  const whole = heads[0]!.weights.map((weight, at) => (weight + heads[1]!.weights[at]!) / 2);
  expectSame(await mean.read([0, n], [0, n]), whole);
});

test("where there are no words the ramp of words ends at the largest cell", async () => {
  const { factors } = headOf(40, MASKS.none!(40));
  const { data } = await pyramidOf(weightCells(factors), Array(40).fill(true), pause);
  expect(data.word_max).toBe(data.largest);
});
