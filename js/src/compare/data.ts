/** Two runs of a saved page: which tokens and heads stand for each other, and what differs. */

import { unpack } from "../protocol/pack";
import { arrayOf, itemAt } from "../protocol/required";
import { type Chunks, inflate } from "../protocol/snapshot";
import type { HeadIndex, NdArray, Source } from "../protocol/types";
import type { Selection } from "../state/selection";

interface CompareMeta {
  readonly notes: readonly string[];
  readonly tokens: readonly (readonly [a: number, b: number])[];
  readonly predictions: {
    readonly position_a: readonly number[];
    readonly token: readonly string[];
  } | null;
  readonly reasons: Readonly<Record<string, string>>;
}

/** Figures that need both runs; positions and heads without a name are A's. */
export interface Compared extends CompareMeta {
  /** Distances `[L, H]`; null where no token is matched. */
  readonly distances: NdArray | null;
  readonly arrays: ReadonlyMap<string, NdArray>;
}

export async function openCompared(chunks: Chunks): Promise<Compared> {
  const text = chunks("compare");
  if (text === null) throw new Error("This page holds no comparison.");
  const { meta, arrays } = unpack(await inflate(text));
  return {
    ...(meta as unknown as CompareMeta),
    distances: arrays.get("distances") ?? null,
    arrays,
  };
}

type Side = "a" | "b";

/** The same token in the other run; null without a partner. */
export function carried(compared: Compared, token: number | null, to: Side): number | null {
  const [from, other] = to === "b" ? [0, 1] : [1, 0];
  return compared.tokens.find((pair) => pair[from] === token)?.[other] ?? null;
}

/** The same head in the other run, as heads are matched; null without a partner. */
export function carriedHead(
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
  const ends = pair?.map((end) => carried(compared, end, to)) ?? [null];
  return {
    ...same,
    ...carriedHead(compared, layer, head, to),
    token: carried(compared, token, to),
    pair: ends.includes(null) ? null : (ends as [number, number]),
    group: group.map((one) => carried(compared, one, to)).filter((one) => one !== null),
  };
}

/** Weights of both runs between matched tokens, row by row: `[m, m]` each. */
export interface Weights {
  readonly a: Float64Array;
  readonly b: Float64Array;
  readonly size: number;
}

export async function weightsOf(
  compared: Compared,
  sources: Readonly<Record<Side, Source>>,
  layer: number,
  head: HeadIndex,
): Promise<Weights | null> {
  const partner = carriedHead(compared, layer, head, "b");
  if (partner === null || compared.tokens.length === 0) return null;
  const [ofA, ofB] = await Promise.all([
    sources.a.slice({ kind: "weights", layer, head }),
    sources.b.slice({ kind: "weights", ...partner }),
  ]);
  const between = (matrix: NdArray, side: 0 | 1) =>
    Float64Array.from(
      compared.tokens.flatMap((row) =>
        compared.tokens.map((column) =>
          itemAt(matrix.data, row[side] * itemAt(matrix.shape, 1) + column[side]),
        ),
      ),
    );
  return {
    a: between(arrayOf(ofA, "weights"), 0),
    b: between(arrayOf(ofB, "weights"), 1),
    size: compared.tokens.length,
  };
}

/** With its sign, whatever it is: `+0.12`, `−0.12`, `0`. */
export function signed(value: number, digits = 2): string {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return "0";
  return `${value > 0 ? "+" : "−"}${text}`;
}

/** Layer and head with the greatest distance. */
export function farthest({ distances }: Compared): {
  layer: number;
  head: number;
  distance: number;
} | null {
  if (distances === null) return null;
  let best = -1;
  distances.data.forEach((value: number, i: number) => {
    if (!Number.isNaN(value) && (best < 0 || value > itemAt(distances.data, best))) best = i;
  });
  if (best < 0) return null;
  const heads = itemAt(distances.shape, 1);
  return {
    layer: Math.floor(best / heads),
    head: best % heads,
    distance: itemAt(distances.data, best),
  };
}
