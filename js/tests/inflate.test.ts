import { describe, expect, test } from "vitest";
import { decode85 } from "../src/protocol/saved/inflate";

describe("base 85", () => {
  // Of Python: base64.b85encode(bytes), then as attn_widget/page/compress.py writes it.
  test.each([
    [[], ""],
    [[0], "00"],
    [[255], "]]"],
    [[255, 255, 255, 255], "|NsC0"],
    [[0, 0, 0, 0, 1], "000000R"],
    [[1, 2, 3, 4, 5, 6, 7], "0RjUA1qKH"],
    [[250, 251, 252, 253, 254, 255], "[uqI-]]H"],
    [[62, 38, 60, 36, 96], "J|;XQU;"],
  ])("%j", (bytes, text) => {
    expect([...decode85(text)]).toEqual(bytes);
  });
});
