import { expect, test } from "vitest";
import {
  type Pairs,
  type Side,
  type Similar,
  shownOf,
  wordlessOf,
} from "../../../src/features/similarity/data";
import {
  type Drawings,
  placedTerms,
  restOf,
  strongestOf,
  sumsOf,
} from "../../../src/features/similarity/pictured";
import type { DrawnInput } from "../../../src/views/contract";

const side = (names: readonly string[], values: readonly number[], bias: number): Side => ({
  ...{ text: names, surface: names, names, bias, values: Float32Array.from(values) },
  before: names.map(() => " "),
  special: names.map((name) => name.startsWith("[")),
  position: names.map((_, i) => i),
  word: names.map((_, i) => i),
});
const pictured = { title: "a.png, 20 × 10 px", meta: { wordless: true as const } };

/** Two patches in a row and [CLS], with a text of two words: 4 tokens a side make numbers that close. */
const PAIRS: Pairs = {
  kind: "input",
  pairs: Float32Array.from([0.01, 0.02, 0.03, 0, 0, 0.1, -0.3, 0, 0, 0.05, 0.2, 0]),
  biasesA: Float32Array.from([0.01, -0.02, 0.03]),
  biasesB: Float32Array.from([0.1, 0, 0.05, 0.02]),
  both: 0.2,
  cosines: null,
};
const [ROWS, COLUMNS] = [3, 4];
const total = (values: ArrayLike<number>) =>
  Array.from(values).reduce((sum, each) => sum + each, 0);
const cell = (i: number, j: number) => PAIRS.pairs[i * COLUMNS + j] ?? 0;
const rowSums = Array.from({ length: ROWS }, (_, i) =>
  total(Array.from({ length: COLUMNS }, (_, j) => cell(i, j)).concat(PAIRS.biasesA[i] ?? 0)),
);
const columnSums = Array.from({ length: COLUMNS }, (_, j) =>
  total(Array.from({ length: ROWS }, (_, i) => cell(i, j)).concat(PAIRS.biasesB[j] ?? 0)),
);
const score = total(PAIRS.pairs) + total(PAIRS.biasesA) + total(PAIRS.biasesB) + PAIRS.both;

const patches = side(["[CLS]", "r1 c1", "r1 c2"], rowSums, total(PAIRS.biasesB) + PAIRS.both);
const words = side(["[S]", "cat", "mat", "[E]"], columnSums, total(PAIRS.biasesA) + PAIRS.both);
const similar: Similar = {
  ...{ score, kind: "cosine", probability: null, notes: [], matrices: ["input"] },
  ...{ by: "decomposition", a: { ...patches, ...pictured }, b: words },
};
const both: Similar = { ...similar, b: { ...words, ...pictured } };

/** Of each single token: the place is the one with the largest number. */
const drawn = (count: number): DrawnInput => ({
  View: () => null,
  areas: Array.from({ length: count }, (_, i) => ({ name: `area ${i}`, tokens: [i + 1] })),
  strongest(values) {
    const sizes = Array.from(values, Math.abs).slice(1, count + 1);
    const at = sizes.indexOf(Math.max(...sizes)) + 1;
    return { name: `patches around ${at}`, tokens: [at] };
  },
});
const ofText: Drawings = { a: drawn(2), b: null };
const ofBoth: Drawings = { a: drawn(2), b: drawn(2) };

test("sides that are no texts are known by what features tell of them", () => {
  expect(wordlessOf(similar)).toEqual(["a"]);
  expect(wordlessOf(both)).toEqual(["a", "b"]);
});

test("words and areas add up to the score, with and without the matrix", () => {
  for (const pairs of [PAIRS, null]) {
    for (const count of [1, 6]) {
      const terms = placedTerms(shownOf(similar, pairs, true), ofText, count);
      expect(total(terms.map(({ value }) => value))).toBeCloseTo(score, 6);
      expect(terms.at(-1)?.name).toBe("biases");
      // The numbers are those of the words, the strongest first.
      const strongest = Math.abs(columnSums[1] ?? 0) > Math.abs(columnSums[2] ?? 0) ? 1 : 2;
      expect(terms[0]).toMatchObject({ b: strongest, value: words.values[strongest] });
    }
    const areas = placedTerms(shownOf(both, pairs, true), ofBoth, 6);
    expect(areas.map(({ name }) => name)).toEqual(["area 0", "area 1", "special tokens", "biases"]);
    expect(total(areas.map(({ value }) => value))).toBeCloseTo(score, 6);
    expect(areas[0]?.place).toEqual({ side: "a", tokens: [1], name: "area 0" });
  }
  expect(placedTerms(shownOf(similar, PAIRS, true), { a: null, b: null }, 6)).toEqual([]);
});

test("the sentence names the word and the place that add most together", () => {
  const found = strongestOf(shownOf(similar, PAIRS, true), ofText);
  expect(found?.word).toEqual({ side: "b", unit: 2 });
  expect(found?.places[0]?.place.tokens).toEqual([1]);
  expect(found?.value).toBeCloseTo(-0.3);
  const two = strongestOf(shownOf(both, PAIRS, true), ofBoth);
  expect(two?.word).toBeNull();
  expect(two?.places.map(({ side, place }) => [side, ...place.tokens])).toEqual([
    ["a", 2],
    ["b", 2],
  ]);
  expect(two?.value).toBeCloseTo(0.2);
  // Without the matrix, what one place adds alone.
  const alone = strongestOf(shownOf(both, null, true), ofBoth);
  expect(alone?.places).toHaveLength(1);
  expect(alone?.value).toBeCloseTo(rowSums[alone?.places[0]?.place.tokens[0] ?? 0] ?? 0);
  expect(strongestOf(shownOf(similar, PAIRS, true), { a: null, b: null })).toBeNull();
});

test("special tokens are no part of the sums of pairs", () => {
  const now = shownOf(similar, PAIRS, true);
  const matrix = now.matrix;
  if (matrix === null) throw new Error("no matrix");
  expect(Array.from(sumsOf(now, matrix, "b"))).toEqual([
    0,
    expect.closeTo(0.15),
    expect.closeTo(-0.1),
    0,
  ]);
});

test("what a token adds is told whole: pairs, special tokens, and biases", () => {
  const now = shownOf(similar, PAIRS, true);
  for (const [of, unit, value] of [
    ["a", 1, rowSums[1]],
    ["b", 2, columnSums[2]],
  ] as const) {
    const rest = restOf(now, { side: of, unit }, []);
    expect(rest.map(([name]) => name)).toEqual([
      of === "a" ? "all words" : "all patches",
      "special tokens",
      "biases",
    ]);
    expect(total(rest.map(([, number]) => number))).toBeCloseTo(value ?? 0, 6);
  }
  const listed = now.matrix?.ranked.filter(({ a }) => a === 1) ?? [];
  const names = (count: number) =>
    restOf(now, { side: "a", unit: 1 }, listed.slice(0, count)).map(([name]) => name);
  expect(names(1)).toEqual(["other words", "special tokens", "biases"]);
  expect(names(2)).toEqual(["special tokens", "biases"]);
  expect(restOf(shownOf(similar, null, true), { side: "a", unit: 1 }, [])).toEqual([]);
});
