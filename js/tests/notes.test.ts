/** The line that says how a text was read. */

import { expect, test } from "vitest";
import { readingNote } from "../src/frame/notes";
import type { Meta } from "../src/protocol/meta";

const meta = (changes: object): Meta => ({ truncated: null, ...changes }) as unknown as Meta;

test("a text that is read as usual has no note", () => {
  expect(readingNote(meta({}))).toBe("");
});

test("what was left out, and what was cut, stand one after the other", () => {
  const note = "The text begins with <s> itself: the tokenizer's own is left out.";
  expect(readingNote(meta({ note }))).toBe(note);
  const truncated = { limit: 128, length: 300 };
  expect(readingNote(meta({ note, truncated }))).toBe(
    `${note} Cut: the model reads 128 tokens, the text has 300.`,
  );
});
