/** The selection of a saved page: it never rests on a head that was left out. */

import type { Meta } from "../protocol/types";
import type { Selection, State } from "./selection";

/** The saved one that comes next in the direction of the wish; the nearest, beyond the ends. */
export function nearest(saved: readonly number[], wish: number, from: number): number {
  if (saved.includes(wish)) return wish;
  const after = saved.filter((one) => one > wish);
  const before = saved.filter((one) => one < wish);
  const ahead = wish > from ? after[0] : before.at(-1);
  return ahead ?? (wish > from ? before.at(-1) : after[0]) ?? from;
}

export function withSaved(state: State, snapshot: NonNullable<Meta["snapshot"]>): State {
  const held = (change: Partial<Selection>): Partial<Selection> => {
    const { layer, head } = state.get();
    const moved: { layer?: number; head?: Selection["head"] } = {};
    if (change.layer !== undefined) {
      moved.layer = nearest(snapshot.layers, change.layer, layer);
    }
    if (typeof change.head === "number") {
      moved.head = nearest(snapshot.heads, change.head, typeof head === "number" ? head : -1);
    }
    return { ...change, ...moved };
  };
  return { ...state, set: (change) => state.set(held(change)) };
}
