/** The rule of openings in the page, against Python's (tests/golden/make_openings.py), and the selection of a typed text. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Opening, openingOf } from "../../../src/features/engine/page/opening/opening";
import { createReopening } from "../../../src/features/engine/page/opening/reopen";
import { wordsOf } from "../../../src/features/engine/page/opening/words";
import type { Meta } from "../../../src/protocol/types";
import { metaOf } from "../../runs";

interface Golden {
  readonly tokens: Meta["tokens"];
  readonly kinds: readonly string[];
  readonly roles: readonly string[];
  readonly opening: Opening;
}

const golden: Golden[] = JSON.parse(
  readFileSync(new URL("../../../../tests/golden/openings.json", import.meta.url), "utf8"),
);
const [LAYERS, HEADS, SHARPNESS] = [2, 4, 6];

/** The weights of Python's generator. */
function weightsOf(n: number): Float32Array {
  let state = n;
  const weights = Float64Array.from({ length: LAYERS * HEADS * n * n }, () => {
    state = (Math.imul(1664525, state) + 1013904223) >>> 0;
    let value = state / 2 ** 32;
    for (let i = 0; i < SHARPNESS; i++) value *= value;
    return value;
  });
  for (let row = 0; row < weights.length; row += n) {
    const sum = weights.subarray(row, row + n).reduce((a, b) => a + b, 0);
    for (let i = row; i < row + n; i++) weights[i]! /= sum;
  }
  return Float32Array.from(weights);
}

describe("the rule", () => {
  test("reads words of many texts as Python does", () => {
    expect(golden.length).toBeGreaterThan(40);
    for (const { tokens, kinds, roles } of golden) {
      const units = wordsOf(tokens);
      const text = tokens.surface.join(" ");
      expect(
        units.map(({ kind }) => kind),
        text,
      ).toEqual(kinds);
      expect(
        units.map(({ role }) => role),
        text,
      ).toEqual(roles);
    }
  });

  test("chooses the link that Python chooses", () => {
    for (const { tokens, opening } of golden) {
      const found = openingOf(weightsOf(tokens.id.length), [LAYERS, HEADS], tokens);
      expect(found, tokens.surface.join(" ")).toEqual(opening);
    }
    expect(golden.filter(({ opening }) => opening.token !== null).length).toBeGreaterThan(30);
    expect(golden.some(({ opening }) => opening.words)).toBe(true);
  });
});

describe("a typed text", () => {
  const runOf = (text: string, opening: Partial<Opening> = {}) => ({
    meta: { ...metaOf(["[CLS]", ...text.split(" "), "[SEP]"]), text },
    opening: { layer: 2, head: 1, token: 3, key: 1, words: false, ...opening },
  });
  const SAVED = { layer: 1, head: 0, token: 2, pair: null, group: [], words: false } as const;
  const first = runOf("the cat sat", { layer: 1, head: 0, token: 2 });

  test("opens anew, as often as it changes", () => {
    const reopen = createReopening(first.meta, SAVED);
    expect(reopen.next(SAVED, first)).toMatchObject({ token: 2, pair: null });
    const next = { ...SAVED, ...reopen.next(SAVED, runOf("the dog ran")) };
    expect(next).toMatchObject({ layer: 2, head: 1, token: 3 });
    reopen.opened(next);
    const again = runOf("the dog ran away", { layer: 0, head: 3, token: null, words: true });
    expect(reopen.next(next, again)).toMatchObject({ layer: 0, head: 3, token: null, words: true });
  });

  test("stays on a head that the reader or the page chose, and near a chosen word", () => {
    const ran = runOf("the dog ran");
    for (const change of [{ layer: 0 }, { head: "mean" as const }, { token: 1 }]) {
      const found = createReopening(first.meta, SAVED).next({ ...SAVED, ...change }, ran);
      expect(found, JSON.stringify(change)).not.toHaveProperty("layer");
    }
    const chosen = createReopening(first.meta, SAVED);
    chosen.next(SAVED, runOf("the cat sat", { layer: 5 }));
    expect(chosen.next(SAVED, ran)).not.toHaveProperty("layer");
  });

  test("leaves words merged where the reader merged them, and masks leave the head", () => {
    const reopen = createReopening(first.meta, SAVED);
    expect(reopen.next({ ...SAVED, words: true }, runOf("the dog ran"))).not.toHaveProperty(
      "words",
    );
    const next = runOf("the dog ran", { layer: 4 });
    expect(reopen.next(SAVED, next)).not.toHaveProperty("layer");
  });
});
