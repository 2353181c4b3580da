/** The one selection: a small store, and what a selection may hold for a given run. */

import { signal } from "@preact/signals-core";
import { DEFAULTS } from "../catalog/selection";
import type { Meta } from "../protocol/types";
import { listen } from "./listen";
import type { Selection, State } from "./selection";

export const DEFAULT_SELECTION: Selection = { part: null, ...DEFAULTS };

type Key = keyof Selection;
export const SELECTION_KEYS = Object.keys(DEFAULT_SELECTION) as readonly Key[];

export function same(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((value, i) => value === b[i]);
  }
  // A target: equal ones have their fields in the same order.
  return a === b || (typeof a === "object" && JSON.stringify(a) === JSON.stringify(b));
}

/** A store of the selection; listeners run after the whole change is in place. */
export function createState(initial: Partial<Selection> = {}): State {
  let current: Selection = { ...DEFAULT_SELECTION, ...initial };
  const listeners = new Set<{ keys: ReadonlySet<Key>; call: (selection: Selection) => void }>();
  const touched = new Set<Key>();
  return {
    get: () => current,
    set(change) {
      const given = (Object.keys(change) as Key[]).filter((key) => change[key] !== undefined);
      for (const key of given) touched.add(key);
      const changed = given.filter((key) => !same(current[key], change[key]));
      if (changed.length === 0) return;
      current = {
        ...current,
        ...Object.fromEntries(changed.map((key) => [key, change[key]])),
      };
      for (const listener of [...listeners]) {
        if (listeners.has(listener) && changed.some((key) => listener.keys.has(key))) {
          listener.call(current);
        }
      }
    },
    on: (keys, call, until) => listen(listeners, { keys: new Set(keys), call }, until),
    folds: signal<ReadonlySet<string>>(new Set()),
    touched,
  };
}

const clamp = (value: number, size: number): number => Math.min(Math.max(value, 0), size - 1);

/** The change that brings a selection inside a run: a new text may have fewer tokens, a new model fewer heads. */
export function fit(selection: Selection, meta: Meta): Partial<Selection> {
  const { n_layers, n_heads } = meta.model;
  const n = meta.tokens.text.length;
  const m = meta.keys?.text.length ?? n;
  const inside = (index: number | undefined, size: number): boolean =>
    index !== undefined && index >= 0 && index < size;
  const { layer, head, token, pair, group, target, quantity } = selection;
  return {
    part: meta.part ?? null,
    layer: clamp(layer, n_layers),
    head: head === "mean" ? head : clamp(head, n_heads),
    token: token !== null && token >= 0 && token < n ? token : null,
    group: group.filter((index) => inside(index, m)),
    target: (target?.position ?? 0) < n ? target : null,
    pair: inside(pair?.[0], n) && inside(pair?.[1], m) ? pair : null,
    // Only weights lead from one text to another.
    quantity: meta.keys && !["weights", "scores"].includes(quantity) ? "weights" : quantity,
  };
}

/**
 * The same selection with another height, for as long as `height()` gives one: a full screen is no wish of
 * the reader's, so it never reaches the traits. `change` tells the listeners of `height`.
 */
export function withHeight(
  state: State,
  height: () => number | null,
): { state: State; change: () => void } {
  const listeners = new Set<(selection: Selection) => void>();
  const seen = (): Selection => {
    const own = height();
    return own === null ? state.get() : { ...state.get(), height: own };
  };
  return {
    state: {
      get: seen,
      set: (change) => state.set(change),
      on(keys, call, signal) {
        const listener = () => call(seen());
        if (keys.includes("height")) listen(listeners, listener, signal);
        const stop = state.on(keys, listener, signal);
        return () => {
          listeners.delete(listener);
          stop();
        };
      },
      folds: state.folds,
      touched: state.touched,
    },
    change() {
      for (const listener of [...listeners]) listener(seen());
    },
  };
}
