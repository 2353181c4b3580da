/** Facts of tokens beside their text: ids, tags, and the window that a long text's token was read in. */

import { itemAt } from "../../protocol/required";
import type { Source } from "../../protocol/types";
import { laterParts } from "../contract";
import type { Language } from "./language";

export type WindowName = (token: number, role?: "query" | "key") => string | null;

export interface TokenFacts {
  id(token: number): number;
  /** `NOUN, entity PERSON`; null when unknown. */
  tags(token: number): string | null;
  /** `window 2 of 9`, see `figures/long/windows.ts`; null where the text was read at once, and before the later parts are here. */
  window: WindowName;
}

export const factsOf = ({ meta }: Source, language: () => Language | null): TokenFacts => ({
  id: (token) => itemAt(meta.tokens.id, token),
  tags: (token) => language()?.tags(token) ?? null,
  window: (token, role) => laterParts()?.windows.name(meta, token, role) ?? null,
});
