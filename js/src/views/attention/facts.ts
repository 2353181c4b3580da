/** Facts of tokens beside their text: ids, tags, and the window that a long text's token was read in. */

import { windowOf } from "../../figures/long/levels";
import { itemAt } from "../../protocol/required";
import type { Source } from "../../protocol/types";
import type { Language } from "./language";

export interface TokenFacts {
  id(token: number): number;
  /** `NOUN, entity PERSON`; null when unknown. */
  tags(token: number): string | null;
  /** `window 2 of 9`: that of a query's row; null where the text was read at once. */
  window(token: number): string | null;
}

export const factsOf = ({ meta }: Source, language: () => Language | null): TokenFacts => ({
  id: (token) => itemAt(meta.tokens.id, token),
  tags: (token) => language()?.tags(token) ?? null,
  window: (token) => windowOf(meta, token),
});
