import { expect, test } from "vitest";
import {
  type Compared,
  carried,
  carriedHead,
  carrySelection,
  farthest,
  signed,
  weightsOf,
} from "../src/compare/data";
import { wordsWithout } from "../src/compare/difference";
import type { Source } from "../src/protocol/types";
import { DEFAULT_SELECTION } from "../src/state/state";

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
    slice: async () => ({
      data: {},
      arrays: new Map([["weights", { data: Float32Array.from(weights), shape: [n, n] }]]),
    }),
  }) as unknown as Source;

test("a token and a head are carried over to their partners, and back", () => {
  expect(carried(compared, 2, "b")).toBe(1);
  expect(carried(compared, 1, "a")).toBe(2);
  expect(carried(compared, 1, "b")).toBeNull();
  expect(carriedHead(compared, 0, 0, "b")).toEqual({ layer: 1, head: 1 });
  expect(carriedHead(compared, 1, 1, "a")).toEqual({ layer: 0, head: 0 });
  expect(carriedHead(compared, 0, 1, "b")).toBeNull();
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
  const found = await weightsOf(compared, sources, 0, 0);
  expect([...(found?.a ?? [])]).toEqual([1, 3, 7, 9]);
  expect([...(found?.b ?? [])]).toEqual([10, 20, 30, 40]);
  expect(await weightsOf(compared, sources, 0, 1)).toBeNull();
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
