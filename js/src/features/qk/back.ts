/** The way back from a cell to which a head of a sum led. */

import { computed, type ReadonlySignal, signal, untracked } from "@preact/signals-core";
import type { Selection, State } from "../../state/selection";
import { watch } from "../../ui/mount";
import type { PinnedCell } from "../../views/contract";

type Place = Pick<Selection, "layer" | "head" | "token" | "pair">;

/** True while the sums are open (`opens`: from the beginning), the cells on the way, and weights with all heads on; by widget, since another run or view redraws all. */
interface Memory {
  readonly open: ReturnType<typeof signal<boolean>>;
  readonly trail: ReturnType<typeof signal<readonly Place[]>>;
  readonly intact: Map<string, number>;
}
const memories = new WeakMap<State, Memory>();
export function memoryOf(state: State, opens = false): Memory {
  const memory = memories.get(state) ?? {
    open: signal(opens),
    trail: signal<readonly Place[]>([]),
    intact: new Map(),
  };
  memories.set(state, memory);
  return memory;
}

const placeOf = ({ layer, head, query, key }: PinnedCell): Place => ({
  ...{ layer, head, token: query },
  pair: [query, key],
});
const keyOf = ({ layer, head, pair }: Place): string => [layer, head, ...(pair ?? [])].join(" ");

export function createWay(
  state: State,
  cell: ReadonlySignal<PinnedCell | null>,
  until: AbortSignal,
) {
  const { trail } = memoryOf(state);
  let expected: string | null = cell.peek() && keyOf(placeOf(cell.peek() as PinnedCell));
  watch(() => {
    const now = cell.value;
    if (now === null) return;
    const key = keyOf(placeOf(now));
    // Another pair that the reader pinned is no step of this way.
    untracked(() => {
      if (expected !== null && key !== expected) trail.value = [];
    });
    expected = key;
  }, until);
  let moved = false;
  function set(place: Place): void {
    expected = keyOf(place);
    moved = true;
    state.set(place);
  }
  return {
    /** True once after each step: what had the focus is gone with the cell that it was of. */
    arrived(): boolean {
      const before = moved;
      moved = false;
      return before;
    },
    /** The place that is next on the way back. */
    last: computed(() => trail.value?.at(-1) ?? null),
    go(to: Omit<PinnedCell, "merged">): void {
      const from = cell.peek();
      if (from !== null) trail.value = [...(trail.peek() ?? []), placeOf(from)];
      set(placeOf({ ...to, merged: false }));
    },
    back(): void {
      const last = trail.peek()?.at(-1);
      if (last === undefined) return;
      trail.value = trail.peek()?.slice(0, -1) ?? [];
      set(last);
    },
  };
}
