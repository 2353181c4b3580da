// @vitest-environment jsdom
/** The sentence on top of the view Sentences (docs/opening.md). */

import { h } from "preact";
import { describe, expect, it } from "vitest";
import {
  OneSentence,
  openingRow,
  SentencesSentence,
} from "../../../src/features/sentences/sentence";
import { wordsOf } from "../../../src/figures/nothing-to-see";
import { itemAt } from "../../../src/protocol/required";
import { metaOf } from "../../runs";
import { choose, chosen, META, TEXTS, textOf } from "../../said";

describe("Sentences", () => {
  const matrix = (size: number, values: number[], aggregation: "mass" | "max" = "mass") =>
    ({
      ...{ size, width: size, values: Float32Array.from(values), error: () => 0 },
      keyTokens: Array.from({ length: size }, (_, i) => [2 * i + 1, 2 * i + 2]),
      elsewhere: Float32Array.from({ length: size }, () => 0.5),
      outside: "special tokens",
      sections: null,
      asked: { aggregation, layer: null, head: null, quantity: null },
    }) as never;
  const say = (...given: Parameters<typeof matrix>): string =>
    textOf(h(SentencesSentence, { matrix: matrix(...given), row: 0, tokens: META.tokens, choose }));

  it("says of one sentence which word looks at which, no neighbors, and none that is told", () => {
    const one = (weights: number[] | null, texts = TEXTS, of?: [number, number]): string => {
      const { tokens } = metaOf(texts);
      const all = texts.flatMap((_, i) => (tokens.special[i] ? [] : [i]));
      const block = weights && {
        ...{ queries: all, keys: all, weights: Float32Array.from(weights), error: () => 0 },
      };
      const words = wordsOf(tokens);
      const told = of ? ([itemAt(words, of[0]), itemAt(words, of[1])] as const) : null;
      return textOf(h(OneSentence, { block, tokens, told, choose }));
    };
    const texts = ["[CLS]", "keys", "the", "doors", "lock", "[SEP]"];
    // A word gives itself nothing that counts: doors gives keys 0.3 of 0.4, chance is a third.
    const rows = [
      [0.9, 0.1, 0.1, 0.1],
      [0.9, 0.1, 0.1, 0.1],
      [0.3, 0.05, 0.5, 0.05],
      [0.1, 0.1, 0.7, 0.9],
    ];
    expect(one(rows.flat(), texts)).toBe(
      `Over all heads doors looks at keys: with 75% of its attention to other words, chance 33%.`,
    );
    expect(chosen).toEqual([3, 1]);
    // No neighbor is named.
    const near = rows.with(2, [0.1, 0.1, 0.5, 0.1]);
    expect(one(near.flat(), texts)).toBe("–");
    // A decoder's words look back.
    const forward = rows.map((row, i) => row.map((w, j) => (j > i ? Number.NaN : w)));
    expect(one(forward.flat(), texts)).toMatch(/^Over all heads doors looks at keys: with 86% of/);
    expect(one(Array(16).fill(0.1), texts)).toBe("–");
    // 45% of a chance of a third.
    expect(
      one(rows.with(2, [0.1, 0.1, 0.5, 0.1]).with(3, [0.3, 0.3, 0.4, 0.9]).flat(), texts),
    ).toBe("–");
    // The Attention view tells of doors and keys, in either direction.
    for (const told of [
      [2, 0],
      [0, 2],
    ] as [number, number][])
      expect(one(rows.flat(), texts, told)).toBe("–");
    expect(one(null, texts)).toBe("–");
    expect(one([1], ["[CLS]", "hello", "[SEP]"])).toBe("–");
    expect(say(0, [])).toBe("");
  });

  it("says which words of two sentences are linked, a pronoun among them", () => {
    const { tokens } = metaOf(["[CLS]", "Ben", "ran", ".", "he", "fell", "[SEP]"]);
    const weights = Float32Array.of(0.3, 0.1, 0.1, 0.1);
    const block = { queries: [4, 5], keys: [1, 2], weights, error: () => 0 };
    const values = matrix(2, [0.25, 0.125, 0.0625, 0]);
    expect(textOf(h(SentencesSentence, { matrix: values, row: 0, block, tokens, choose }))).toMatch(
      /^From S0 to S1 “he” looks at Ben: with 75% of its attention to words of S1, chance 50%\. S0 gives S1 13%/,
    );
    expect(chosen).toEqual([4, 1]);
  });

  it("opens at the row with most to tell", () => {
    expect(openingRow(matrix(2, [0.5, 0.1, 0.2, 0.4]))).toBe(1);
    expect(openingRow(matrix(3, [0.2, 0.1, 0.1, 0.1, 0.2, 0.12, 0.3, 0.02, 0.2]))).toBe(2);
  });

  it("says to which other sentence most goes, or that the mask lets nothing", () => {
    expect(say(2, [0.25, 0.125, 0.25, 0])).toBe(
      "S0 gives S1 13% of its attention, and gets 25% of that of S1; 25% of its attention stays in S0, 50% lands on special tokens.",
    );
    const three = [0.25, 0.3, 0.1, 0, 0, 0, 0, 0, 0];
    expect(say(3, three)).toBe(
      "Of what S0 gives to other sentences, S1 gets most: 75%, 50% by its length; 25% of its attention stays in S0, 50% lands on special tokens.",
    );
    expect(say(3, [0.25, 0.1, 0.1, 0, 0, 0, 0, 0, 0])).toContain(
      ", yet not beyond its length: 50%, 50%",
    );
    expect(say(2, [0.25, Number.NaN, 0, 0])).toMatch(/^The model’s mask lets S0 look at no other/);
    expect(say(3, [0.25, 0.5, 0.75, 0, 0, 0, 0, 0, 0], "max")).toBe(
      "The strongest link from S0 to another sentence is to S2, 0.750; the strongest within S0 is 0.250.",
    );
    // Of a row that nobody chose, shares that double the odds of its length alone.
    const opened = (values: number[]) =>
      textOf(
        h(SentencesSentence, {
          ...{ matrix: matrix(3, values), row: 0, tokens: META.tokens, choose, chosen: false },
        }),
      );
    expect(opened([0.25, 0.2, 0.15, 0, 0, 0, 0, 0, 0])).toBe("–");
    expect(opened(three)).toMatch(/^Of what S0 gives/);
  });
});
