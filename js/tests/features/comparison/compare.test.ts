import { expect, test } from "vitest";
import {
  type Compared,
  carrySelection,
  farthest,
  partnerHead,
  partnerToken,
  weightsOf,
} from "../../../src/features/comparison/data";
import { wordsWithout } from "../../../src/features/comparison/difference";
import { matchSentences } from "../../../src/features/comparison/panels/sentences";
import type { Source } from "../../../src/protocol/types";
import { DEFAULT_SELECTION } from "../../../src/state/state";
import { markOf, signed } from "../../../src/ui/signs";

const compared: Compared = {
  notes: [],
  reasons: {},
  predictions: null,
  tokens: [
    [0, 0],
    [2, 1],
  ],
  distances: { data: Float32Array.from([0.1, NaN, 0.3, 0.2]), shape: [2, 2] },
  arrays: new Map([
    ["partner", { data: Int32Array.from([1, 1, -1, -1, 0, 0, 1, 0]), shape: [2, 2, 2] }],
  ]),
};

const sourceOf = (weights: readonly number[], n: number): Source =>
  ({
    ask: async () => ({
      data: {},
      arrays: new Map([["weights", { data: Float32Array.from(weights), shape: [n, n] }]]),
    }),
  }) as unknown as Source;

test("a token and a head are carried over to their partners, and back", () => {
  expect(partnerToken(compared, 2, "b")).toBe(1);
  expect(partnerToken(compared, 1, "a")).toBe(2);
  expect(partnerToken(compared, 1, "b")).toBeNull();
  expect(partnerHead(compared, 0, 0, "b")).toEqual({ layer: 1, head: 1 });
  expect(partnerHead(compared, 1, 1, "a")).toEqual({ layer: 0, head: 0 });
  expect(partnerHead(compared, 0, 1, "b")).toBeNull();
});

test("a selection is carried over without what has no partner", () => {
  const chosen = { ...DEFAULT_SELECTION, layer: 1, head: 0, token: 2, pair: [0, 1] as const };
  const found = carrySelection(compared, { ...chosen, group: [0, 1, 2], view: "tree" }, "b");
  expect(found).toMatchObject({
    layer: 0,
    head: 0,
    token: 1,
    pair: null,
    group: [0, 1],
    view: "tree",
  });
});

test("the head with the greatest distance is found, whatever has none", () => {
  expect(farthest(compared)).toMatchObject({ layer: 1, head: 0 });
  expect(farthest({ ...compared, distances: null })).toBeNull();
});

test("weights are those between matched tokens", async () => {
  const sources = { a: sourceOf([1, 2, 3, 4, 5, 6, 7, 8, 9], 3), b: sourceOf([10, 20, 30, 40], 2) };
  const found = await weightsOf(compared, sources, { layer: 0, head: 0, quantity: "weights" });
  expect([...(found?.a ?? [])]).toEqual([1, 3, 7, 9]);
  expect([...(found?.b ?? [])]).toEqual([10, 20, 30, 40]);
  expect([...(found?.change ?? [])]).toEqual([9, 17, 23, 31]);
  expect(found?.most).toBe(31);
  expect(await weightsOf(compared, sources, { layer: 0, head: 1, quantity: "weights" })).toBeNull();
});

test("of two texts columns are the matched tokens of the sources, and pairs and groups end there", async () => {
  const both = {
    ...compared,
    tokens: [[0, 1]] as const,
    keys: [
      [0, 0],
      [2, 1],
    ] as const,
  };
  const sources = { a: sourceOf([1, 2, 3, 4, 5, 6], 3), b: sourceOf([10, 20, 30, 40], 2) };
  const found = await weightsOf(both, sources, { layer: 0, head: 0, quantity: "weights" });
  expect([found?.rows, found?.columns]).toEqual([1, 2]);
  expect([...(found?.a ?? [])]).toEqual([1, 3]);
  expect([...(found?.b ?? [])]).toEqual([30, 40]);
  const chosen = {
    ...DEFAULT_SELECTION,
    token: 0,
    pair: [0, 2] as [number, number],
    group: [2, 1],
  };
  expect(carrySelection(both, chosen, "b")).toMatchObject({ token: 1, pair: [1, 1], group: [1] });
});

test("a change has its sign in its text", () => {
  expect([0.12, -0.12, 0.001, -0.001].map((value) => signed(value))).toEqual([
    "+0.12",
    "−0.12",
    "0",
    "0",
  ]);
});

test("changed words are quoted as the text has them", () => {
  const tokens = {
    surface: ["", "cats", "pu", "rr", "softly", ""],
    before: ["", "", " ", "", " ", ""],
    special: [true, false, false, false, false, true],
  };
  expect(wordsWithout(tokens, new Set([1]))).toBe("purr softly");
  expect(wordsWithout(tokens, new Set([2, 3]))).toBe("cats … softly");
  expect(wordsWithout(tokens, new Set([1, 2, 3, 4]))).toBe("");
});

test("a mark says the sign where a cell has no room for its number", () => {
  const mark = markOf(1);
  expect([mark(0.5, 40), mark(-0.5, 40), mark(0, 40)]).toEqual(["+0.50", "−0.50", null]);
  expect([mark(0.5, 20), mark(-0.5, 20), mark(0.05, 20)]).toEqual(["+", "−", null]);
});

test("sentences are matched by their matched tokens, each one once", () => {
  const tokens = [
    [1, 1],
    [2, 2],
    [4, 6],
    [5, 7],
    [6, 8],
  ] as const;
  const a = [
    [1, 2],
    [4, 5, 6],
  ];
  const b = [[1, 2], [4], [6, 7, 8]];
  expect(matchSentences(tokens, a, b)).toEqual([
    [0, 0],
    [1, 2],
  ]);
});
