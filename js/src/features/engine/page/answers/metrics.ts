/** Metrics of every head, as `attn_widget/figures/catalog/metrics.py` defines them, for models without a mask. */

import type { MetricScale, NdArray } from "../../../../protocol/types";
import { select } from "./select";

/** The order of `attn_widget/figures/catalog/metrics.py`. */
export const METRIC_KEYS = [
  "confidence_max",
  "confidence_avg",
  "focus_entropy",
  "sparsity",
  "distribution_median",
  "uniformity",
  "q25",
  "q75",
  "focus_normalized",
  "focus_per_row",
  "effective_keys",
] as const;
type Figures = Record<(typeof METRIC_KEYS)[number], number>;
type Columns = Record<keyof Figures, Float32Array>;

/** Smallest normal float32: 0 ln 0 = 0. */
const SMALLEST = 2 ** -126;

/** The 25th, 50th and 75th percentiles, interpolated linearly. */
export function quartiles(cells: Float32Array): [number, number, number] {
  const at = [0.25, 0.5, 0.75].map((share) => share * (cells.length - 1));
  const ranks = at.flatMap((place) => [Math.floor(place), Math.ceil(place)]);
  const selected = select(cells, ranks);
  return at.map((place, i) => {
    const [low, high] = [selected[2 * i] as number, selected[2 * i + 1] as number];
    return low + (high - low) * (place - Math.floor(place));
  }) as [number, number, number];
}

/** The metrics of one head's matrix `[n, n]`. */
function figuresOf(weights: Float32Array, n: number, tau: number): Figures {
  let [most, sumOfMost, entropy, effective, below, total] = [0, 0, 0, 0, 0, 0];
  for (let i = 0; i < n; i++) {
    let [largest, row] = [0, 0];
    for (let j = 0; j < n; j++) {
      const weight = weights[i * n + j] as number;
      if (weight > largest) largest = weight;
      if (weight < tau) below++;
      total += weight;
      row -= weight * Math.log(Math.max(weight, SMALLEST));
    }
    most = Math.max(most, largest);
    sumOfMost += largest;
    entropy += row;
    effective += Math.exp(row);
  }
  const mean = Math.fround(total / weights.length);
  let squares = 0;
  for (let i = 0; i < weights.length; i++) squares += ((weights[i] as number) - mean) ** 2;
  const [q25, median, q75] = quartiles(weights);
  entropy = Math.max(0, entropy);
  return {
    confidence_max: most,
    confidence_avg: sumOfMost / n,
    focus_entropy: entropy,
    sparsity: below / weights.length,
    distribution_median: median,
    uniformity: Math.sqrt(squares / weights.length),
    q25,
    q75,
    focus_normalized: n > 1 ? entropy / (n * Math.log(n)) : Number.NaN,
    focus_per_row: entropy / n,
    effective_keys: effective / n,
  };
}

/**
 * `metric:<key>` of all heads, `[L, H]`, out of `attention` `[L, H, n, n]`; computed when the first one is read: most texts
 * that are typed are gone before any is.
 */
export function metricArrays(
  attention: Float32Array,
  [layers, heads]: readonly [number, number],
  n: number,
  tau: number | "uniform",
): Map<string, NdArray> {
  const limit = Math.fround(tau === "uniform" ? 1 / n : tau);
  let found: Columns | null = null;
  function all(): Columns {
    const column = () => new Float32Array(layers * heads);
    const columns = Object.fromEntries(METRIC_KEYS.map((key) => [key, column()])) as Columns;
    for (let head = 0; head < layers * heads; head++) {
      const figures = figuresOf(attention.subarray(head * n * n, (head + 1) * n * n), n, limit);
      for (const key of METRIC_KEYS) columns[key][head] = figures[key];
    }
    return columns;
  }
  const columnOf = (key: keyof Columns): NdArray => ({
    get data() {
      found ??= all();
      return found[key];
    },
    shape: [layers, heads],
  });
  return new Map(METRIC_KEYS.map((key) => [`metric:${key}`, columnOf(key)]));
}

/** Least, most, and the figure of uniform attention, of each metric with a card. */
export function metricScale(n: number, tau: number | "uniform"): MetricScale {
  const most = n * Math.log(n);
  const share = 1 / n;
  return [
    {
      confidence_max: [share, 1, share],
      confidence_avg: [share, 1, share],
      focus_entropy: [0, most, most],
      sparsity: [0, 1, tau !== "uniform" && share < tau ? 1 : 0],
      distribution_median: [0, 1, share],
      uniformity: [0, Math.sqrt(share * (1 - share)), 0],
    },
  ];
}
