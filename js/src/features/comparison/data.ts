/** Two runs: which tokens and heads stand for each other, and what differs. */

import { ALIGNMENT } from "../../figures/catalog/cards";
import { medianOf } from "../../figures/derive/median";
import { matrixRequest } from "../../figures/matrix";
import type { Described } from "../../figures/targets";
import { unpack } from "../../protocol/pack";
import { arrayOf, itemAt } from "../../protocol/required";
import { inflate } from "../../protocol/saved/inflate";
import type { Chunks } from "../../protocol/saved/run";
import { firstLargest } from "../../protocol/ties";
import type { HeadIndex, NdArray, Source, Target } from "../../protocol/types";
import type { Selection } from "../../state/selection";

export type RecoveryOf = "heads" | "states" | "attention" | "mlp";

/** Share of a target that each part of A recovers in B. */
export interface Recovery {
  readonly target: Described;
  readonly of: RecoveryOf;
  /** The target's value in A and in B. */
  readonly source: number;
  readonly value: number;
  /** By how much processors may differ in a value. */
  readonly error: number;
  /** `[L, H]` of heads, `[L, n]` of B's positions else; NaN where nothing can be carried over. */
  readonly values: NdArray;
}

interface CompareMeta {
  readonly notes: readonly string[];
  readonly tokens: readonly (readonly [a: number, b: number])[];
  /** Pairs of `tokens` that were matched by hand. */
  readonly hand?: readonly (readonly [a: number, b: number])[];
  /** Matched tokens of the two sources, in cross-attention; absent where keys are the tokens above. */
  readonly keys?: readonly (readonly [a: number, b: number])[];
  readonly keys_hand?: readonly (readonly [a: number, b: number])[];
  readonly predictions: {
    readonly position_a: readonly number[];
    readonly position_b: readonly number[];
    readonly token: readonly string[];
    readonly mode?: "as_is" | "masked";
  } | null;
  /** Labels of a classifier of texts. */
  readonly classes?: readonly string[] | null;
  /** Targets that tell the two runs apart, by B's positions. */
  readonly targets?: readonly Described[];
  /** Grids of recovery that a saved page holds; their arrays are `recovery:<i>`. */
  readonly recoveries?: readonly Omit<Recovery, "values">[];
  /** Parts of A that B's run holds already, and the target's value with them. */
  readonly patched?: {
    readonly sites: readonly Site[];
    readonly target: Target | null;
    readonly value: number | null;
  } | null;
  readonly reasons: Readonly<Record<string, string>>;
}

/** A part of A that is put into B: kind, layer, then head or position. */
export type Site = readonly [kind: string, layer: number, place: number];

/** Figures that need both runs; positions and heads without a name are A's. */
export interface Compared extends CompareMeta {
  /** Distances `[L, H]`; null where no token is matched. */
  readonly distances: NdArray | null;
  readonly arrays: ReadonlyMap<string, NdArray>;
}

export async function openCompared(chunks: Chunks): Promise<Compared> {
  const text = await chunks("compare");
  if (text === null) throw new Error("This page holds no comparison.");
  return comparedOf(await inflate(text));
}

/** The figures in a pack. */
export function comparedOf(pack: ArrayBuffer | ArrayBufferView): Compared {
  const { meta, arrays } = unpack(pack);
  return {
    ...(meta as unknown as CompareMeta),
    distances: arrays.get("distances") ?? null,
    arrays,
  };
}

export type Side = "a" | "b";
export type Sources = Readonly<Record<Side, Source>>;

/** Pairs of matched keys: the columns of a difference. */
export const keyPairs = ({ keys, tokens }: Pick<CompareMeta, "keys" | "tokens">) => keys ?? tokens;

/** The same token in the other run; null without a partner. */
export const partnerToken = (
  { tokens }: Pick<CompareMeta, "tokens">,
  token: number | null,
  to: Side,
): number | null => partnerIn(tokens, token, to);

function partnerIn(pairs: CompareMeta["tokens"], token: number | null, to: Side): number | null {
  const [from, other] = to === "b" ? [0, 1] : [1, 0];
  return pairs.find((pair) => pair[from] === token)?.[other] ?? null;
}

/** The same head in the other run, as heads are matched; null without a partner. */
export function partnerHead(
  { arrays, distances }: Compared,
  layer: number,
  head: HeadIndex,
  to: Side,
): { layer: number; head: HeadIndex } | null {
  const partner = arrays.get("partner");
  if (head === "mean" || partner === undefined || distances === null) return { layer, head };
  const heads = itemAt(distances.shape, 1);
  for (let i = 0; i < distances.data.length; i++) {
    const of = {
      a: [Math.floor(i / heads), i % heads],
      b: [...partner.data.slice(2 * i, 2 * i + 2)],
    };
    const [l, k] = to === "b" ? of.a : of.b;
    const [otherLayer, otherHead] = to === "b" ? of.b : of.a;
    if (l !== layer || k !== head || otherLayer === undefined || otherHead === undefined) continue;
    return otherLayer < 0 ? null : { layer: otherLayer, head: otherHead };
  }
  return null;
}

/** The selection of one run, carried over to the other. */
export function carrySelection(
  compared: Compared,
  chosen: Selection,
  to: Side,
): Partial<Selection> {
  const { layer, head, token, pair, group, target, height, chrome, ...same } = chosen;
  const partnerKey = (key: number) => partnerIn(keyPairs(compared), key, to);
  const ends = pair ? [partnerToken(compared, pair[0], to), partnerKey(pair[1])] : [null];
  const position = partnerToken(compared, target?.position ?? null, to);
  return {
    ...same,
    ...partnerHead(compared, layer, head, to),
    token: partnerToken(compared, token, to),
    pair: ends.includes(null) ? null : (ends as [number, number]),
    group: group.flatMap((each) => partnerKey(each) ?? []),
    target:
      target?.position === undefined ? target : position === null ? null : { ...target, position },
  };
}

/** A quantity of both runs between matched tokens, row by row: `[rows, columns]` each. */
export interface Weights {
  readonly a: Float32Array;
  readonly b: Float32Array;
  /** B − A; NaN where either is impossible. */
  readonly change: Float32Array;
  /** The largest change, whatever its sign. */
  readonly most: number;
  readonly rows: number;
  readonly columns: number;
}

/** Null for a head without a partner, or where no token is matched; rejects as a source does. */
export async function weightsOf(
  compared: Compared,
  sources: Sources,
  { layer, head, quantity }: Pick<Selection, "layer" | "head" | "quantity">,
): Promise<Weights | null> {
  const partner = partnerHead(compared, layer, head, "b");
  const keys = keyPairs(compared);
  const [rows, columns] = [compared.tokens.length, keys.length];
  if (partner === null || rows === 0 || columns === 0) return null;
  const [ofA, ofB] = await Promise.all([
    matrixOf(sources.a, layer, head, quantity),
    matrixOf(sources.b, partner.layer, partner.head, quantity),
  ]);
  // No iterators here: this runs over every cell at every head.
  const between = (matrix: NdArray, side: 0 | 1): Float32Array => {
    const queries = Int32Array.from(compared.tokens, (pair) => pair[side]);
    const places = Int32Array.from(keys, (pair) => pair[side]);
    const width = itemAt(matrix.shape, 1);
    const values = new Float32Array(rows * columns);
    for (let i = 0; i < rows; i++) {
      const from = (queries[i] as number) * width;
      for (let j = 0; j < columns; j++) {
        values[i * columns + j] = matrix.data[from + (places[j] as number)] as number;
      }
    }
    return values;
  };
  const [a, b] = [between(ofA, 0), between(ofB, 1)];
  const change = new Float32Array(rows * columns);
  let most = 0;
  for (let at = 0; at < change.length; at++) {
    const value = (b[at] as number) - (a[at] as number);
    change[at] = Number.isFinite(value) ? value : Number.NaN;
    // As float32 has it, so that it can be found again.
    const size = Math.abs(change[at] as number);
    if (size > most) most = size;
  }
  return { a, b, change, most, rows, columns };
}

async function matrixOf(
  source: Source,
  layer: number,
  head: HeadIndex,
  quantity: Selection["quantity"],
): Promise<NdArray> {
  if (quantity === "scores" && head !== "mean") {
    return arrayOf(await source.ask({ kind: "scores", layer, head }), "scores");
  }
  const request = matrixRequest({ layer, head, quantity });
  return arrayOf(await source.ask(request), "weights");
}

/** Figures of B's heads by the place of A's: `[L, H]` flat of A; NaN without a partner. */
function ofPartners(
  compared: Compared,
  values: ArrayLike<number>,
  heads: { readonly a: number; readonly b: number },
  layers: number,
): Float32Array {
  const partner = compared.arrays.get("partner")?.data;
  return Float32Array.from({ length: layers * heads.a }, (_, i) => {
    if (partner === undefined) return values[i] ?? Number.NaN;
    const [layer, head] = [partner[2 * i] as number, partner[2 * i + 1] as number];
    return layer < 0 ? Number.NaN : (values[layer * heads.b + head] ?? Number.NaN);
  });
}

/** A figure of every head of A, and of its partner. */
interface MetricChange {
  readonly key: string;
  readonly a: ArrayLike<number>;
  readonly b: ArrayLike<number>;
}

/** The metrics that both runs came with; in cross-attention also its alignment, which the comparison has. */
export function metricChanges(compared: Compared, { a, b }: Sources): MetricChange[] {
  const heads = { a: a.meta.model.n_heads, b: b.meta.model.n_heads };
  const metrics = a.meta.metrics.keys.flatMap((key) => {
    const [ofA, ofB] = [a.arrays.get(`metric:${key}`), b.arrays.get(`metric:${key}`)];
    if (ofA === undefined || ofB === undefined) return [];
    return [{ key, a: ofA.data, b: ofPartners(compared, ofB.data, heads, a.meta.model.n_layers) }];
  });
  const alignment = ALIGNMENT.flatMap(({ key }) => {
    const [ofA, ofB] = [compared.arrays.get(`a:${key}`), compared.arrays.get(`b:${key}`)];
    return ofA === undefined || ofB === undefined ? [] : [{ key, a: ofA.data, b: ofB.data }];
  });
  return [...metrics, ...alignment];
}

/** Layer and head with the greatest distance. */
export function farthest({ distances }: Compared): {
  layer: number;
  head: number;
  distance: number;
  /** Median of all heads. */
  median: number;
} | null {
  if (distances === null) return null;
  const best = firstLargest(distances.data);
  if (best < 0) return null;
  const heads = itemAt(distances.shape, 1);
  return {
    layer: Math.floor(best / heads),
    head: best % heads,
    distance: itemAt(distances.data, best),
    median: medianOf(distances.data),
  };
}
