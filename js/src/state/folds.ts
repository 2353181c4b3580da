/** Names of the parts that a reader has opened behind a summary, by widget or page. */

import { type Signal, signal } from "@preact/signals-core";
import type { State } from "./selection";

const openOf = new WeakMap<State, Signal<ReadonlySet<string>>>();

export function foldsOf(state: State): Signal<ReadonlySet<string>> {
  const open = openOf.get(state) ?? signal<ReadonlySet<string>>(new Set());
  openOf.set(state, open);
  return open;
}
