// @vitest-environment jsdom
import { h } from "preact";
import { afterEach, describe, expect, test } from "vitest";
import { rampIndex } from "../src/draw/color/scale";
import { eachOverflow } from "../src/draw/heatmap/cells";
import { chanceOf } from "../src/figures/chance";
import {
  createMatrix,
  type Matrix,
  NO_OVERFLOW,
  overflowOf,
  overflowText,
  topOf,
} from "../src/figures/matrix";
import type { Selection } from "../src/state/selection";
import { createState } from "../src/state/state";
import { Sentence, sentenceOf } from "../src/views/attention/sentence";
import { drawn } from "./drawn";
import { metaOf } from "./runs";

const NO_FACTS = { id: () => 0, tags: () => null, window: () => null };

const TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]"];
const WEIGHTS = [
  [0.6, 0.1, 0.1, 0.1, 0.1],
  [0.5, 0.2, 0.1, 0.1, 0.1],
  [0.1, 0.1, 0.25, 0.3, 0.25],
  [0.3, 0.02, 0.28, 0.1, 0.3],
  [0.9, 0.02, 0.02, 0.02, 0.04],
];

let stop: AbortController;
afterEach(() => stop?.abort());

/** The matrix that a page shows of these weights. */
async function matrixOf(
  rows: readonly (readonly number[])[],
  tokens: readonly string[] = TOKENS,
  selection: Partial<Selection> = {},
): Promise<Matrix> {
  stop = new AbortController();
  const n = tokens.length;
  const data = Float32Array.from(rows.flat());
  const source = {
    meta: metaOf(tokens),
    arrays: new Map(),
    live: false,
    ask: async () => ({ data: {}, arrays: new Map([["weights", { data, shape: [n, n] }]]) }),
  };
  const store = createMatrix(source, createState(selection), {
    report: () => undefined,
    signal: stop.signal,
    busy: () => undefined,
  });
  await new Promise((resolve) => setTimeout(resolve, 0));
  return store.get()!;
}

describe("the ramp of words", () => {
  test("ends at the largest weight of which neither end is special", async () => {
    const matrix = await matrixOf(WEIGHTS);
    expect(topOf(matrix, "words")).toBeCloseTo(0.3);
    for (const scale of ["head", "unit", "sqrt"] as const) {
      expect(topOf(matrix, scale)).toBeCloseTo(0.9);
      expect(overflowOf(matrix, scale)).toEqual(NO_OVERFLOW);
    }
    expect(overflowOf(matrix, "words")).toEqual({ rows: [0, 4], columns: [0, 4] });
    expect(overflowText(matrix, "words")).toBe("beyond: special tokens, at most 0.900");
  });

  test("is the head's own where special tokens are hidden, or never pass it", async () => {
    const hidden = await matrixOf(WEIGHTS, TOKENS, { special: false });
    expect(topOf(hidden, "words")).toBe(hidden.max);
    expect(overflowText(hidden, "words")).toBe("");
    const even = await matrixOf(WEIGHTS.map((row) => row.map(() => 0.2)));
    expect(overflowOf(even, "words")).toEqual(NO_OVERFLOW);
  });

  test("is the head's own where there are not two words, or no weight between them", async () => {
    const alone = await matrixOf(
      [
        [0.9, 0.05, 0.05],
        [0.8, 0.1, 0.1],
        [0.7, 0.1, 0.2],
      ],
      ["[CLS]", "cat", "[SEP]"],
    );
    expect(topOf(alone, "words")).toBeCloseTo(0.9);
    const apart = await matrixOf(WEIGHTS.map(() => [1, 0, 0, 0, 0]));
    expect(topOf(apart, "words")).toBe(1);
    expect(overflowText(apart, "words")).toBe("");
  });

  test("draws what passes it in the last color, each cell hatched once", async () => {
    const matrix = await matrixOf(WEIGHTS);
    const max = topOf(matrix, "words");
    expect(rampIndex(0.9, max, "words")).toBe(255);
    expect(rampIndex(0.1, max, "words")).toBe(85);
    const hatched = new Map<string, number>();
    const beyond = overflowOf(matrix, "words");
    eachOverflow(
      { rows: 5, columns: 5, values: matrix.weights, max, overflow: beyond },
      (row, column, rows, columns) => {
        for (let i = row; i < row + rows; i++) {
          for (let j = column; j < column + columns; j++) {
            hatched.set(`${i} ${j}`, (hatched.get(`${i} ${j}`) ?? 0) + 1);
          }
        }
      },
    );
    const expected = WEIGHTS.flatMap((row, i) =>
      row.flatMap((weight, j) => (weight > 0.3 ? [`${i} ${j}`] : [])),
    );
    expect([...hatched.keys()].sort()).toEqual(expected.sort());
    expect([...hatched.values()].every((count) => count === 1)).toBe(true);
  });
});

const both = (labels: readonly string[]) => ({ queries: labels, keys: labels, written: null });

describe("the sentence", () => {
  test("of a text without two words that differ says that there is nothing to see", async () => {
    const said = async (...words: string[]): Promise<string> => {
      const tokens = ["[CLS]", ...words, "[SEP]"];
      const n = tokens.length;
      const matrix = await matrixOf(
        tokens.map(() => tokens.map(() => 1 / n)),
        tokens,
      );
      const { tokens: columns } = metaOf(tokens);
      const line = h(Sentence, {
        ...{ matrix, focus: 1, labels: both(tokens), facts: NO_FACTS, tokens: columns },
      });
      return drawn(line).textContent ?? "";
    };
    expect(await said("hello")).toMatch(/^This text is a single word/);
    expect(await said("un", "##like", "##ly")).toMatch(/^This text is a single word/);
    expect(await said("dog", "dog", "dog")).toMatch(/^This text repeats one word/);
    expect(await said("of", "the", "to")).toMatch(/^This text has only function words/);
    expect(await said("[UNK]", "[UNK]")).toMatch(/^The model knows no word of this text/);
    expect(await said("?", "!")).toMatch(/^This text has no word/);
    // A mask is worth a look, and so is a text without spaces.
    expect(await said("is", "[MASK]")).toMatch(/^L0 · H0: /);
    expect(await said("我", "喜")).toMatch(/^L0 · H0: /);
  });

  test("counts what a mask forbids, and pieces of a word, in a chance", async () => {
    const matrix = await matrixOf(WEIGHTS);
    const allowed = Uint8Array.from(WEIGHTS.flatMap((row, i) => row.map((_, j) => +(j <= i))));
    const unit = { ...matrix.keys[1]!, token: 1, end: 3 };
    const keys = [matrix.keys[0]!, unit, matrix.keys[3]!, matrix.keys[4]!];
    expect(chanceOf({ ...matrix, allowed }, 2, 1, 5)).toBeCloseTo(1 / 3);
    expect(chanceOf({ ...matrix, keys }, 2, 1, 5)).toBeCloseTo(2 / 5);
    // Special tokens that are not shown have their shares all the same.
    expect(chanceOf({ ...matrix, keys: keys.slice(1, 3) }, 2, 0, 5)).toBeCloseTo(2 / 5);
    expect(chanceOf({ ...matrix, quantity: "norms" }, 2, 1, 5)).toBeNaN();
  });

  const write = (matrix: Matrix, focus: number, labels: readonly string[] = TOKENS): string => {
    const line = drawn(
      h(Sentence, {
        matrix,
        focus,
        labels: both(labels),
        facts: NO_FACTS,
        tokens: metaOf(TOKENS).tokens,
      }),
    );
    return line.hidden ? "hidden" : line.textContent!;
  };

  test("says what the focus word attends to", async () => {
    expect(write(await matrixOf(WEIGHTS), 2)).toBe("L0 · H0: cat attends to sat: 30%, chance 20%");
  });

  test("names what has more where that is a special token or the word itself", async () => {
    const matrix = await matrixOf(WEIGHTS);
    expect(write(matrix, 3)).toBe(
      "L0 · H0: sat attends to cat: 28%, chance 20%; most to [CLS]: 30%",
    );
    const self = await matrixOf(
      WEIGHTS.map((_, i) => WEIGHTS.map((_, j) => (i === j ? 0.8 : 0.05))),
    );
    expect(write(self, 2)).toBe(
      "L0 · H0: cat attends only to itself, 80%; to no other word above chance, 20%",
    );
  });

  test("of rollout says where a position comes from", async () => {
    const rolled = await matrixOf(WEIGHTS, TOKENS, { quantity: "rollout", layer: 1 });
    expect(write(rolled, 2)).toBe("rollout, layers 0–1: cat comes from sat: 0.300");
  });

  test("without a focus tells of the strongest link between two words", async () => {
    const matrix = await matrixOf(WEIGHTS);
    expect(write(matrix, -1)).toBe(
      "L0 · H0: cat attends to sat: 30%, chance 20%, the strongest link between words",
    );
    expect(sentenceOf(matrix, -1)?.link).toEqual([2, 3]);
  });

  test("says which of several tokens of one name is meant", async () => {
    const labels = ["[CLS]", "the", "cat", "cat", "[SEP]"];
    expect(write(await matrixOf(WEIGHTS), 2, labels)).toBe(
      "L0 · H0: cat (1st) attends to cat (2nd): 30%, chance 20%",
    );
    expect(write(await matrixOf(WEIGHTS), 2, labels.with(2, "Cat"))).toContain(": Cat (1st) ");
  });

  test("is not there where there is nothing to say", async () => {
    const apart = await matrixOf(WEIGHTS.map(() => [1, 0, 0, 0, 0]));
    expect(write(apart, -1)).toBe(
      "L0 · H0: “the” attends to [CLS]: 100%, chance 20%, the strongest link",
    );
    expect(write(apart, 2)).toBe("L0 · H0: cat attends to [CLS]: 100%, chance 20%");
    const even = await matrixOf(WEIGHTS.map(() => [0.2, 0.2, 0.2, 0.2, 0.2]));
    expect(write(even, 2)).toBe("L0 · H0: cat attends to no token above chance, 20%");
    expect(write(await matrixOf([[1]], ["[CLS]"], { special: false }), -1)).toBe("hidden");
  });

  test("keeps hostile tokens text", async () => {
    const labels = ["[CLS]", "<img src=x onerror=alert(1)>", "<script>", "&amp;", "[SEP]"];
    const matrix = await matrixOf(WEIGHTS);
    const line = drawn(
      h(Sentence, {
        matrix,
        focus: 2,
        labels: both(labels),
        facts: NO_FACTS,
        tokens: metaOf(TOKENS).tokens,
      }),
    );
    expect(line.textContent).toContain("<script> attends to &amp;: 30%");
    expect(line.querySelector("img, script")).toBeNull();
  });
});

test("names the window that a row of a long text was read in", async () => {
  const facts = { ...NO_FACTS, window: (token: number) => `window ${token + 1} of 9` };
  const matrix = await matrixOf(WEIGHTS);
  const labels = matrix.queries.map(({ text }) => text);
  const line = drawn(
    h(Sentence, { matrix, focus: 2, labels: both(labels), facts, tokens: metaOf(TOKENS).tokens }),
  );
  expect(line.textContent).toContain(", window 3 of 9: ");
});
