/** Texts of which it tells nothing what a model expects in place of a word, and why. */

import type { TokenColumns } from "../protocol/types";
import { knowsNoWord, nothingToSee } from "./nothing-to-see";

/** A sentence; null where it may tell. `next`: of what follows a word, which any text has. */
export function nothingToExpect(tokens: TokenColumns, next: boolean): string | null {
  if (knowsNoWord(tokens))
    return "The model knows no word of this text, so what it expects tells little.";
  const nothing = next ? null : nothingToSee(tokens);
  if (nothing === null) return null;
  const [because] = nothing.split(", so ");
  return `${because}, so ${/a single (word|\[MASK\])$/.test(because ?? "") ? "there is nothing to predict it from" : "what the model expects in place of one tells little"}.`;
}
