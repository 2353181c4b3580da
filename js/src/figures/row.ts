/** Row of the focus token in the matrix on screen; without a focus token, the means over all queries. */

import type { ReadonlySignal } from "@preact/signals-core";
import type { Selection, State } from "../state/selection";
import { maximum, rowOf } from "./derive/matrix";
import type { Axes } from "./derive/units";
import { errorOf, type Matrix, type MatrixStore, overflowOf, topOf } from "./matrix";
import type { Measure } from "./quantities";

export interface TokenRow extends Axes {
  /** The unit of `queries` whose row this is; -1 for the means over all queries. */
  readonly query: number;
  /** One a key. */
  readonly values: ArrayLike<number>;
  readonly quantity: Measure | "scores";
  /** Mean over queries of each key. */
  readonly received: ArrayLike<number>;
  /** The value of a full bar. */
  readonly max: number;
  /** The value at the end of the color ramp. */
  readonly top: number;
  /** The largest value between two words. */
  readonly wordMax: number;
  /** Keys that may pass the ramp. */
  readonly overflow: ReadonlySet<number>;
  /** False where the mask forbids a key. */
  isPossible(key: number): boolean;
  /** Bound of the error of a value, or of a sum of `terms` values; 0 where it is exact. */
  error(value: number, terms?: number): number;
  /** The unit of a query token, and of a key token; -1 when it is not shown. */
  queryOf(token: number | null): number;
  keyOf(token: number | null): number;
}

export type Hit = readonly [from: number, to: number];

export interface Hits {
  /** Tokens `[from, to)` that were found. */
  readonly hits: readonly Hit[];
  /** Index of the one that was gone to; -1 for none. */
  readonly at: number;
}

export const NO_HITS: Hits = { hits: [], at: -1 };

export interface RowStore {
  /** The current row; in a long text the last one that has arrived. */
  get(): TokenRow | null;
  /** Called with every other row, and at once with the present one. */
  on(listener: () => void): void;
  /** Places that the find box of a long text has found. */
  readonly hits: ReadonlySignal<Hits> | null;
}

function rowOfMatrix(matrix: Matrix, { token, scale }: Selection): TokenRow {
  const { queries, keys, received, allowed, quantity, queryOf, keyOf } = matrix;
  const query = queryOf(token);
  return {
    queries,
    keys,
    query,
    quantity,
    received,
    values: query < 0 ? received : rowOf(matrix.weights, query, keys.length),
    max: query < 0 ? maximum(received) : matrix.max,
    top: topOf(matrix, scale),
    wordMax: matrix.wordMax,
    overflow: new Set(overflowOf(matrix, scale).columns),
    isPossible: (key) => query < 0 || allowed === null || allowed[query * keys.length + key] !== 0,
    error: (value, terms) => errorOf(matrix, value, terms),
    queryOf,
    keyOf,
  };
}

/** Rows of a text whose matrix is in the page. */
export const matrixRows = ({
  matrix,
  state,
  signal,
}: {
  readonly matrix: MatrixStore;
  readonly state: State;
  readonly signal: AbortSignal;
}): RowStore => ({
  get() {
    const shown = matrix.get();
    return shown && rowOfMatrix(shown, state.get());
  },
  on(listener) {
    matrix.on(listener, signal);
    state.on(["token", "scale"], listener, signal);
  },
  hits: null,
});
