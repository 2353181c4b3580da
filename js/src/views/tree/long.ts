/** The tree of a token of a long text: the rows that it can reach are asked for, and the tree is grown from these alone. */

import { strongestOf, unitOf } from "../../figures/long/pair";
import { type LongMatrix, type LongStore, longStore } from "../../figures/long/store";
import type { Matrix, MatrixStore } from "../../figures/matrix";
import { explain, isAbort, SliceFailure } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { Slice, SliceOptions, SliceRequest, Source, TokenColumns } from "../../protocol/types";
import { listen } from "../../state/listen";
import type { ViewContext, ViewHandle } from "../contract";
import { tree } from "./view";

/** Rows that are asked for at most: what lies deeper has no children here. */
const ROWS_MOST = 160;
/** Rows on their way at a time. */
const AT_ONCE = 8;

export interface Reach {
  /** Rows of tokens, NaN where the mask forbids. */
  readonly rows: ReadonlyMap<number, Float32Array>;
  /** All tokens that the tree may show, in the order of the text. */
  readonly tokens: readonly number[];
}

/**
 * The rows that a tree of `depth` levels with `keys` children each can reach, level by level. A child on the path is left
 * out of a tree, so that as many more keys as there are levels may be needed.
 */
export async function reach(
  root: number,
  { keys, depth, most }: { keys: number; depth: number; most: number },
  rowOf: (token: number) => Promise<Float32Array>,
): Promise<Reach> {
  const rows = new Map<number, Float32Array>();
  const tokens = new Set([root]);
  let level = [root];
  for (let d = 0; d < depth && level.length > 0; d++) {
    const wanted = level.filter((token) => !rows.has(token)).slice(0, most - rows.size);
    for (let i = 0; i < wanted.length; i += AT_ONCE) {
      const some = wanted.slice(i, i + AT_ONCE);
      const answers = await Promise.all(some.map(rowOf));
      some.forEach((token, j) => {
        rows.set(token, itemAt(answers, j));
      });
    }
    const next = new Set<number>();
    for (const token of wanted) {
      for (const key of strongestOf(itemAt([rows.get(token) as Float32Array], 0), keys + depth)) {
        tokens.add(key);
        next.add(key);
      }
    }
    level = [...next];
  }
  return { rows, tokens: [...tokens].sort((a, b) => a - b) };
}

/** A matrix of the tokens in reach: rows that were not asked for allow nothing. */
export function matrixOf(
  { layer, head, quantity, largest, wordMax }: LongMatrix,
  { rows, tokens }: Reach,
  columns: TokenColumns,
): Matrix {
  const size = tokens.length;
  const weights = new Float32Array(size * size);
  const allowed = new Uint8Array(size * size);
  tokens.forEach((query, i) => {
    const row = rows.get(query);
    if (row === undefined) return;
    tokens.forEach((key, j) => {
      const weight = row[key] as number;
      if (Number.isNaN(weight)) return;
      weights[i * size + j] = weight;
      allowed[i * size + j] = 1;
    });
  });
  const places = new Map(tokens.map((token, i) => [token, i]));
  return {
    layer,
    head,
    quantity: quantity === "rollout" ? "rollout" : "weights",
    units: tokens.map((token) => unitOf(columns, token)),
    size,
    weights,
    scores: null,
    allowed,
    max: largest,
    wordMax,
    received: new Float32Array(size),
    unitOf: (token) => (token === null ? -1 : (places.get(token) ?? -1)),
  };
}

export function longTree(element: HTMLElement, stage: ViewContext): ViewHandle {
  const { source, state, signal } = stage;
  const store = longStore(source, state, { ...stage, signal: stage.runSignal ?? signal });
  const matrix = reachedMatrix(store, stage);
  return tree(element, { ...stage, matrix, source: withoutScores(source) });
}

/** Follows the selection with a matrix of the tokens in reach of the root. */
function reachedMatrix(store: LongStore, stage: ViewContext): MatrixStore {
  const { source, state, signal, report } = stage;
  const { special: isSpecial } = source.meta.tokens;
  const listeners = new Set<(matrix: Matrix) => void>();
  let current: Matrix | null = null;
  let asking: AbortController | null = null;

  async function load(): Promise<void> {
    const shown = store.get();
    if (shown === null || shown.quantity === "scores") return;
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    const { token, top_k, depth, special } = state.get();
    const root = token ?? Math.max(0, isSpecial.indexOf(false));
    const rowOf = async (query: number): Promise<Float32Array> => {
      const { values } = await store.row(shown, query, mine.signal);
      return special ? values : values.map((value, key) => (isSpecial[key] ? Number.NaN : value));
    };
    try {
      const rows = await reach(root, { keys: top_k, depth, most: ROWS_MOST }, rowOf);
      if (mine.signal.aborted || signal.aborted) return;
      current = matrixOf(shown, rows, source.meta.tokens);
      for (const listener of [...listeners]) listener(current);
    } catch (error) {
      if (isAbort(error) || mine.signal.aborted) return;
      const { message, hint } = explain(error);
      report(message, hint);
    }
  }
  store.on(() => void load(), signal);
  state.on(["token", "top_k", "depth", "special"], () => void load(), signal);
  signal.addEventListener(
    "abort",
    () => {
      asking?.abort();
      listeners.clear();
    },
    { once: true },
  );
  return {
    get: () => current,
    on(listener, until) {
      const stop = listen(listeners, listener, until);
      if (current !== null) listener(current);
      return stop;
    },
  };
}

/** The scores of a whole head are as large as its weights: a pinned pair shows its own. */
function withoutScores(source: Source): Source {
  return {
    meta: source.meta,
    arrays: source.arrays,
    live: source.live,
    ...(source.precision === undefined ? {} : { precision: source.precision }),
    slice(request: SliceRequest, options?: SliceOptions): Promise<Slice> {
      if (request.kind !== "scores") return source.slice(request, options);
      return Promise.reject(
        new SliceFailure("in a long text, scores are shown only for the pinned pair"),
      );
    },
  };
}
