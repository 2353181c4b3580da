/** Parts of the view behind a summary: drawn while they are open. What a reader has opened stays open over tabs, heads and runs. */

import { type Signal, signal } from "@preact/signals-core";
import type { ComponentType } from "preact";
import type { State } from "../../state/selection";
import { memo } from "../../ui/memo";

/** Names of the open parts, by widget. */
const openOf = new WeakMap<State, Signal<ReadonlySet<string>>>();

export function createFold(state: State) {
  const open = openOf.get(state) ?? signal<ReadonlySet<string>>(new Set());
  openOf.set(state, open);
  return memo(function Fold({
    name,
    summary,
    of: Content,
  }: {
    readonly name: string;
    readonly summary: string;
    readonly of: ComponentType;
  }) {
    const isOpen = open.value.has(name);
    return (
      <details
        class="aw-fold"
        data-aw-part={`fold-${name}`}
        open={isOpen}
        onToggle={({ currentTarget, target }) => {
          if (target !== currentTarget || currentTarget.open === open.peek().has(name)) return;
          const next = new Set(open.peek());
          if (currentTarget.open) next.add(name);
          else next.delete(name);
          open.value = next;
        }}
      >
        <summary>{summary}</summary>
        {isOpen && <Content />}
      </details>
    );
  });
}
