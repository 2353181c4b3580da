/** The selected matrix of a long text: its coarse picture, tiles and rows as they are asked for. */

import { explain, isAbort } from "../../protocol/failure";
import { arrayOf } from "../../protocol/required";
import type { HeadIndex, Slice, Source } from "../../protocol/types";
import { listen } from "../../state/listen";
import type { Scale, Selection, State } from "../../state/selection";
import { scoresAbsent } from "../matrix";
import type { MatrixKey } from "../names";
import type { TilePlace } from "./levels";
import type { LinkChoice, LinkList, LongQuantity, Pooling, TileData } from "./types";

export type { LinkChoice, LinkList, LongQuantity, Pooling, TileData } from "./types";

export interface LongMatrix {
  readonly layer: number;
  readonly head: HeadIndex;
  readonly quantity: LongQuantity;
  /** Rows and columns. */
  readonly size: number;
  /** The level that is one tile, by pooling. */
  readonly coarsest: number;
  readonly top: Readonly<Record<Pooling, TileData>>;
  readonly largest: number;
  readonly smallest: number;
  readonly wordMax: number;
  /** The largest mean of a block, by level, of the coarse ones. */
  readonly meanLargest: ReadonlyMap<number, number>;
  /** Whether the mask forbids cells: these are NaN. */
  readonly masked: boolean;
  /** Mean over queries of each column. */
  readonly received: Float32Array;
}

/** A token's row; NaN where the mask forbids. */
export interface LongRow {
  readonly token: number;
  readonly values: Float32Array;
}

export interface LongStore {
  get(): LongMatrix | null;
  /** Called with every new matrix, and at once with the present one, until `signal` is aborted. */
  on(listener: (matrix: LongMatrix) => void, signal?: AbortSignal): () => void;
  tile(
    matrix: LongMatrix,
    place: TilePlace,
    pooling: Pooling,
    signal: AbortSignal,
  ): Promise<TileData>;
  row(matrix: LongMatrix, token: number, signal: AbortSignal): Promise<LongRow>;
  links(matrix: LongMatrix, choice: LinkChoice, signal: AbortSignal): Promise<LinkList>;
  /** Tokens `[from, to)` that were found, and the one that was gone to. */
  readonly hits: HitStore;
  /** How far a value may be off; 0 where it is exact. */
  error(value: number): number;
}

export type Hit = readonly [from: number, to: number];

export interface HitStore {
  get(): { readonly hits: readonly Hit[]; readonly at: number };
  set(hits: readonly Hit[], at: number): void;
  on(listener: () => void, signal?: AbortSignal): () => void;
}

function hitStore(): HitStore {
  const listeners = new Set<() => void>();
  let current: ReturnType<HitStore["get"]> = { hits: [], at: -1 };
  return {
    get: () => current,
    set(hits, at) {
      if (hits === current.hits && at === current.at) return;
      current = { hits, at };
      for (const listener of [...listeners]) listener();
    },
    on: (listener, signal) => listen(listeners, listener, signal),
  };
}

/** Where the ramp of a matrix ends; `null` for scores, whose ramp is signed. */
export const topOfLong = ({ largest, wordMax }: LongMatrix, scale: Scale): number =>
  scale === "words" ? wordMax : largest;

/**
 * Where the ramp of a level ends. Means of large blocks are small: each level has a ramp of its own, up to its largest
 * mean; between the levels of which that is known and the cells themselves it grows evenly.
 */
export function topAt(matrix: LongMatrix, pooling: Pooling, level: number, scale: Scale): number {
  const top = topOfLong(matrix, scale);
  if (pooling === "max" || level === 0) return top;
  const known = matrix.meanLargest.get(level);
  if (known !== undefined) return known;
  const finest = Math.min(...matrix.meanLargest.keys());
  const least = matrix.meanLargest.get(finest) ?? top;
  return least > 0 ? least * (top / least) ** ((finest - level) / finest) : top;
}

/** The largest size of a score: both ends of its ramp. */
export const mostOfLong = ({ largest, smallest }: LongMatrix): number =>
  Math.max(Math.abs(largest), Math.abs(smallest));

/** A matrix as it is named: scores have the name of their head. */
export const keyOfLong = ({ layer, head, quantity }: LongMatrix): MatrixKey => ({
  layer,
  head,
  quantity: quantity === "rollout" ? "rollout" : "weights",
});

/** The quantity shown for a requested one: mixing has no levels of detail. */
export const longQuantity = (selection: Selection, { meta }: Pick<Source, "meta">): LongQuantity =>
  selection.quantity === "scores"
    ? scoresAbsent({ ...selection, words: false }, meta) === null
      ? "scores"
      : "weights"
    : selection.quantity === "rollout"
      ? "rollout"
      : "weights";

interface Hosts {
  readonly signal: AbortSignal;
  report(message: string, hint?: string): void;
}

const tileOf = (slice: Slice, name: string): TileData => {
  const { data, shape } = arrayOf(slice, name);
  return { data: data as Float32Array, rows: shape[0] ?? 0, columns: shape[1] ?? 0 };
};

const stores = new WeakMap<Source, LongStore>();

/** The one store of a run. */
export function longStore(source: Source, state: State, hosts: Hosts): LongStore {
  const known = stores.get(source);
  if (known !== undefined) return known;
  const made = createStore(source, state, hosts);
  stores.set(source, made);
  hosts.signal.addEventListener("abort", () => stores.delete(source), { once: true });
  return made;
}

function createStore(source: Source, state: State, { signal, report }: Hosts): LongStore {
  const listeners = new Set<(matrix: LongMatrix) => void>();
  const size = source.meta.tokens.text.length;
  let current: LongMatrix | null = null;
  let asking: AbortController | null = null;
  let asked = "";

  const wish = (): { quantity: LongQuantity; layer: number; head: HeadIndex } => {
    const selection = state.get();
    return {
      quantity: longQuantity(selection, source),
      layer: selection.layer,
      head: selection.quantity === "rollout" ? "mean" : selection.head,
    };
  };

  async function load(): Promise<void> {
    const wanted = wish();
    const key = JSON.stringify(wanted);
    if (key === asked) return;
    asked = key;
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    try {
      const slice = await source.slice({ kind: "pyramid", ...wanted }, { signal: mine.signal });
      if (mine.signal.aborted || signal.aborted) return;
      const { coarsest, largest, smallest, word_max, masked, mean_largest } = slice.data;
      current = {
        ...wanted,
        size,
        coarsest: Number(coarsest),
        top: { max: tileOf(slice, "max"), mean: tileOf(slice, "mean") },
        largest: Number(largest),
        smallest: Number(smallest),
        wordMax: Number(word_max),
        meanLargest: new Map(
          Object.entries((mean_largest ?? {}) as Record<string, number>).map(([level, value]) => [
            Number(level),
            value,
          ]),
        ),
        masked: masked === true,
        received: arrayOf(slice, "received").data as Float32Array,
      };
      for (const listener of [...listeners]) listener(current);
    } catch (error) {
      if (isAbort(error) || mine.signal.aborted) return;
      asked = "";
      const { message, hint } = explain(error);
      report(message, hint);
      // The last good picture stays, and the selection says what it is.
      if (current !== null && current.quantity !== wanted.quantity) {
        state.set({ quantity: current.quantity });
      }
    }
  }

  state.on(["layer", "head", "quantity"], () => void load(), signal);
  signal.addEventListener(
    "abort",
    () => {
      asking?.abort();
      listeners.clear();
    },
    { once: true },
  );
  void load();
  const of = ({ layer, head, quantity }: LongMatrix) => ({ layer, head, quantity });
  return {
    get: () => current,
    error: (value) =>
      current?.quantity === "scores"
        ? (source.precision?.score ?? 0)
        : (source.precision?.weight(value, 1, current?.head === "mean") ?? 0),
    hits: hitStore(),
    on(listener, until) {
      const stop = listen(listeners, listener, until);
      if (current !== null) listener(current);
      return stop;
    },
    async tile(matrix, place, pooling, until) {
      if (place.level === matrix.coarsest) return matrix.top[pooling];
      // On the finest level there is nothing to pool: one answer for both.
      const how = place.level === 0 ? "max" : pooling;
      const slice = await source.slice(
        { kind: "tile", ...of(matrix), ...place, pooling: how },
        { signal: until },
      );
      return tileOf(slice, "tile");
    },
    async row(matrix, token, until) {
      const { layer, head, quantity } = matrix;
      const rows = [token, token + 1] as const;
      const slice =
        quantity === "rollout"
          ? await source.slice({ kind: "rollout", layer, rows }, { signal: until })
          : quantity === "scores" && head !== "mean"
            ? await source.slice({ kind: "scores", layer, head, rows }, { signal: until })
            : await source.slice({ kind: "weights", layer, head, rows }, { signal: until });
      const given = arrayOf(slice, quantity === "scores" ? "scores" : "weights").data;
      const allowed = slice.arrays.get("allowed")?.data;
      const values = Float32Array.from(given as Float32Array, (value, i) =>
        allowed?.[i] === 0 || value === Number.NEGATIVE_INFINITY ? Number.NaN : value,
      );
      return { token, values };
    },
    async links(matrix, choice, until) {
      const slice = await source.slice(
        { kind: "links", ...of(matrix), ...choice },
        { signal: until },
      );
      return {
        queries: arrayOf(slice, "queries").data as Int32Array,
        keys: arrayOf(slice, "keys").data as Int32Array,
        weights: arrayOf(slice, "weights").data as Float32Array,
        total: Number(slice.data.total),
      };
    },
  };
}
