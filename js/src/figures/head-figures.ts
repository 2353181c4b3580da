/** The slices about all heads: specializations, patterns, roles. Equal questions are cached by the source. */

import { SliceFailure } from "../protocol/failure";
import { looksBack } from "../protocol/meta";
import type { NdArray, Slice, Source, Target } from "../protocol/types";
import { ALIGNMENT_KEYS, PATTERN_KEYS } from "./catalog/names";
import { isAligned } from "./head-names";

/** `raw`: as defined; `scaled`: 0 to 1 within the layer; `z`: in standard deviations, over all heads. */
export type Form = "raw" | "scaled" | "z";

export interface Specialization {
  readonly keys: readonly string[];
  /** `[L, H]` flat; NaN = N/A. */
  values(form: Form, key: string): ArrayLike<number>;
  /** Figure of a head that attends to all possible keys of each query alike; NaN where there is none. */
  chance(key: string, layer: number): number;
  /** Why a figure is N/A for every head. */
  readonly reasons: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
}

export interface Patterns {
  readonly keys: readonly string[];
  values(key: string): ArrayLike<number>;
  chance(key: string, layer: number): number;
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

/** Alignment by the heads of cross-attention: where each looks in the source, and whether in order. */
export interface Alignment {
  /** `[L, H, n]`: expected source place of each target token. */
  readonly places: ArrayLike<number>;
  /** `[L, H]`: Spearman's correlation of that place with the target token's own; NaN where there is none. */
  readonly monotony: ArrayLike<number>;
  /** A figure of `ALIGNMENT`, `[L, H]` flat. */
  values(key: string): ArrayLike<number>;
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

export async function askAlignment(source: Source, options?: Options): Promise<Alignment> {
  const slice = await source.ask({ kind: "alignment" }, options);
  const [places, monotony] = [arrayOf(slice, "places"), arrayOf(slice, "monotony")];
  const n = source.meta.tokens.text.length;
  const mean = (head: number): number => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += places[head * n + i] as number;
    return sum / n;
  };
  return {
    places,
    monotony,
    values: (key) =>
      key === "monotony" ? monotony : Array.from(monotony, (_, head) => mean(head)),
  };
}

/** By key: a number, or one for each layer where the layers' masks differ. */
function chanceIn({ data }: Slice): (key: string, layer: number) => number {
  const levels = record(data.chance);
  return (key, layer) => {
    const level = levels[key];
    return finite(Array.isArray(level) ? level[layer] : level);
  };
}

export async function askSpecialization(
  source: Source,
  options?: Options,
): Promise<Specialization> {
  const slice = await source.ask({ kind: "specialization" }, options);
  const reasons = Object.entries(record(slice.data.reasons));
  return {
    keys: strings(slice.data.keys),
    values: (form, key) => arrayOf(slice, `${form}:${key}`),
    chance: chanceIn(slice),
    reasons: Object.fromEntries(reasons.map(([key, reason]) => [key, String(reason)])),
    notes: strings(slice.data.notes),
  };
}

export async function askPatterns(source: Source, options?: Options): Promise<Patterns> {
  const slice = await source.ask({ kind: "patterns" }, options);
  return {
    keys: strings(slice.data.keys),
    values: (key) => arrayOf(slice, `pattern:${key}`),
    chance: chanceIn(slice),
  };
}

export async function askRoles(source: Source, options?: Options): Promise<Roles> {
  const slice = await source.ask({ kind: "roles" }, options);
  const layout = arrayOf(slice, "layout");
  const named = (name: string): string =>
    looksBack(source.meta) ? name.replace(/\bcls\b/, "first token") : name;
  const names = strings(slice.data.names).map(named);
  return {
    labels: arrayOf(slice, "labels"),
    names,
    layout,
    explained: explainedByAxis(layout, finite(slice.data.explained)),
    axes: strings(slice.data.axes).map(named),
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
    const answer = await source.ask({ kind: "head_effects", target }, options);
    return arrayOf(answer, "effects");
  }
  if (ALIGNMENT_KEYS.includes(key))
    return isAligned(source.meta) ? (await askAlignment(source, options)).values(key) : null;
  if (isAligned(source.meta)) return null;
  if (PATTERN_KEYS.includes(key)) {
    const patterns = await askPatterns(source, options);
    return patterns.keys.includes(key) ? patterns.values(key) : null;
  }
  const figures = await askSpecialization(source, options);
  return figures.keys.includes(key) ? figures.values("raw", key) : null;
}
