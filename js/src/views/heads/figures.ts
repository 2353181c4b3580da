/** Figures of all heads, `[L, H]` flat: ranks, summaries of layers, intervals, and the table of exports. */

import { ALIGNMENT_KEYS, SPECIALIZATION_KEYS } from "../../figures/catalog/names";
import { askAlignment, askSpecialization, type Specialization } from "../../figures/head-figures";
import { isAligned } from "../../figures/head-names";
import type { Table } from "../../figures/table";
import { largestFirst } from "../../protocol/ties";
import type { MetricScale, NdArray, Source } from "../../protocol/types";

interface HeadFigures {
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
  const all = [...values].filter((value) => !Number.isNaN(value));
  if (all.length === 0) return { mean: Number.NaN, min: Number.NaN, max: Number.NaN };
  return {
    mean: all.reduce((total, value) => total + value, 0) / all.length,
    min: all.reduce((least, value) => Math.min(least, value)),
    max: all.reduce((most, value) => Math.max(most, value)),
  };
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
  return 1 + Array.from(values).filter((other) => other > value).length;
}

/** Standard deviations from the mean of all heads; NaN where they do not differ. */
export function standardized(values: ArrayLike<number>): number[] {
  const all = Array.from(values);
  const { mean } = summarize(all);
  const defined = all.filter((value) => !Number.isNaN(value));
  const variance = defined.reduce((sum, value) => sum + (value - mean) ** 2, 0) / defined.length;
  return all.map((value) => (variance > 0 ? (value - mean) / Math.sqrt(variance) : Number.NaN));
}

/** Indices of the heads, smallest figure first, those equal up to rounding by layer and head, N/A left out. */
export function ascending(values: ArrayLike<number>): number[] {
  const order = largestFirst(Array.from(values, (value) => -value));
  return order.filter((index) => !Number.isNaN(values[index]));
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

type Interval = (index: number) => readonly [number, number] | null;

/** 95% interval of a profile's mean, by head; null where the run is of one text or has none. */
export function intervalOf({ arrays }: Source, key: string): Interval | null {
  const [low, high] = [arrays.get(`low:${key}`)?.data, arrays.get(`high:${key}`)?.data];
  if (low === undefined || high === undefined) return null;
  return (index) => {
    const [from, to] = [low[index] ?? Number.NaN, high[index] ?? Number.NaN];
    return Number.isNaN(from) || Number.isNaN(to) ? null : [from, to];
  };
}

type Named = readonly [name: string, values: ArrayLike<number> | undefined];

/** Every head's figures with all their digits (docs/protocol.md); `metrics` are those on screen, at their threshold. */
export async function headsTable(
  source: Source,
  metrics: ReadonlyMap<string, NdArray>,
): Promise<Table> {
  const { meta, arrays } = source;
  const { n_layers: nLayers, n_heads: nHeads } = meta.model;
  const columns: Named[] =
    meta.profile === null
      ? await ofOneText(source, metrics)
      : meta.profile.keys.flatMap((key): Named[] => [
          [key, arrays.get(`metric:${key}`)?.data],
          ...["low", "high", "sd", "count"].map(
            (name): Named => [`${key}_${name}`, arrays.get(`${name}:${key}`)?.data],
          ),
        ]);
  const cell = (value = Number.NaN): number | null => (Number.isNaN(value) ? null : value);
  return {
    columns: ["layer", "head", ...columns.map(([name]) => name)],
    rows: Array.from({ length: nLayers * nHeads }, (_, index) => [
      Math.floor(index / nHeads),
      index % nHeads,
      ...columns.map(([, values]) => cell(values?.[index])),
    ]),
  };
}

async function ofOneText(source: Source, metrics: ReadonlyMap<string, NdArray>): Promise<Named[]> {
  const { meta } = source;
  const own = meta.metrics.keys.map((key): Named => [key, metrics.get(`metric:${key}`)?.data]);
  if (isAligned(meta)) {
    const alignment = await askAlignment(source).catch(() => null);
    return [...own, ...ALIGNMENT_KEYS.map((key): Named => [key, alignment?.values(key)])];
  }
  if (meta.wordless) return own;
  const specialization = await specializationOf(source);
  return [
    ...own,
    ...SPECIALIZATION_KEYS.map((key): Named => [key, specialization?.values("raw", key)]),
  ];
}

/** Null if the run has none: these figures are N/A then, while the metrics remain available. */
const specializationOf = (source: Source): Promise<Specialization | null> =>
  askSpecialization(source).catch(() => null);
