/** The rule of openings in the page, against Python's (tests/golden/make_openings.py), and the selection of a typed text. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Opening, openingOf } from "../../../src/features/engine/page/opening/opening";
import { createReopening } from "../../../src/features/engine/page/opening/reopen";
import { wordsOf } from "../../../src/features/engine/page/opening/words";
import type { Meta } from "../../../src/protocol/types";
import type { Selection } from "../../../src/state/selection";
import { createState, fit } from "../../../src/state/state";
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

const TINY = metaOf([]).model;

function runOf(text: string, opening: Partial<Opening> = {}) {
  const meta = metaOf(["[CLS]", ...text.split(" "), "[SEP]"]);
  return {
    meta: { ...meta, text, model: { ...TINY, n_layers: 6, n_heads: 4 } },
    opening: { layer: 2, head: 1, token: 3, key: 1, words: false, ...opening },
  };
}
type Run = ReturnType<typeof runOf>;

/** The first run: the saved text again. */
const FIRST = runOf("the cat sat", { layer: 1, head: 0, token: 2 });

/** A page that has been saved with the run of `FIRST`, which opened by itself or with another selection. */
function openPage(saved: Partial<Selection> = {}) {
  const state = createState({ layer: 1, head: 0, token: 2, ...saved });
  // As by a page with an address.
  state.set(state.get());
  const reopen = createReopening({ ...FIRST.meta }, state);
  return {
    state,
    /** Show a run as the page does; gives what is selected then. */
    show(run: Run) {
      const next = reopen.next(run);
      state.set({ ...next, ...fit({ ...state.get(), ...next }, run.meta) });
      reopen.opened();
      const { layer, head, token, words } = state.get();
      return { layer, head, token, words };
    },
  };
}

describe("a typed text", () => {
  test("opens anew, as often as it changes", () => {
    const { show } = openPage();
    expect(show(FIRST)).toMatchObject({ layer: 1, head: 0, token: 2 });
    expect(show(runOf("the dog ran"))).toMatchObject({ layer: 2, head: 1, token: 3 });
    const again = { layer: 0, head: 3, token: null, words: true };
    expect(show(runOf("the dog ran away", again))).toEqual(again);
    expect(show(runOf("the dog"))).toMatchObject({ layer: 2, head: 1, words: false });
  });

  test("opens anew where it is run instead of the saved one", () => {
    expect(openPage().show(runOf("the dog ran"))).toMatchObject({ layer: 2, head: 1 });
  });

  test("stays near a chosen word, and on the head that it is read by", () => {
    for (const change of [{ token: 1 }, { pair: [1, 2] as const }, { group: [1] }]) {
      const { state, show } = openPage();
      state.set(change);
      for (const text of ["the dog ran", "the dog ran away"])
        expect(show(runOf(text)), JSON.stringify(change)).toMatchObject({ layer: 1, head: 0 });
    }
  });

  test("leaves words merged, or not, as the reader chose, for all further keys", () => {
    for (const words of [true, false]) {
      const { state, show } = openPage();
      state.set({ words: !words });
      state.set({ words });
      for (const [text, opens] of [
        ["the dog", words],
        ["the dog ran", !words],
        ["the dog ran away", true],
      ] as const)
        expect(show(runOf(text, { words: opens })).words, text).toBe(words);
      expect(state.get()).toMatchObject({ layer: 2, head: 1 });
    }
  });

  test("is not opened by another run of the same, with masks or without a head, which chooses nothing", () => {
    const { show } = openPage();
    show(FIRST);
    expect(show(runOf("the cat sat", { layer: 5 }))).toMatchObject({ layer: 1, head: 0 });
    expect(show(runOf("the dog ran"))).toMatchObject({ layer: 2, head: 1 });
  });
});

describe("a head stands for all further keys", () => {
  const RUNS = [
    FIRST,
    ...["the dog", "the dog ran", "the dog ran away"].map((text, i) =>
      runOf(text, { layer: 2 + i }),
    ),
  ];
  const BY_ITSELF = [
    [1, 0],
    [2, 1],
    [3, 1],
    [4, 1],
  ];
  const CHOICES: Readonly<Record<string, (now: Selection) => Partial<Selection>[]>> = {
    "another one": () => [{ layer: 0, head: 3 }],
    "the mean": () => [{ head: "mean" }],
    "another layer": () => [{ layer: 5 }],
    "the one that is there": ({ layer, head }) => [{ layer, head }],
    "one to which the reader comes back": ({ layer, head }) => [
      { layer: 0, head: 2 },
      { layer, head },
    ],
  };
  const MOMENTS = ["while the page opens", "in the first key's run", "after it", "in the last one"];

  for (const [name, choose] of Object.entries(CHOICES))
    test.each(MOMENTS.map((moment, i) => [moment, i] as const))(`${name}, %s`, (_, before) => {
      const { state, show } = openPage();
      const place = () => [state.get().layer, state.get().head];
      let chosen: unknown[] = [];
      const seen = RUNS.map((run, i) => {
        if (i === before) {
          for (const change of choose(state.get())) state.set(change);
          chosen = place();
        }
        show(run);
        return place();
      });
      expect(seen).toEqual(BY_ITSELF.map((own, i) => (i < before ? own : chosen)));
    });

  test("that a text opened on just when the reader chose it", () => {
    const { state, show } = openPage();
    show(runOf("the dog", { layer: 2, head: 3 }));
    state.set({ layer: 2, head: 3 });
    expect(show(runOf("the dog ran", { layer: 0 }))).toMatchObject({ layer: 2, head: 3 });
  });

  test("that the page was saved with", () => {
    const { show } = openPage({ layer: 4, head: 2 });
    for (const run of RUNS) expect(show(run)).toMatchObject({ layer: 4, head: 2 });
  });
});
