/** What a sentence on top of a view says, and the tokens that its words choose. */

import type { Meta, Source } from "../src/protocol/types";
import { drawn } from "./drawn";
import { metaOf } from "./runs";

export const TEXTS = ["[CLS]", "the", "keys", "are", "here", "[SEP]"];
export const META = metaOf(TEXTS);
export const sourceOf = (meta: Meta, arrays: Source["arrays"] = new Map()): Source => ({
  ...{ meta, arrays, live: true },
  ask: () => Promise.reject(new Error("asks nothing")),
});
/** Tokens that the words of the last sentence choose, one after the other. */
export const chosen: number[] = [];
export const choose = (token: number): void => {
  chosen.push(token);
};
/** `–` of a line that will say nothing. */
export const textOf = (part: Parameters<typeof drawn>[0]): string => {
  const line = drawn(part);
  if (line.dataset.awSilent !== undefined) return "–";
  chosen.length = 0;
  for (const word of line.querySelectorAll("button")) word.click();
  return line.hidden ? "" : (line.textContent ?? "");
};
