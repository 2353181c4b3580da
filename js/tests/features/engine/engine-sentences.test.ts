/** Sentences of the page's engine, against those that Python finds without nupunkt. */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { sentencesOf } from "../../../src/features/engine/page/answers/segment";

const path = new URL("../../../../tests/golden/sentences.json", import.meta.url);
// Written by Python: tests/golden/make_sentences.py.
const golden: { text: string; spans: number[][] }[] = JSON.parse(readFileSync(path, "utf8"));

describe("sentences", () => {
  test.each(golden)("of $text", ({ text, spans }) => {
    expect(sentencesOf(text)).toEqual(spans);
  });
});
