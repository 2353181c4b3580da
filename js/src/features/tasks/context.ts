/** State that the parts of the task view share. */

import type { ReadonlySignal } from "@preact/signals-core";
import type { Mode } from "../../draw/color/ramp";
import { type Unit, unitsOf } from "../../figures/derive/units";
import type { TokenScheme } from "../../figures/format";
import type { TokenColumns } from "../../protocol/types";
import type { Selection } from "../../state/selection";
import type { ViewContext } from "../../views/contract";

/** The word of every token; null where the words of the text are unavailable. */
export type Words = readonly (number | null)[] | null;

export interface TaskContext extends ViewContext {
  readonly selection: ReadonlySignal<Selection>;
  readonly mode: ReadonlySignal<Mode>;
  /** Asked once, when they are needed. */
  readonly words: () => Promise<Words>;
  readonly scheme: TokenScheme;
  /** Name of the first token, whose attention the classifier reads. */
  readonly first: string;
}

/** Words of the text, or single tokens where words are unavailable; white space is no word. */
export const wordUnits = (tokens: TokenColumns, words: Words): Unit[] =>
  unitsOf(tokens, { special: false, tokenWord: words }).filter(
    ({ token }) => words === null || words[token] != null,
  );
