/** The selection, and the store that holds it. */

import type { HeadIndex, Mixing, Target } from "../protocol/types";

/** Where the ramp ends: at the largest weight between words, at this head's, at 1; `sqrt` as `head`, by root. */
export type Scale = "words" | "head" | "unit" | "sqrt";
/** Quantity of the matrix; `figures/quantities.ts` says which of them are of a head, of a layer, of all layers so far. */
export type Quantity = "weights" | "scores" | "rollout" | Mixing | `${Mixing}_rollout`;
export type Theme = "auto" | "light" | "dark";

/** The one selection. Keys are the names of the synced traits. */
export interface Selection {
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
  /** Call `listener` whenever one of `keys` changes, until `signal` is aborted. Returns the way to stop sooner. */
  on(
    keys: readonly (keyof Selection)[],
    listener: (selection: Selection) => void,
    signal?: AbortSignal,
  ): () => void;
}
