/** Exports of the heads view: every head's figures with all their digits (docs/protocol.md). */

import { SPECIALIZATION_KEYS } from "../../figures/catalog/names";
import { askSpecialization, type Specialization } from "../../figures/head-figures";
import type { Table } from "../../figures/table";
import type { NdArray, Source } from "../../protocol/types";

/** The figures of a profile besides its mean. */
const BESIDE = ["low", "high", "sd", "count"] as const;

const cell = (value: number | undefined): number | null =>
  value === undefined || Number.isNaN(value) ? null : value;

/** `metrics` are those on screen: sparsity may have another threshold than the first paint's. */
export async function headsRows(
  source: Source,
  metrics: ReadonlyMap<string, NdArray>,
): Promise<Table> {
  const { n_layers: nLayers, n_heads: nHeads } = source.meta.model;
  const { profile } = source.meta;
  const columns =
    profile === null
      ? ofOneText(source, metrics, await specialized(source))
      : profile.keys.flatMap((key) => [
          [key, source.arrays.get(`metric:${key}`)?.data] as const,
          ...BESIDE.map(
            (name) => [`${key}_${name}`, source.arrays.get(`${name}:${key}`)?.data] as const,
          ),
        ]);
  return {
    columns: ["layer", "head", ...columns.map(([name]) => name)],
    rows: Array.from({ length: nLayers * nHeads }, (_, index) => [
      Math.floor(index / nHeads),
      index % nHeads,
      ...columns.map(([, values]) => cell(values?.[index])),
    ]),
  };
}

type Named = readonly [name: string, values: ArrayLike<number> | undefined];

function ofOneText(
  source: Source,
  metrics: ReadonlyMap<string, NdArray>,
  specialization: Specialization | null,
): Named[] {
  return [
    ...source.meta.metrics.keys.map((key): Named => [key, metrics.get(`metric:${key}`)?.data]),
    ...SPECIALIZATION_KEYS.map((key): Named => [key, specialization?.values("raw", key)]),
  ];
}

/** Null if the run has none: every such figure is then N/A, while the metrics remain available. */
async function specialized(source: Source): Promise<Specialization | null> {
  try {
    return await askSpecialization(source);
  } catch {
    return null;
  }
}
