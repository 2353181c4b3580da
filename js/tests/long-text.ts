/** Long texts without a kernel. */

import type { TokenColumns } from "../src/protocol/types";

/** Words apart by what stands before them; `[...]` is special. */
export function tokensOfText(
  parts: readonly (readonly [before: string, text: string])[],
): TokenColumns {
  return {
    text: parts.map(([, text]) => text),
    surface: parts.map(([, text]) => (text.startsWith("[") ? "" : text)),
    before: parts.map(([before]) => before),
    id: parts.map((_, i) => i),
    start: parts.map(() => 0),
    end: parts.map(() => 0),
    segment: parts.map(() => 0),
    special: parts.map(([, text]) => text.startsWith("[")),
  };
}

export const DOCUMENT = tokensOfText([
  ["", "[CLS]"],
  ["", "Cats"],
  ["\n\n", "The"],
  [" ", "cat"],
  [" ", "sat"],
  ["", "."],
  [" ", "It"],
  [" ", "pur"],
  ["", "red"],
  ["", "."],
  ["\n", "Dogs"],
  [" ", "bark"],
  ["", "!"],
  ["", "[SEP]"],
]);
