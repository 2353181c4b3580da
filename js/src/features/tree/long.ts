/** The tree of a token of a long text: the rows that it can reach are asked for, and the tree is grown from these alone. */

import { type ReadonlySignal, signal, untracked } from "@preact/signals-core";
import { strongestOf } from "../../figures/derive/matrix";
import { unitOf } from "../../figures/derive/units";
import { type LongMatrix, type LongStore, longStore } from "../../figures/long/store";
import type { Matrix, MatrixStore } from "../../figures/matrix";
import { onAbort } from "../../protocol/abort";
import { asking } from "../../protocol/asking";
import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";
import { watch } from "../../ui/mount";
import type { ViewContext, ViewHandle } from "../../views/contract";
import { isWord } from "./grown";
import { tree } from "./view";

/** Rows that are asked for at most: what lies deeper has no children here. */
const ROWS_MAX = 160;
/** Rows on their way at a time. */
const AT_ONCE = 8;

interface Reach {
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
  const units = tokens.map((token) => unitOf(columns, token));
  const unitAt = (token: number | null): number =>
    token === null ? -1 : (places.get(token) ?? -1);
  return {
    layer,
    head,
    quantity: quantity === "rollout" ? "rollout" : "weights",
    queries: units,
    keys: units,
    weights,
    scores: null,
    allowed,
    max: largest,
    wordMax,
    received: new Float32Array(size),
    queryOf: unitAt,
    keyOf: unitAt,
  };
}

export function longTree(element: HTMLElement, context: ViewContext): ViewHandle {
  const { source, state, signal: until } = context;
  const store = longStore(source, state, { ...context, signal: context.runSignal ?? until });
  const bare = signal(true);
  const matrix = reachedMatrix(store, context, bare);
  return tree(element, { ...context, matrix }, bare);
}

/** Follows the selection with a matrix of the tokens in reach of the root. */
function reachedMatrix(
  store: LongStore,
  context: ViewContext,
  bare: ReadonlySignal<boolean>,
): MatrixStore {
  const { source, state, signal, report } = context;
  const { special: isSpecial, surface } = source.meta.tokens;
  const { answer, ask } = asking<Matrix>(signal, report);

  async function load(): Promise<void> {
    const shown = store.matrix.peek();
    if (shown === null || shown.quantity === "scores") return;
    const { token, top_k, depth, special } = state.get();
    const root = token ?? Math.max(0, isSpecial.indexOf(false));
    const hides = (key: number): boolean =>
      bare.peek()
        ? !isWord({ special: isSpecial[key] === true, surface: itemAt(surface, key) })
        : !special && isSpecial[key] === true;
    await ask(async (signal) => {
      const rowOf = async (query: number): Promise<Float32Array> => {
        const { values } = await store.row(shown, query, signal);
        return values.map((value, key) => (hides(key) ? Number.NaN : value));
      };
      const rows = await reach(root, { keys: top_k, depth, most: ROWS_MAX }, rowOf);
      return matrixOf(shown, rows, source.meta.tokens);
    });
  }
  watch(() => {
    void [store.matrix.value, bare.value];
    untracked(() => void load());
  }, signal);
  state.on(["token", "top_k", "depth", "special"], () => void load(), signal);
  return {
    get: () => answer.peek(),
    on(listener, until) {
      const stop = answer.subscribe((matrix) => matrix !== null && listener(matrix));
      onAbort(until, stop);
      return stop;
    },
  };
}
