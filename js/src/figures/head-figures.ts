/** The slices about all heads: specializations, patterns, roles. Equal questions are cached by the source. */

import { SliceFailure } from "../protocol/failure";
import type { NdArray, Slice, Source, Target } from "../protocol/types";
import { PATTERN_KEYS } from "./catalog/names";

/** `raw`: as defined; `scaled`: 0 to 1 within the layer; `z`: in standard deviations, over all heads. */
export type Form = "raw" | "scaled" | "z";

export interface Specialization {
  readonly keys: readonly string[];
  /** `[L, H]` flat; NaN = N/A. */
  values(form: Form, key: string): ArrayLike<number>;
  /** NaN where there is none. */
  chance(key: string): number;
  /** Why a figure is N/A for every head. */
  readonly reasons: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
}

export interface Patterns {
  readonly keys: readonly string[];
  values(key: string): ArrayLike<number>;
  readonly chance: number;
}

export interface Roles {
  /** Role of each head, `[L, H]` flat. */
  readonly labels: ArrayLike<number>;
  readonly names: readonly string[];
  /** `[L, H, 2]` flat. */
  readonly layout: ArrayLike<number>;
  /** Share of the variance that each of the two axes shows. */
  readonly explained: readonly [number, number];
  readonly axes: readonly string[];
  /** Mean silhouette of the clustering that was taken. */
  readonly silhouette: number;
  readonly seed: number;
}

type Options = { readonly signal?: AbortSignal };

const EMPTY: NdArray = { data: new Float32Array(0), shape: [0] };
const arrayOf = (slice: Slice, name: string): ArrayLike<number> =>
  (slice.arrays.get(name) ?? EMPTY).data;
const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
const record = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
const finite = (value: unknown): number => (typeof value === "number" ? value : Number.NaN);

export async function askSpecialization(
  source: Source,
  options?: Options,
): Promise<Specialization> {
  const slice = await source.slice({ kind: "specialization" }, options);
  const chance = record(slice.data.chance);
  const reasons = Object.entries(record(slice.data.reasons));
  return {
    keys: strings(slice.data.keys),
    values: (form, key) => arrayOf(slice, `${form}:${key}`),
    chance: (key) => finite(chance[key]),
    reasons: Object.fromEntries(reasons.map(([key, reason]) => [key, String(reason)])),
    notes: strings(slice.data.notes),
  };
}

export async function askPatterns(source: Source, options?: Options): Promise<Patterns> {
  const slice = await source.slice({ kind: "patterns" }, options);
  return {
    keys: strings(slice.data.keys),
    values: (key) => arrayOf(slice, `pattern:${key}`),
    chance: finite(slice.data.chance),
  };
}

export async function askRoles(source: Source, options?: Options): Promise<Roles> {
  const slice = await source.slice({ kind: "roles" }, options);
  const layout = arrayOf(slice, "layout");
  const names = strings(slice.data.names);
  return {
    labels: arrayOf(slice, "labels"),
    names,
    layout,
    explained: explainedByAxis(layout, finite(slice.data.explained)),
    axes: strings(slice.data.axes),
    silhouette: finite(record(slice.data.silhouettes)[String(names.length)]),
    seed: finite(slice.data.seed),
  };
}

/** Share of the variance on each axis of a principal plane, from the share of both. */
export function explainedByAxis(
  layout: ArrayLike<number>,
  explained: number,
): readonly [number, number] {
  const squares = [0, 0] as [number, number];
  for (let i = 0; i < layout.length; i++) squares[(i % 2) as 0 | 1] += (layout[i] as number) ** 2;
  const total = squares[0] + squares[1];
  return total > 0
    ? [(explained * squares[0]) / total, (explained * squares[1]) / total]
    : [Number.NaN, Number.NaN];
}

/** A role as it is read: `cls + long_range` as `cls + long range`. */
export const roleName = (name: string): string => name.replaceAll("_", " ");

/** The figures of all heads that shade the grid by `key`; null where there is no such figure. */
export async function askFigures(
  source: Source,
  key: string,
  target: Target | null,
  options?: Options,
): Promise<ArrayLike<number> | null> {
  const painted = source.arrays.get(`metric:${key}`);
  if (painted !== undefined) return painted.data;
  if (key === "effect") {
    if (target === null)
      throw new SliceFailure("No target is chosen.", "Choose one in the view Why.");
    const answer = await source.slice({ kind: "head_effects", target }, options);
    return arrayOf(answer, "effects");
  }
  if (PATTERN_KEYS.includes(key)) {
    const patterns = await askPatterns(source, options);
    return patterns.keys.includes(key) ? patterns.values(key) : null;
  }
  const figures = await askSpecialization(source, options);
  return figures.keys.includes(key) ? figures.values("raw", key) : null;
}
