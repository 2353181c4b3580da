/** Contract of a panel: a view of the difference, drawn for one selection that both runs share. */

import { tokenLabel } from "../../figures/format";
import { schemeOf } from "../../figures/names";
import type { Table } from "../../figures/table";
import { itemAt } from "../../protocol/required";
import type { Source, Target } from "../../protocol/types";
import type { Selection, State } from "../../state/selection";
import type { Compared, Recovery, RecoveryOf, Side, Site, Sources } from "../data";

/** Requests about two runs that need a kernel. */
export interface Patching {
  recovery(
    target: Target,
    of: RecoveryOf,
    options: {
      readonly signal: AbortSignal;
      readonly progress: (done: number, all: number) => void;
    },
  ): Promise<Recovery>;
  /** Show B run again with these parts of A; none: B as it was. Rejects with a `SliceFailure`. */
  put(sites: readonly Site[], target: Target | null): Promise<void>;
}

/** Choices of the reader in a panel, kept while B is run again. */
export interface Memory {
  /** Whether the panel that only two runs have is open; the selection knows the others. */
  patching: boolean;
  target: number;
  of: RecoveryOf;
}

export interface PanelContext {
  readonly compared: Compared;
  readonly sources: Sources;
  /** Each run's selection; a change of one is carried to the other. */
  readonly states: Readonly<Record<Side, State>>;
  /** Null in a saved page. */
  readonly patching: Patching | null;
  readonly memory: Memory;
  /** Offer a table as CSV and JSON. "nothing": what stands here is a sentence, and no file is offered. */
  readonly give: (table: (() => Table | null) | "nothing") => void;
  /** Aborted when another panel is opened. */
  readonly signal: AbortSignal;
}

export type Panel = (element: HTMLElement, context: PanelContext) => void;

/** Call `listener` at each change of A's selection, while the panel is open. */
export function follow(
  { states, signal }: PanelContext,
  keys: readonly (keyof Selection)[],
  listener: () => void,
): void {
  signal.addEventListener("abort", states.a.on(keys, listener), { once: true });
}

/** A number of a table; null where there is none. */
export const known = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** A token as an axis has it. */
export function labelOf({ meta: { tokens } }: Source, position: number): string {
  return tokenLabel(
    itemAt(tokens.text, position),
    schemeOf(tokens),
    itemAt(tokens.surface, position),
  ).text;
}

/** Names of the matched tokens: one where both runs have the same, `keys→key` where not. */
export function pairNames({ compared, sources }: PanelContext): string[] {
  const name = { a: namesOf(sources.a), b: namesOf(sources.b) };
  return compared.tokens.map(([i, j]) => {
    const [a, b] = [itemAt(name.a, i), itemAt(name.b, j)];
    return a.toLowerCase() === b.toLowerCase() ? b : `${a}→${b}`;
  });
}

function namesOf({ meta: { tokens } }: Source): string[] {
  const scheme = schemeOf(tokens);
  return tokens.text.map((text, i) => tokenLabel(text, scheme, itemAt(tokens.surface, i)).text);
}
