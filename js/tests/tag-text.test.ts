import { expect, test } from "vitest";
import { tagText } from "../src/frame/lazy/tag-text";

test("says a tag in words, and nothing of a blank one", () => {
  expect(tagText("DET", undefined)).toBe("DET: determiner");
  expect(tagText("PROPN", "PERSON")).toBe("PROPN: proper noun; entity: PERSON");
  expect(tagText("\u2007", undefined)).toBe("");
  expect(tagText("NN", "ORG")).toBe("entity: ORG");
});
