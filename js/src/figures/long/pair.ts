/** One pair of a long text in full, out of one row of weights, one of scores, and two vectors. */

import type { TokenColumns } from "../../protocol/types";
import { dot, rankOf, softmax } from "../derive/matrix";
import type { Unit } from "../derive/units";
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
  /** How far the weight, and a score, may be off. */
  readonly error: number;
  readonly scoreError: number;
}

export function unitOf(tokens: TokenColumns, token: number): Unit {
  return {
    token,
    end: token + 1,
    text: tokens.text[token] ?? "",
    surface: tokens.surface[token] ?? "",
    segment: tokens.segment[token] ?? 0,
    special: tokens.special[token] ?? false,
  };
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

/** A matrix of the query and the key alone, for what shows a pair: row 0 is the query, column 1 the key. */
export function pairMatrix(
  { layer, head, quantity }: LongMatrix,
  tokens: TokenColumns,
  [query, key]: readonly [number, number],
  weights: Float32Array,
): Matrix {
  const ends = [query, key];
  const cell = weights[key] ?? Number.NaN;
  const shown = Number.isNaN(cell) ? 0 : cell;
  const cells = Float32Array.of(0, shown, 0, 0);
  return {
    layer,
    head,
    quantity: quantity === "rollout" ? "rollout" : "weights",
    units: ends.map((token) => unitOf(tokens, token)),
    size: 2,
    weights: cells,
    scores: null,
    allowed: Number.isNaN(cell) ? Uint8Array.of(1, 0, 1, 1) : null,
    max: shown,
    wordMax: shown,
    received: new Float32Array(2),
    unitOf: (token) => (token === null ? -1 : ends.indexOf(token)),
  };
}

/** Indices of the largest values of a row, NaN left out, largest first. */
export function strongestOf(row: Float32Array, count: number): number[] {
  const kept: number[] = [];
  let floor = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < row.length; i++) {
    const value = row[i] as number;
    if (!(value > floor)) continue;
    let at = kept.length;
    while (at > 0 && (row[kept[at - 1] as number] as number) < value) at--;
    kept.splice(at, 0, i);
    if (kept.length > count) kept.pop();
    if (kept.length === count) floor = row[kept[count - 1] as number] as number;
  }
  return kept;
}
