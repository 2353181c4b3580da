/** One pair of a long text in full, out of one row of weights, one of scores, and two vectors. */

import { keysOf } from "../../protocol/meta";
import type { Meta } from "../../protocol/types";
import { dot, rankOf, softmax } from "../derive/matrix";
import { unitOf } from "../derive/units";
import type { Matrix } from "../matrix";
import type { Link } from "../pairs";
import type { LongMatrix } from "./store";

export interface PairParts {
  /** `[n]`; NaN where the mask forbids. */
  readonly weights: Float32Array;
  /** `[n]`, `-Infinity` where impossible; null while they are on their way, or not known. */
  readonly scores: Float32Array | null;
  readonly q: Float32Array | null;
  readonly k: Float32Array | null;
  readonly scaling: number | null;
  readonly absent: string | null;
  readonly pending: boolean;
  /** Largest error of the weight, and of a score. */
  readonly error: number;
  readonly scoreError: number;
}

/** The numbers of a pair, as the view of short texts has them. */
export function linkOf(key: number, parts: PairParts): Link {
  const { weights, scores, q, k, scaling, absent, pending, error, scoreError } = parts;
  const finite = weights.map((value) => (Number.isNaN(value) ? 0 : value));
  const weight = finite[key] ?? 0;
  const total = finite.reduce((sum, value) => sum + value, 0);
  const opened = scores === null ? null : softmax(scores);
  const score = scores?.[key] ?? null;
  return {
    weight,
    share: total > 0 ? weight / total : 0,
    rank: rankOf(finite, key),
    score,
    product: q !== null && k !== null ? dot(q, k) : null,
    scaling,
    rowMax: opened?.max ?? null,
    exponential: opened === null || score === null ? null : Math.exp(score - opened.max),
    sum: opened?.sum ?? null,
    q,
    k,
    errors: {
      weight: error,
      share: total > 0 ? error / total : 0,
      score: scoreError,
      product: scaling === null || scaling === 0 ? 0 : scoreError / scaling,
    },
    absent,
    pending,
  };
}

/** A matrix of the query and the key alone, for what shows a pair: one cell. */
export function pairMatrix(
  { layer, head, quantity }: LongMatrix,
  meta: Pick<Meta, "tokens" | "keys">,
  [query, key]: readonly [number, number],
  weights: Float32Array,
): Matrix {
  const cell = weights[key] ?? Number.NaN;
  const shown = Number.isNaN(cell) ? 0 : cell;
  return {
    layer,
    head,
    quantity: quantity === "rollout" ? "rollout" : "weights",
    queries: [unitOf(meta.tokens, query)],
    keys: [unitOf(keysOf(meta), key)],
    weights: Float32Array.of(shown),
    scores: null,
    allowed: Number.isNaN(cell) ? Uint8Array.of(0) : null,
    max: shown,
    wordMax: shown,
    received: new Float32Array(1),
    queryOf: (token) => (token === query ? 0 : -1),
    keyOf: (token) => (token === key ? 0 : -1),
  };
}
