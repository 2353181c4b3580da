/** Rows of a long text, which are asked for one by one. */

import { onAbort } from "../../protocol/abort";
import { isAbort } from "../../protocol/failure";
import { keysOf } from "../../protocol/meta";
import type { Source } from "../../protocol/types";
import type { State } from "../../state/selection";
import { unitsOf } from "../derive/units";
import type { RowStore, TokenRow } from "../row";
import { type LongMatrix, type LongStore, topOfLong } from "./store";

export function longRows(
  store: LongStore,
  { meta }: Pick<Source, "meta">,
  state: State,
  until: AbortSignal,
): RowStore {
  const listeners: (() => void)[] = [];
  const queries = unitsOf(meta.tokens, { special: true });
  const keys = keysOf(meta) === meta.tokens ? queries : unitsOf(keysOf(meta), { special: true });
  let found: { readonly matrix: LongMatrix; readonly query: number; values: Float32Array } | null =
    null;
  let current: TokenRow | null = null;

  function show(): void {
    current = found && rowOf(found.matrix, found.query, found.values);
    for (const listener of listeners) listener();
  }

  function rowOf(matrix: LongMatrix, query: number, values: Float32Array): TokenRow {
    return {
      queries,
      keys,
      query,
      values,
      quantity: query < 0 && matrix.quantity === "scores" ? "weights" : matrix.quantity,
      received: matrix.received,
      max: values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 1e-30),
      top: topOfLong(matrix, state.get().scale),
      wordMax: matrix.wordMax,
      overflow: new Set(),
      isPossible: (key) => !Number.isNaN(values[key]),
      error: store.error,
      queryOf: (token) => token ?? -1,
      keyOf: (token) => token ?? -1,
    };
  }

  async function ask(): Promise<void> {
    const matrix = store.matrix.peek();
    const { token } = state.get();
    if (matrix === null) return;
    try {
      const values =
        token === null ? matrix.received : (await store.row(matrix, token, until)).values;
      if (store.matrix.peek() !== matrix || state.get().token !== token) return;
      found = { matrix, query: token ?? -1, values };
      show();
    } catch (error) {
      // The last row stays; the matrix reports what is wrong.
      if (!isAbort(error)) console.debug("attn-widget:", error);
    }
  }

  onAbort(
    until,
    store.matrix.subscribe(() => void ask()),
  );
  state.on(["token"], () => void ask(), until);
  state.on(["scale"], show, until);
  return {
    get: () => current,
    on(listener) {
      listeners.push(listener);
      if (current !== null) listener();
    },
    hits: store.hits,
  };
}
