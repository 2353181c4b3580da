/** The selection, and the store that holds it. */

import type { Signal } from "@preact/signals-core";
import type { Quantity, Scale, Theme } from "../catalog/selection";
import type { HeadIndex, Part, Target } from "../protocol/types";

export type { Quantity, Scale, Theme };

/** The one selection. Keys are the names of the synced traits. */
export interface Selection {
  /** The shown part of an encoder-decoder; null for any other run. Layer, head and places in the text are those of this part. */
  readonly part: Part | null;
  readonly layer: number;
  readonly head: HeadIndex;
  readonly token: number | null;
  readonly pair: readonly [number, number] | null;
  readonly metric: string;
  readonly view: string;
  readonly quantity: Quantity;
  /** Tokens gathered for a sum. */
  readonly group: readonly number[];
  readonly top_k: number;
  readonly depth: number;
  readonly special: boolean;
  readonly words: boolean;
  readonly scale: Scale;
  /** Number that the view Why explains; null: the proposal of the text. */
  readonly target: Target | null;
  /** Method of the contributions that are painted. */
  readonly method: string;
  readonly theme: Theme;
  readonly height: number | null;
  /** False: the chosen view and its caption alone. */
  readonly chrome: boolean;
}

export interface State {
  get(): Selection;
  /** Merge a change; listeners of the keys that really changed are called once. */
  set(change: Partial<Selection>): void;
  /** Call `listener` whenever one of `keys` changes, until `signal` is aborted. Returns a function that stops it sooner. */
  on(
    keys: readonly (keyof Selection)[],
    listener: (selection: Selection) => void,
    signal?: AbortSignal,
  ): () => void;
  /** Names of the parts that the reader has opened behind a summary. */
  readonly folds: Signal<ReadonlySet<string>>;
  /** Keys that were set, since whoever reads them cleared them: a reader may choose what is there already. */
  readonly touched: Set<keyof Selection>;
}
