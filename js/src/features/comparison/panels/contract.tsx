/** Contract of a panel: a view of the difference, drawn for one selection that both runs share. */

import { schemeOf, tokenName } from "../../../figures/names";
import type { Table } from "../../../figures/table";
import { keysOf } from "../../../protocol/meta";
import { itemAt } from "../../../protocol/required";
import type { Source, Target, TokenColumns } from "../../../protocol/types";
import type { State } from "../../../state/selection";
import {
  type Compared,
  keyPairs,
  type Recovery,
  type RecoveryOf,
  type Side,
  type Site,
  type Sources,
} from "../data";

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
  /** True if the patching panel is open; the selection holds the names of the others. */
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

/** A number of a table; null where there is none. */
export const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** Why there is nothing to see. */
export const Note = ({ text }: { readonly text: string }) => (
  <p class="aw-view-note" role="status">
    {text}
  </p>
);

/** A token as an axis has it. */
export const labelOf = ({ meta: { tokens } }: Source, position: number): string =>
  tokenName(tokens, position, schemeOf(tokens));

/** Names of the matched tokens: one where both runs have the same, `keys→key` where not. */
export const pairNames = ({ compared, sources: { a, b } }: PanelContext): string[] =>
  namesOfPairs(compared.tokens, namesOf(a.meta.tokens), namesOf(b.meta.tokens));

/** Names of the matched keys. */
export const keyNames = ({ compared, sources: { a, b } }: PanelContext): string[] =>
  namesOfPairs(keyPairs(compared), namesOf(keysOf(a.meta)), namesOf(keysOf(b.meta)));

const namesOfPairs = (
  pairs: Compared["tokens"],
  ofA: readonly string[],
  ofB: readonly string[],
): string[] =>
  pairs.map(([i, j]) => {
    const [a, b] = [itemAt(ofA, i), itemAt(ofB, j)];
    return a.toLowerCase() === b.toLowerCase() ? b : `${a}→${b}`;
  });

function namesOf(tokens: TokenColumns): string[] {
  const scheme = schemeOf(tokens);
  return tokens.text.map((_, i) => tokenName(tokens, i, scheme));
}
