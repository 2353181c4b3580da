/** Parts of the view behind a summary: drawn while they are open. What a reader has opened stays open over tabs, heads and runs. */

import type { ComponentType } from "preact";
import type { State } from "../../state/selection";
import { memo } from "../../ui/memo";

export function createFold(state: State) {
  const open = state.folds;
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
