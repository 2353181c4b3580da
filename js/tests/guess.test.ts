import { describe, expect, it } from "vitest";
import { guessAfter, isEnd, placeName, wordUpTo } from "../src/figures/guess";
import type { TokenColumns } from "../src/protocol/types";
import { metaOf } from "./runs";

/** Tokens of a byte-level vocabulary; a control token is special. */
function columns(...text: string[]): TokenColumns {
  const { tokens } = metaOf(text);
  const before = text.map((token) => (token.startsWith("Ġ") ? " " : ""));
  const surface = text.map((token) => token.replace("Ġ", ""));
  return { ...tokens, text, before, surface, special: text.map((token) => /^</.test(token)) };
}

describe("A token that a decoder may write", () => {
  const text = columns("<s>", "ĠThe", "Ġvast", ",", "Ġun", "for");
  const after = (token: string, tokens: TokenColumns, position: number, open: string[] = []) =>
    guessAfter(token, "byte-level", tokens, position, open);

  it("goes on with the word before it where it has no space", () => {
    expect(after("giving", text, 5)).toEqual({ kind: "continues", name: "unforgiving" });
    expect(after("g", text, 5)).toEqual({ kind: "continues", name: "unforg…" });
    expect(after("Ġgiving", text, 5)).toEqual({ kind: "word", name: "giving" });
    // Nothing is before it behind a mark or a control token.
    expect(after("giving", text, 3)).toEqual({ kind: "word", name: "giving" });
    expect(after("giving", text, 0)).toEqual({ kind: "word", name: "giving" });
  });

  it("is a contraction behind its word", () => {
    expect(after("'m", columns("<s>", "ĠI"), 1)).toEqual({ kind: "continues", name: "I'm" });
  });

  it("is open where it may be no word: a letter or two, digits, what no list has, what is a piece in the text", () => {
    const said = columns("<s>", "ĠBras", "il", "Ġand", "Ġnumpy", ".", "ĠX");
    const name = (token: string, open: string[] = []) => after(token, said, 3, open).name;
    expect(["ĠF", "ĠEd", "Ġ1", "Ġa", "ĠI", "Ġto"].map((token) => name(token))).toEqual([
      ...["F…", "Ed…", "1…", "a", "I", "to"],
    ]);
    expect(name("ĠBras")).toBe("Bras…");
    expect([name("Ġinteg"), name("Ġinteg", ["Ġinteg"])]).toEqual(["integ", "integ…"]);
    // A word of the text is one, whatever a list says.
    expect(name("Ġnumpy", ["Ġnumpy"])).toBe("numpy");
  });

  it("is a mark without letters, in control tokens and in bytes", () => {
    for (const token of ["âĢĻ", "Ċ", ",", "<|im_end|>", "[X]", "Ã"])
      expect([token, after(token, text, 5).kind]).toEqual([token, "mark"]);
    expect(["<|im_end|>", "</s>", "<|im_start|>", "end"].map(isEnd)).toEqual([
      ...[true, true, false, false],
    ]);
  });

  it("comes after a word that is named with its pieces, open where the text goes on with it", () => {
    expect(wordUpTo(text, 5)).toBe("unfor");
    expect(placeName(text, 5, "for")).toBe("unfor");
    expect(placeName(text, 4, "un")).toBe("un…");
    expect(placeName(text, 3, ",")).toBe(",");
  });
});
