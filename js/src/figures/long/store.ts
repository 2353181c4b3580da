/** The selected matrix of a long text: its coarse picture, tiles and rows as they are asked for. */

import { type ReadonlySignal, type Signal, signal } from "@preact/signals-core";
import { onAbort } from "../../protocol/abort";
import { asking } from "../../protocol/asking";
import { keysOf } from "../../protocol/meta";
import { arrayOf } from "../../protocol/required";
import type { HeadIndex, Slice, Source } from "../../protocol/types";
import type { Scale, Selection, State } from "../../state/selection";
import { scoresAbsent } from "../matrix";
import type { MatrixKey } from "../names";
import { type Hits, NO_HITS } from "../row";
import type { TilePlace } from "./levels";
import type { LinkChoice, LinkList, LongQuantity, Pooling, TileData } from "./types";

export type { LinkList, Pooling, TileData } from "./types";

export interface LongMatrix {
  readonly layer: number;
  readonly head: HeadIndex;
  readonly quantity: LongQuantity;
  readonly rows: number;
  readonly columns: number;
  /** The level that is one tile, by pooling. */
  readonly coarsest: number;
  readonly top: Readonly<Record<Pooling, TileData>>;
  readonly largest: number;
  readonly smallest: number;
  readonly wordMax: number;
  /** The largest mean of a block, by level, of the coarse ones. */
  readonly meanLargest: ReadonlyMap<number, number>;
  /** True if the mask forbids cells: these are NaN. */
  readonly masked: boolean;
  /** Mean over queries of each column. */
  readonly received: Float32Array;
  /** Share of a learned sink in each row; null where rows sum to 1. */
  readonly rest: Float32Array | null;
}

/** A token's row; NaN where the mask forbids. */
export interface LongRow {
  readonly token: number;
  readonly values: Float32Array;
}

export interface LongStore {
  /** The one on screen; null before the first is here. */
  readonly matrix: ReadonlySignal<LongMatrix | null>;
  tile(
    matrix: LongMatrix,
    place: TilePlace,
    pooling: Pooling,
    signal: AbortSignal,
  ): Promise<TileData>;
  row(matrix: LongMatrix, token: number, signal: AbortSignal): Promise<LongRow>;
  links(matrix: LongMatrix, choice: LinkChoice, signal: AbortSignal): Promise<LinkList>;
  readonly hits: Signal<Hits>;
  /** Largest error of a value; 0 where it is exact. */
  error(value: number): number;
}

/** Upper end of the ramp of a matrix; `null` for scores, whose ramp is signed. */
export const topOfLong = ({ largest, wordMax }: LongMatrix, scale: Scale): number =>
  scale === "words" ? wordMax : largest;

/**
 * Upper end of the ramp of a level. Means of large blocks are small: each level has a ramp of its own, up to its largest
 * mean; between the levels of which that is known and the cells themselves it grows evenly.
 */
export function topAt(matrix: LongMatrix, pooling: Pooling, level: number, scale: Scale): number {
  const top = topOfLong(matrix, scale);
  if (pooling === "max" || level === 0) return top;
  const cached = matrix.meanLargest.get(level);
  if (cached !== undefined) return cached;
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
const longQuantity = (selection: Selection, { meta }: Pick<Source, "meta">): LongQuantity =>
  selection.quantity === "scores"
    ? scoresAbsent({ ...selection, words: false }, meta) === null
      ? "scores"
      : "weights"
    : selection.quantity === "rollout"
      ? "rollout"
      : "weights";

interface Hosts {
  readonly signal: AbortSignal;
  report(error: unknown): void;
}

const tileOf = (slice: Slice, name: string): TileData => {
  const { data, shape } = arrayOf(slice, name);
  return { data: data as Float32Array, rows: shape[0] ?? 0, columns: shape[1] ?? 0 };
};

const stores = new WeakMap<Source, LongStore>();

/** The one store of a run. */
export function longStore(source: Source, state: State, hosts: Hosts): LongStore {
  const cached = stores.get(source);
  if (cached !== undefined) return cached;
  const store = createStore(source, state, hosts);
  stores.set(source, store);
  onAbort(hosts.signal, () => stores.delete(source));
  return store;
}

function createStore(source: Source, state: State, { signal: until, report }: Hosts): LongStore {
  const rows = source.meta.tokens.text.length;
  const columns = keysOf(source.meta).text.length;
  let asked = "";
  const { answer: matrix, ask } = asking<LongMatrix>(until, (error) => {
    asked = "";
    report(error);
    // The last good picture stays, and the selection says what it is.
    const shown = matrix.peek();
    if (shown !== null && shown.quantity !== wish().quantity)
      state.set({ quantity: shown.quantity });
  });

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
    await ask(async (signal) => {
      const slice = await source.ask({ kind: "pyramid", ...wanted }, { signal });
      const { coarsest, largest, smallest, word_max, masked, mean_largest } = slice.data;
      return {
        ...wanted,
        rows,
        columns,
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
        rest: (slice.arrays.get("rest")?.data ?? null) as Float32Array | null,
      };
    });
  }

  state.on(["layer", "head", "quantity"], () => void load(), until);
  void load();
  const of = ({ layer, head, quantity }: LongMatrix) => ({ layer, head, quantity });
  return {
    matrix,
    error: (value) =>
      matrix.peek()?.quantity === "scores"
        ? (source.precision?.score ?? 0)
        : (source.precision?.weight(value, 1, matrix.peek()?.head === "mean") ?? 0),
    hits: signal(NO_HITS),
    async tile(matrix, place, pooling, until) {
      if (place.level === matrix.coarsest) return matrix.top[pooling];
      // On the finest level there is nothing to pool: one answer for both.
      const how = place.level === 0 ? "max" : pooling;
      const slice = await source.ask(
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
          ? await source.ask({ kind: "rollout", layer, rows }, { signal: until })
          : quantity === "scores" && head !== "mean"
            ? await source.ask({ kind: "scores", layer, head, rows }, { signal: until })
            : await source.ask({ kind: "weights", layer, head, rows }, { signal: until });
      const given = arrayOf(slice, quantity === "scores" ? "scores" : "weights").data;
      const allowed = slice.arrays.get("allowed")?.data;
      const values = Float32Array.from(given as Float32Array, (value, i) =>
        allowed?.[i] === 0 || value === Number.NEGATIVE_INFINITY ? Number.NaN : value,
      );
      return { token, values };
    },
    async links(matrix, choice, until) {
      const slice = await source.ask(
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
