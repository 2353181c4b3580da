/** Figures of all heads, `[L, H]` flat: where one stands among them, and what a layer adds up to. */

import type { MetricScale, Source } from "../../protocol/types";

export interface HeadFigures {
  /** `layer * nHeads + head`; NaN = N/A. */
  readonly values: ArrayLike<number>;
  readonly nLayers: number;
  readonly nHeads: number;
}

export interface Summary {
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

export function summarize(values: Iterable<number>): Summary {
  let total = 0;
  let count = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    total += value;
    count++;
    min = Math.min(min, value);
    max = Math.max(max, value);
  }
  return count === 0
    ? { mean: Number.NaN, min: Number.NaN, max: Number.NaN }
    : { mean: total / count, min, max };
}

/** Mean, smallest and largest of the heads' figures in each layer: never of the averaged matrix. */
export function layerSummaries({ values, nLayers, nHeads }: HeadFigures): Summary[] {
  const all = Array.from(values);
  return Array.from({ length: nLayers }, (_, layer) =>
    summarize(all.slice(layer * nHeads, (layer + 1) * nHeads)),
  );
}

/** 1 = the largest; equal figures share a rank. NaN for a figure that is N/A. */
export function rankOf(values: ArrayLike<number>, value: number): number {
  if (Number.isNaN(value)) return Number.NaN;
  let rank = 1;
  for (let i = 0; i < values.length; i++) if ((values[i] as number) > value) rank++;
  return rank;
}

/** Indices of the heads, smallest figure first, equal ones by layer and head, N/A left out. */
export function ascending(values: ArrayLike<number>): number[] {
  const all = Array.from(values);
  return all
    .map((_, index) => index)
    .filter((index) => !Number.isNaN(all[index]))
    .sort((a, b) => (all[a] as number) - (all[b] as number) || a - b);
}

const UNKNOWN = [Number.NaN, Number.NaN, Number.NaN] as const;

/** Least and largest possible figure of a metric in a layer, and that of uniform attention. */
export function scaleOf(
  scale: MetricScale,
  layer: number,
  key: string,
): readonly [least: number, most: number, uniform: number] {
  return scale[Math.min(layer, scale.length - 1)]?.[key] ?? UNKNOWN;
}

/** 95% interval of a profile's mean, by head; null where the run is of one text or has none. */
export function intervalOf(
  { arrays }: Source,
  key: string,
): ((index: number) => readonly [number, number] | null) | null {
  const low = arrays.get(`low:${key}`)?.data;
  const high = arrays.get(`high:${key}`)?.data;
  if (low === undefined || high === undefined) return null;
  return (index) => {
    const [from, to] = [low[index] ?? Number.NaN, high[index] ?? Number.NaN];
    return Number.isNaN(from) || Number.isNaN(to) ? null : [from, to];
  };
}
