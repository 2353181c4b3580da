import { expect, test } from "vitest";
import {
  beyondRamp,
  deletedWords,
  type MatrixKind,
  type Pairs,
  type Side,
  type Similar,
  shownOf,
  termsOf,
  unitsOf,
} from "../../../src/features/similarity/data";
import { shadesOf, threadsOf } from "../../../src/features/similarity/texts";

const side = (words: readonly string[], values: readonly number[], bias: number): Side => ({
  text: words,
  surface: words,
  before: words.map((word) => (word.startsWith("##") ? "" : " ")),
  special: words.map((word) => word.startsWith("[")),
  position: words.map((_, i) => i),
  // A piece belongs to the word before it.
  word: words.map(
    (_, i) => words.slice(0, i + 1).filter((word) => !word.startsWith("##")).length - 1,
  ),
  names: words.join(" ").replaceAll(" ##", "").split(" "),
  values: Float32Array.from(values),
  bias,
});

const similar: Similar = {
  score: 0.5,
  kind: "cosine",
  probability: null,
  notes: [],
  matrices: ["input"],
  by: "decomposition",
  a: side(["[CLS]", "not", "guit", "##ar"], [0.05, 0, 0.3, 0.1], 0.05),
  b: side(["[CLS]", "instrument"], [0.1, 0.35], 0.05),
};
const pairs: Pairs = {
  kind: "input" as MatrixKind,
  pairs: Float32Array.from([0.05, 0.02, 0.001, -0.001, 0, 0.4, 0.02, 0.1]),
  biasesA: Float32Array.from([-0.02, 0, -0.06, -0.02]),
  biasesB: Float32Array.from([0.01, -0.11]),
  both: 0.11,
  cosines: null,
};

test("pieces of a word are added up, and special tokens stay by themselves", () => {
  const { a, matrix, valuesA } = shownOf(similar, pairs, true);
  expect(a.names).toEqual(["[CLS]", "not", "guitar"]);
  expect(a.special).toEqual([true, false, false]);
  expect(valuesA[2]).toBeCloseTo(0.4);
  expect(matrix?.values[2 * 2 + 1]).toBeCloseTo(0.5);
  expect(unitsOf(similar.a, false).names).toEqual(["[CLS]", "not", "guit", "##ar"]);
});

test("the terms add up to the score, in words and in tokens, with and without pairs", () => {
  const total =
    pairs.pairs.reduce((sum, value) => sum + value, 0) +
    [...pairs.biasesA, ...pairs.biasesB, pairs.both].reduce((sum, value) => sum + value, 0);
  for (const words of [true, false]) {
    for (const count of [1, 6]) {
      const terms = termsOf(shownOf(similar, pairs, words), count);
      expect(terms.reduce((sum, { value }) => sum + value, 0)).toBeCloseTo(total, 6);
      expect(terms.at(-1)?.name).toBe("biases");
      expect(terms[0]).toMatchObject({ a: 2, b: 1 });
    }
    const alone = termsOf(shownOf(similar, null, words), 1);
    expect(alone.reduce((sum, { value }) => sum + value, 0)).toBeCloseTo(0.5, 6);
  }
  const rests = [pairs, null].map((of) => termsOf(shownOf(similar, of, true), 1)[1]?.name);
  expect(rests).toEqual(["1 other pair of words", "1 other word"]);
});

test("a word takes hardly any part if the score without it is nearly the same, whatever its share", () => {
  const shown = shownOf(similar, pairs, true);
  const without = (a: number[], b: number[]) =>
    deletedWords(shown, { a: Float32Array.from(a), b: Float32Array.from(b) });
  const none = Number.NaN;
  // Units: [CLS], not, guitar; [CLS], instrument. *not* has no share of any pair, and moves the score most.
  const found = without([none, 0.9, 0.4], [none, 0.45]);
  expect(found?.strongest).toMatchObject({ name: "not" });
  expect(found?.strongest.score).toBeCloseTo(0.9);
  expect(found?.idle).toBeNull();
  const idle = without([none, 0.49, 0.2], [none, 0.52])?.idle;
  expect(idle).toMatchObject({ name: "instrument" });
  expect(without([none, none, none], [none, none])).toBeNull();
});

test("a word that is pointed at shades its partners, and its threads alone are drawn", () => {
  const shown = shownOf(similar, pairs, true);
  expect(threadsOf(shown, null)).toMatchObject([{ a: 2, b: 1 }]);
  expect(threadsOf(shown, { side: "a", unit: 1 })).toEqual([]);
  const shades = shadesOf(shown, "b", { side: "a", unit: 2 });
  expect([...shades].map((value) => value.toFixed(2))).toEqual(["0.02", "0.50"]);
  // Its own text keeps the parts of the score.
  expect(shadesOf(shown, "a", { side: "a", unit: 2 })).toBe(shown.valuesA);
});

test("cells that do not count have the largest cosine of their pieces, faintly", () => {
  const answers: Pairs = {
    ...pairs,
    kind: "maxsim",
    pairs: Float32Array.from([0.9, 0, 0, 0.2, 0, 0.7, 0, 0.4]),
    biasesA: new Float32Array(4),
    biasesB: new Float32Array(2),
    both: 0,
    cosines: Float32Array.from([0.9, 0.1, 0.1, 0.2, 0.3, 0.7, 0.35, 0.4]),
  };
  const { matrix } = shownOf({ ...similar, kind: "maxsim", matrices: ["maxsim"] }, answers, true);
  expect(matrix?.faint?.length).toBe(3 * 2);
  // "guit" has 0.3 with [CLS], "##ar" 0.35; neither counts.
  expect(matrix?.values[4]).toBe(0);
  expect(matrix?.faint?.[4]).toBeCloseTo(0.35);
  expect(shownOf(similar, pairs, true).matrix?.faint).toBeNull();
});

test("words are shaded by the rows of input, once a page has computed it", () => {
  const found = { ...similar, by: "output" as const };
  const before = shownOf(found, { ...pairs, kind: "output" }, false);
  expect(before.similar.by).toBe("output");
  expect(before.valuesA).toEqual(Float64Array.from(similar.a.values));
  const after = shownOf(found, pairs, false);
  expect(after.similar.by).toBe("decomposition");
  // 0.4 and 0 by pairs, and -0.06 with the other text's biases.
  expect(after.valuesA[2]).toBeCloseTo(0.34);
  const total = after.valuesA.reduce((sum, value) => sum + value, 0) + after.similar.a.bias;
  const pairSum = pairs.pairs.reduce((sum, value) => sum + value, 0);
  const biases = [...pairs.biasesA, ...pairs.biasesB, pairs.both].reduce((a, b) => a + b, 0);
  expect(total).toBeCloseTo(pairSum + biases, 6);
});

test("the legend tells of a bias or a special token that passes the strongest pair of words", () => {
  const beyond = (change: Partial<Pairs>): number | null => {
    const { matrix } = shownOf(similar, { ...pairs, ...change }, true);
    return matrix === null ? null : beyondRamp(matrix);
  };
  expect(beyond({})).toBeNull();
  expect(beyond({ both: -0.7 })).toBe(-0.7);
  expect(beyond({ pairs: Float32Array.from([0.75, 0.02, 0, 0, 0, 0.4, 0, 0.1]) })).toBe(0.75);
  expect(beyond({ kind: "output", both: -0.7 })).toBeNull();
});
