// @vitest-environment jsdom
/** The sentence on top of the view Tree (docs/opening.md). */

import { h } from "preact";
import { describe, expect, it } from "vitest";
import { firstUnits } from "../../../src/draw/text-line";
import { grow } from "../../../src/features/tree/grown";
import { influenceTree } from "../../../src/features/tree/influence";
import { pathsOf, TreeSentence } from "../../../src/features/tree/sentence";
import type { Matrix } from "../../../src/figures/matrix";
import { itemAt } from "../../../src/protocol/required";
import { drawn } from "../../drawn";
import { metaOf } from "../../runs";
import { choose, chosen, sourceOf, textOf } from "../../said";

describe("Tree", () => {
  const squareOf = (weights: number[], size: number): Matrix => {
    const units = Array.from({ length: size });
    return {
      weights: Float32Array.from(weights),
      allowed: null,
      queries: units,
      keys: units,
    } as never;
  };
  const linksOf = (weights: number[], size: number) =>
    pathsOf({
      whole: influenceTree({ weights: Float32Array.from(weights), allowed: null, size }, 0, {
        topK: 2,
        depth: 3,
      }),
      matrix: squareOf(weights, size),
      link: (from, to) => ({
        value: itemAt(weights, from.unit * size + to.unit),
        error: 0,
        chance: 0,
      }),
    }).map((path) => path.map((link) => link && [link.to.unit, link.value]));

  it("goes from the root to its tokens, and on, or back, which the tree leaves out", () => {
    expect(linksOf([0.5, 0.3, 0.2, 0.1, 0.2, 0.7, 0.4, 0.3, 0.3], 3)).toEqual([
      [
        [1, 0.3],
        [2, 0.7],
      ],
      [
        [2, 0.2],
        [0, 0.4],
      ],
    ]);
  });

  it("ends with the tokens that there are", () => {
    expect(linksOf([1], 1)).toEqual([]);
    expect(linksOf([0.5, 0.5, 0, 1], 2)).toEqual([[[1, 0.5], null]]);
  });

  it("opens a branch above chance, and tells a second step to a whole content word", () => {
    const say = (second: number, third = "big"): string => {
      const meta = metaOf(["[CLS]", "trophy", "suitcase", third, "[SEP]"]);
      const units = firstUnits(meta, true);
      const rows = [
        [0.2, 0.2, 0.2, 0.2, 0.2],
        [0.1, 0.1, 0.6, 0.1, 0.1],
        [0.05, 0.1, 0.1, second, 0.75 - second],
        [0.2, 0.2, 0.2, 0.2, 0.2],
        [0.2, 0.2, 0.2, 0.2, 0.2],
      ];
      const matrix = {
        ...{ layer: 0, head: 0, quantity: "weights", queries: units, keys: units, allowed: null },
        ...{ weights: Float32Array.from(rows.flat()), queryOf: (token: number) => token },
      } as never;
      const of = grow(matrix, 1, { topK: 2, depth: 3, bare: false }, sourceOf(meta));
      const [suitcase] = of.whole.childrenOf(of.whole.root);
      const line = textOf(h(TreeSentence, { of, tokens: meta.tokens }));
      return `${line} ${of.leadsOn(suitcase!)}`;
    };
    expect(say(0.7)).toBe(
      "From trophy the path leads to suitcase, which gives 70% to big, chance 20%. true",
    );
    // A special token, a function word, a piece, an unknown word: the link to suitcase is told elsewhere.
    expect(say(0.05)).toBe("– true");
    for (const third of ["of", "##s", "[UNK]"]) expect(say(0.7, third)).toBe("– true");
    const words = (...rows: number[][]): string => {
      const meta = metaOf(["cat", "dog", "bird"]);
      const three = { ...meta, tokens: { ...meta.tokens, before: ["", " ", " "] } };
      const axis = firstUnits(three, true);
      const matrix = {
        ...{ layer: 0, head: 0, quantity: "weights", queries: axis, keys: axis, allowed: null },
        ...{ weights: Float32Array.from(rows.flat()), queryOf: (token: number) => token },
      } as never;
      const of = grow(matrix, 0, { topK: 2, depth: 3, bare: false }, sourceOf(three));
      const [dog, bird] = of.whole.childrenOf(of.whole.root);
      const line = textOf(h(TreeSentence, { of, tokens: three.tokens }));
      return `${line} ${of.leadsOn(of.whole.root)} ${of.leadsOn(dog!)} ${of.leadsOn(bird!)}`;
    };
    const even = [0.3, 0.4, 0.3];
    expect(words([0.1, 0.6, 0.3], even, even)).toBe("– true false false");
    const alike = [0.34, 0.33, 0.33];
    expect(words([0, 0.6, 0.4], alike, even)).toMatch(/^– /);
    expect(words([0, 0.5, 0.5], even, even)).toMatch(/^– /);
    // A way back is none.
    expect(words([0.1, 0.6, 0.3], [0.6, 0.1, 0.3], even)).toMatch(/^– /);
    expect(words([0.1, 0.6, 0.3], [0.1, 0.3, 0.6], even)).toMatch(
      /^From cat the path leads to dog, which gives 60% to bird, chance 33%\./,
    );
  });

  it("tells of the path of another word where the root's ends, and not by the root's own link", () => {
    const plain = metaOf(["cat", "the", "dog", "of", "bird", "a", "tree"]);
    const before = ["", " ", " ", " ", " ", " ", " "];
    const meta = { ...plain, tokens: { ...plain.tokens, before } };
    const units = firstUnits(meta, true);
    const say = (links: readonly (readonly [from: number, to: number, weight: number])[]) => {
      const weights = Float32Array.from({ length: 49 }, () => 0.02);
      for (const [from, to, weight] of links) weights[from * 7 + to] = weight;
      const matrix = {
        ...{ layer: 0, head: 0, quantity: "weights", queries: units, keys: units, allowed: null },
        ...{ weights, queryOf: (token: number) => token },
      } as never;
      const of = grow(matrix, 0, { topK: 1, depth: 3, bare: false }, sourceOf(meta));
      return textOf(h(TreeSentence, { of, tokens: meta.tokens, choose }));
    };
    const root = [0, 2, 0.8] as const;
    const [on, far] = [[6, 4, 0.5] as const, [4, 0, 0.35] as const];
    expect(say([root, on, far])).toBe(
      "From tree the path leads to bird, which gives 35% to cat, chance 14%.",
    );
    expect(chosen).toEqual([6, 4, 0]);
    expect(say([root, on])).toBe("–");
    // A neighbor, and a link near chance.
    expect(say([root, [6, 5, 0.5], far])).toBe("–");
    expect(say([root, on, [4, 0, 0.33]])).toBe("–");
    expect(say([root, [6, 0, 0.5]])).toBe("–");
  });

  it("makes a word of it the root by a click", () => {
    const plain = metaOf(["cat", "dog", "bird"]);
    const meta = { ...plain, tokens: { ...plain.tokens, before: ["", " ", " "] } };
    const units = firstUnits(meta, true);
    const matrix = {
      ...{ layer: 0, head: 0, quantity: "weights", queries: units, keys: units, allowed: null },
      weights: Float32Array.of(0.1, 0.6, 0.3, 0.3, 0.1, 0.6, 0.3, 0.4, 0.3),
      queryOf: (token: number) => token,
    } as never;
    const of = grow(matrix, 0, { topK: 2, depth: 3, bare: false }, sourceOf(meta));
    const chosen: number[] = [];
    const choose = (token: number) => void chosen.push(token);
    const line = drawn(h(TreeSentence, { of, tokens: meta.tokens, choose }));
    const words = [...line.querySelectorAll<HTMLElement>("button")];
    expect(words.map(({ textContent }) => textContent)).toEqual(["cat", "dog", "bird"]);
    for (const word of words) word.click();
    expect(chosen).toEqual([0, 1, 2]);
  });
});
