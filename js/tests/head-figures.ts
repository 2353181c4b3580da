/** Figures of every head of the tiny text, from their definitions, as arrays of a source. */

import { METRICS, SPECIALIZATIONS } from "../src/figures/catalog/cards";
import { itemAt, required } from "../src/protocol/required";
import type { NdArray } from "../src/protocol/types";
import { float32, HEADS, LAYERS, N, random, softmax, TOKENS } from "./tiny-text";

const stack = (values: readonly number[]): NdArray => float32(values, LAYERS, HEADS);
const SIZE = LAYERS * HEADS;

/** Attention `[L, H, n, n]` as nested arrays. */
export const ATTENTION: number[][][][] = (() => {
  const next = random(2);
  return Array.from({ length: LAYERS }, (_, layer) =>
    Array.from({ length: HEADS }, (_, head) =>
      Array.from({ length: N }, () =>
        softmax(Array.from({ length: N }, () => (1 + layer + head) * 2 * next())),
      ),
    ),
  );
})();

/** Metrics of one matrix whose impossible cells are NaN: from their definition, or a number of the matrix for a newer one. */
export function figures(
  matrix: readonly (readonly number[])[],
  tau: number,
): Record<string, number> {
  const rows = matrix.map((row) => row.filter((cell) => !Number.isNaN(cell)));
  const cells = rows.flat();
  const sorted = [...cells].sort((a, b) => a - b);
  const mean = cells.reduce((a, b) => a + b, 0) / cells.length;
  const newer = METRICS.map(({ key }, i) => [key, itemAt(cells, i % cells.length)] as const);
  return {
    ...Object.fromEntries(newer),
    confidence_max: Math.max(...cells),
    confidence_avg: rows.reduce((total, row) => total + Math.max(...row), 0) / rows.length,
    focus_entropy: -cells.reduce(
      (total, cell) => total + (cell > 0 ? cell * Math.log(cell) : 0),
      0,
    ),
    sparsity: cells.filter((cell) => cell < tau).length / cells.length,
    distribution_median:
      (itemAt(sorted, Math.floor((sorted.length - 1) / 2)) +
        itemAt(sorted, Math.floor(sorted.length / 2))) /
      2,
    effective_keys:
      rows.reduce(
        (total, row) =>
          total +
          Math.exp(-row.reduce((sum, cell) => sum + (cell > 0 ? cell * Math.log(cell) : 0), 0)),
        0,
      ) / rows.length,
    uniformity: Math.sqrt(
      cells.reduce((total, cell) => total + (cell - mean) ** 2, 0) / cells.length,
    ),
  };
}

/** One of the metrics. */
export const figureOf = (
  matrix: readonly (readonly number[])[],
  tau: number,
  key: string,
): number => required(figures(matrix, tau)[key], key);

export function metricArrays(tau: number): Map<string, NdArray> {
  const all = ATTENTION.flat().map((matrix) => figures(matrix, tau));
  return new Map(
    Object.keys(itemAt(all, 0)).map((key) => [
      `metric:${key}`,
      float32(
        all.map((figure) => required(figure[key], key)),
        LAYERS,
        HEADS,
      ),
    ]),
  );
}

/** Least, most and uniform attention's figure of each metric; the range of entropy alone is its own. */
export function scaleAt(tau: number): Record<string, readonly [number, number, number]> {
  const uniform = figures(
    TOKENS.map(() => TOKENS.map(() => 1 / N)),
    tau,
  );
  return Object.fromEntries(
    Object.entries(uniform).map(([key, value]) => [
      key,
      [0, key === "focus_entropy" ? N * Math.log(N) : 1, value] as const,
    ]),
  );
}

/** Raw specializations of every head; `entities` is N/A, as in a text without one. */
export const RAW: Readonly<Record<string, readonly number[]>> = (() => {
  const next = random(3);
  return Object.fromEntries(
    SPECIALIZATIONS.map(({ key }) => [
      key,
      Array.from({ length: SIZE }, () => (key === "entities" ? Number.NaN : Math.fround(next()))),
    ]),
  );
})();
export const NO_ENTITY = "The text has no named entity.";
export const CHANCE = 1 / N;

/** Min-max by layer, and z-scores over all heads, from the definition. */
export function scaledOf(raw: readonly number[]): number[] {
  return raw.map((value, index) => {
    const first = index - (index % HEADS);
    const layer = raw.slice(first, first + HEADS);
    return (value - Math.min(...layer)) / (Math.max(...layer) - Math.min(...layer));
  });
}
export function standardOf(raw: readonly number[]): number[] {
  const mean = raw.reduce((a, b) => a + b, 0) / raw.length;
  const variance = raw.reduce((a, b) => a + (b - mean) ** 2, 0) / raw.length;
  return raw.map((value) => (value - mean) / Math.sqrt(variance));
}

export function specialization() {
  const entries = Object.entries(RAW);
  const arrays = entries.flatMap(([key, raw]): [string, NdArray][] => [
    [`raw:${key}`, stack(raw)],
    [`scaled:${key}`, stack(scaledOf(raw))],
    [`z:${key}`, stack(standardOf(raw))],
  ]);
  const chance = entries.map(([key]) => [key, key === "entities" ? null : CHANCE]);
  return {
    data: {
      keys: Object.keys(RAW),
      chance: Object.fromEntries(chance),
      reasons: { entities: NO_ENTITY },
      notes: ["The tagger speaks English only."],
    },
    arrays: new Map(arrays),
  };
}

/** Mean weight one token back, and one token on. */
export const PATTERN: Readonly<Record<string, readonly number[]>> = Object.fromEntries(
  ["previous", "next"].map((key) => [
    key,
    ATTENTION.flat().map((matrix) => {
      const seen = matrix.flatMap((row, i) => row[i + (key === "previous" ? -1 : 1)] ?? []);
      return Math.fround(seen.reduce((a, b) => a + b, 0) / (N - 1));
    }),
  ]),
);

export const patternArrays = (): Map<string, NdArray> =>
  new Map(Object.entries(PATTERN).map(([key, values]) => [`pattern:${key}`, stack(values)]));

export const ROLE_NAMES = ["cls + long_range", "<b>punctuation</b>", "diffuse"];
/** Role of head `i`: 0, 1, 2, 0 ...; on a grid of 4 by 3 places. */
const labels = Array.from({ length: SIZE }, (_, index) => index % 3);
const layout = labels.flatMap((_, index) => [3 * (index % HEADS), Math.floor(index / HEADS)]);

export function roles() {
  return {
    data: {
      names: ROLE_NAMES,
      axes: ["cls", "self"],
      explained: 0.8,
      silhouettes: { 2: 0.2, 3: 0.5 },
      seed: 0,
    },
    arrays: new Map<string, NdArray>([
      ["labels", { data: Int32Array.from(labels), shape: [LAYERS, HEADS] }],
      ["layout", float32(layout, LAYERS, HEADS, 2)],
      ["centroids", float32(new Array(6).fill(0), 3, 2)],
    ]),
  };
}

/** A profile's arrays: the figures of the run as means, with an interval about each. */
export function profileArrays(): Map<string, NdArray> {
  const means = new Map(
    [...metricArrays(0.01)].map(([name, { data }]) => [name.slice(7), [...data]]),
  );
  for (const [key, raw] of [...Object.entries(RAW), ...Object.entries(PATTERN)])
    means.set(key, [...raw]);
  return new Map(
    [...means].flatMap(([key, mean]): [string, NdArray][] => [
      [`metric:${key}`, stack(mean)],
      [`low:${key}`, stack(mean.map((value) => value - 0.01))],
      [`high:${key}`, stack(mean.map((value) => value + 0.02))],
      [`sd:${key}`, stack(mean.map(() => 0.25))],
      [`count:${key}`, { data: new Int32Array(SIZE).fill(5), shape: [LAYERS, HEADS] }],
    ]),
  );
}
