import { describe, expect, test } from "vitest";
import { giveWay, isSign, pickLabels, windowOf } from "../src/draw/heatmap/axis";
import { imagePixels } from "../src/draw/heatmap/cells";
import { linksAbove } from "../src/draw/heatmap/flow";
import { constrain, IDENTITY, zoomAt } from "../src/draw/heatmap/panzoom";
import { boundariesOf } from "../src/figures/derive/boundaries";
import { groupGives, groupReceives } from "../src/figures/derive/group";
import {
  dot,
  largest,
  maximum,
  maxPool,
  rankOf,
  received,
  rowOf,
  softmax,
  valueOfRank,
} from "../src/figures/derive/matrix";
import {
  project,
  projectAllowed,
  selectCells,
  sumsOf,
  toggled,
  type Unit,
  unitOfToken,
  unitsOf,
} from "../src/figures/derive/units";
import { largestAbsolute } from "../src/protocol/ties";
import { metaOf } from "./runs";

const close = (actual: ArrayLike<number>, expected: readonly number[]) => {
  expect(actual.length).toBe(expected.length);
  expected.forEach((value, i) => {
    expect(actual[i]!).toBeCloseTo(value, 6);
  });
};

const TOKENS = metaOf(["[CLS]", "em", "##bat", "cat", "[SEP]"]).tokens;
const WORDS = [null, 0, 0, 1, null];
// Rows sum to 1.
const MATRIX = new Float32Array([
  0.2, 0.2, 0.2, 0.2, 0.2, 0.1, 0.2, 0.3, 0.4, 0.0, 0.5, 0.0, 0.1, 0.2, 0.2, 0.0, 0.25, 0.25, 0.25,
  0.25, 1.0, 0.0, 0.0, 0.0, 0.0,
]);

const square = (units: readonly Unit[]) => ({ queries: units, keys: units });

describe("units", () => {
  test("are the tokens themselves, and then the matrix is not even copied", () => {
    const units = unitsOf(TOKENS, { special: true });
    expect(units.map(({ text }) => text)).toEqual(TOKENS.text);
    expect(project(MATRIX, 5, square(units))).toBe(MATRIX);
  });

  test("leave out special tokens without giving their weight to others", () => {
    const units = unitsOf(TOKENS, { special: false });
    expect(units.map(({ token }) => token)).toEqual([1, 2, 3]);
    close(project(MATRIX, 5, square(units)), [0.2, 0.3, 0.4, 0.0, 0.1, 0.2, 0.25, 0.25, 0.25]);
  });

  test("merge pieces of a word: mean over its query rows, sum over its key columns", () => {
    const units = unitsOf(TOKENS, { special: true, tokenWord: WORDS });
    expect(units.map(({ text }) => text)).toEqual(["[CLS]", "embat", "cat", "[SEP]"]);
    const merged = project(MATRIX, 5, square(units));
    // Row "embat": mean of rows 1 and 2; column "embat": sum of columns 1 and 2.
    close(rowOf(merged, 1, 4), [0.3, 0.3, 0.3, 0.1]);
    for (let i = 0; i < 4; i++) {
      expect(rowOf(merged, i, 4).reduce((a, b) => a + b)).toBeCloseTo(1, 6);
    }
  });

  test("have what stands between their pieces, and not what stands before them", () => {
    const tokens = { ...TOKENS, before: ["", "(", "-", " ", ""] };
    const units = unitsOf(tokens, { special: true, tokenWord: WORDS });
    expect(units.map(({ text }) => text)).toEqual(["[CLS]", "em-bat", "cat", "[SEP]"]);
  });

  test("say which of them shows a token", () => {
    const units = unitsOf(TOKENS, { special: false, tokenWord: WORDS });
    expect([0, 1, 2, 3, null].map((token) => unitOfToken(units, token))).toEqual([-1, 0, 0, 1, -1]);
  });

  test("have cells of their own, nothing averaged, and sums over their tokens", () => {
    const single = unitsOf(TOKENS, { special: false });
    close(selectCells(MATRIX, 5, square(single)), [0.2, 0.3, 0.4, 0.0, 0.1, 0.2, 0.25, 0.25, 0.25]);
    expect(selectCells(MATRIX, 5, square(unitsOf(TOKENS, { special: true })))).toBe(MATRIX);
    const words = unitsOf(TOKENS, { special: true, tokenWord: WORDS });
    close(sumsOf(Float32Array.from([1, 2, 3, 4, 5]), words), [1, 5, 4, 5]);
  });

  test("are possible together when any of their cells is", () => {
    const allowed = new Uint8Array(25);
    allowed[2 * 5 + 3] = 1;
    const units = unitsOf(TOKENS, { special: false, tokenWord: WORDS });
    expect([...projectAllowed(allowed, 5, square(units))]).toEqual([0, 1, 0, 0]);
  });
});

describe("a matrix", () => {
  test("gives each key the mean of its column", () => {
    close(received(MATRIX, 5, 5), [0.36, 0.13, 0.17, 0.21, 0.13]);
    const causal = Uint8Array.from(MATRIX, (_, at) => (at % 5 <= Math.floor(at / 5) ? 1 : 0));
    const possible = MATRIX.map((weight, at) => weight * (causal[at] ?? 0));
    // Key 4 is there for one query alone, key 3 for two.
    expect(received(possible, 5, 5, causal)[4]).toBe(possible[24]);
    expect(received(possible, 5, 5, causal)[3]).toBeCloseTo(
      ((possible[18] as number) + (possible[23] as number)) / 2,
      6,
    );
    const group = groupReceives(possible, 5, [3, 4], causal);
    const both = [18, 19, 23, 24].reduce((sum, at) => sum + (possible[at] as number), 0);
    expect(group.received).toBeCloseTo(both / 2, 6);
    expect(received(MATRIX, 5, 5).reduce((a, b) => a + b)).toBeCloseTo(1, 6);
    expect([...received(new Float32Array(0), 0, 2)]).toEqual([0, 0]);
  });

  test("has its maximum and its largest values in order of position", () => {
    expect(maximum(MATRIX)).toBe(1);
    expect(maximum([])).toBe(0);
    expect(largest([0.1, 0.5, 0.5, 0.2], 3)).toEqual([1, 2, 3]);
  });

  test("has a threshold that lets about k links through, never fewer", () => {
    for (const k of [1, 3, 10]) {
      const threshold = valueOfRank(MATRIX, k, 1);
      const passed = MATRIX.filter((value) => value >= threshold).length;
      expect(passed).toBeGreaterThanOrEqual(k);
    }
    expect(MATRIX.filter((value) => value >= valueOfRank(MATRIX, 1, 1))).toHaveLength(1);
    expect(valueOfRank(new Float32Array(4), 1, 0)).toBe(0);
  });

  test("keeps its sharpest cell when it is pooled, wherever that lies", () => {
    for (let cell = 0; cell < 49; cell++) {
      const matrix = new Float32Array(49);
      matrix[cell] = 1;
      const { data, shape } = maxPool(matrix, [7, 7], [3, 3]);
      expect(shape).toEqual([3, 3]);
      expect(maximum(data)).toBe(1);
      expect(data.reduce((a, b) => a + b)).toBe(1);
    }
  });

  test("keeps the value farthest from zero, below it too", () => {
    const matrix = new Float32Array(16).fill(0.1);
    matrix[5] = -3;
    expect([...maxPool(matrix, [4, 4], [2, 2]).data].map((v) => Math.round(v * 10))).toEqual([
      -30, 1, 1, 1,
    ]);
  });

  test("is pooled by its own sides, and the first of two equally far from zero stays", () => {
    const wide = Float32Array.from([1, -1, 2, 0, 3, 0, 0, 0, 0, -2, 0, 4]);
    expect([...maxPool(wide, [2, 6], [1, 3]).data]).toEqual([1, 2, 4]);
    expect([...maxPool(wide, [2, 6], [2, 3]).data]).toEqual([1, 2, 3, 0, -2, 4]);
    expect([...maxPool(Float32Array.of(-2, 1, 3, -1), [1, 4], [1, 2]).data]).toEqual([-2, 3]);
  });

  test("of 512 tokens keeps a single spike at every zoom, and its image is never shrunk", () => {
    const n = 512;
    for (const cell of [0, n - 1, 77 * n + 301, n * n - 1]) {
      const matrix = new Float32Array(n * n);
      matrix[cell] = 1;
      for (const extent of [64, 343.7, 410, 511.5, 512, 900.25]) {
        for (const ratio of [1, 1.25, 2]) {
          const pixels = imagePixels(n, extent, ratio);
          expect(pixels).toBeLessThanOrEqual(extent * ratio);
          const { data } = maxPool(matrix, [n, n], [pixels, pixels]);
          expect(data.filter((value) => value === 1)).toHaveLength(1);
        }
      }
    }
  });

  test("has a largest distance from zero, infinities aside, and ranks in it", () => {
    expect(largestAbsolute(new Float32Array([-Infinity, 1, -4, 2]))).toBe(4);
    expect(largestAbsolute(new Float32Array([-Infinity]))).toBe(0);
    expect([0, 1, 2, 3].map((i) => rankOf([0.1, 0.5, 0.5, 0.2], i))).toEqual([4, 1, 1, 3]);
  });

  test("is not copied when there is room for it", () => {
    expect(maxPool(MATRIX, [5, 5], [5, 9]).data).toBe(MATRIX);
  });
});

describe("a group of tokens", () => {
  test("receives the sum of its columns and gives the mean of its rows", () => {
    const { fromRows, received: mean } = groupReceives(MATRIX, 5, [1, 3]);
    const { given, within } = groupGives(MATRIX, 5, [1, 3]);
    close(fromRows, [0.4, 0.6, 0.2, 0.5, 0]);
    expect(mean).toBeCloseTo((0.4 + 0.6 + 0.2 + 0.5 + 0) / 5, 6);
    close(given, [0.05, 0.225, 0.275, 0.325, 0.125]);
    expect(within).toBeCloseTo((0.6 + 0.5) / 2, 6);
    // Of a rectangle: four queries, five keys.
    close(groupReceives(MATRIX.subarray(0, 20), 5, [4]).fromRows, [0.2, 0, 0.2, 0.25]);
  });

  test("takes a token in, in the order of the text, and lets it go again", () => {
    expect(toggled([1, 7], { token: 3, end: 5 })).toEqual([1, 3, 4, 7]);
    expect(toggled([1, 3, 7], { token: 2, end: 5 })).toEqual([1, 7]);
  });
});

describe("boundaries", () => {
  const meta = metaOf(["[CLS]", "a", ".", "b", "[SEP]", "c", "d", "[SEP]"]);
  const tokens = { ...meta.tokens, segment: [0, 0, 0, 0, 0, 1, 1, 1] };
  const sentences = [null, 0, 0, 1, null, 2, 3, null];

  test("stand where a sentence or a segment begins, and special tokens begin none", () => {
    const units = unitsOf(tokens, { special: true });
    expect(boundariesOf(units, sentences)).toEqual([
      { at: 3, kind: "sentence" },
      { at: 5, kind: "segment" },
      { at: 6, kind: "sentence" },
    ]);
    expect(boundariesOf(units, null)).toEqual([{ at: 5, kind: "segment" }]);
  });

  test("stand behind a token of no sentence, too", () => {
    const units = unitsOf(tokens, { special: false });
    const gap = [null, 0, null, 1, null, 2, 2, null];
    expect(boundariesOf(units, gap).map(({ at }) => at)).toEqual([2, 3]);
  });

  test("move with the units that are shown", () => {
    const units = unitsOf(tokens, { special: false });
    expect(boundariesOf(units, sentences).map(({ at }) => at)).toEqual([2, 3, 4]);
  });
});

describe("softmax", () => {
  test("gives weights, the largest score and the sum of exponentials", () => {
    const { weights, max, sum } = softmax([0, Math.log(2), -Infinity]);
    close(weights, [1 / 3, 2 / 3, 0]);
    expect(max).toBeCloseTo(Math.log(2));
    expect(sum).toBeCloseTo(1.5);
  });

  test("stays exact for scores that overflow on their own", () => {
    close(softmax([1000, 1000]).weights, [0.5, 0.5]);
  });

  test("has the product that scores are made of", () => {
    expect(dot([1, 2, 3], [4, 5, 6])).toBe(32);
  });
});

describe("labels of a crowded axis", () => {
  const track = { start: 0, size: 5, count: 20 };
  const priority = Array.from({ length: 20 }, (_, i) => (i === 7 ? 1 : 0));

  test("never stand closer than the gap, and the weightiest is among them", () => {
    const chosen = pickLabels(track, [0, 100], 12, priority);
    expect(chosen).toContain(7);
    for (let i = 1; i < chosen.length; i++) {
      expect((chosen[i]! - chosen[i - 1]!) * track.size).toBeGreaterThanOrEqual(12);
    }
  });

  test("are all written where they fit, and only inside the window", () => {
    expect(pickLabels({ start: -20, size: 20, count: 5 }, [0, 60], 12, [0, 0, 0, 0, 0])).toEqual([
      1, 2, 3,
    ]);
  });

  test("stand on end if they are words, not signs", () => {
    expect([".", ",", "…", "!?", "+"].map(isSign)).toEqual([true, true, true, true, true]);
    expect(["a", "##s", "[CLS]", "猫", "...", "’s"].map(isSign)).toEqual(Array(6).fill(false));
  });

  test("give way to a highlighted one", () => {
    expect(giveWay([0, 3, 6, 9], [4], track, 12)).toEqual([0, 9]);
  });
});

describe("links", () => {
  test("are those at or above the threshold inside the window, weakest first", () => {
    const found = linksAbove({ values: MATRIX, columns: 5 }, 0.25, [1, 4], [2, 5]);
    expect(found.map(({ query, key }) => MATRIX[query * 5 + key])).toEqual(
      [0.25, 0.25, 0.25, 0.3, 0.4].map(Math.fround),
    );
  });

  test("never include a weight of zero", () => {
    expect(linksAbove({ values: new Float32Array(4), columns: 2 }, 0, [0, 2], [0, 2])).toHaveLength(
      0,
    );
  });

  test("know the rows inside a zoomed window", () => {
    expect(windowOf({ start: -30, size: 10, count: 9 }, 0, 40)).toEqual([3, 7]);
  });
});

describe("pan and zoom", () => {
  const plot = { width: 400, height: 200 };

  test("keep the point under the pointer where it is", () => {
    const { k, x, y } = zoomAt(IDENTITY, 2, [100, 50], plot, 10);
    expect(k).toBe(2);
    expect(x + 100 * k).toBe(100);
    expect(y + 50 * k).toBe(50);
  });

  test("never leave the plot uncovered nor pass the largest zoom", () => {
    expect(constrain({ k: 0.2, x: 50, y: -50 }, plot, 8)).toEqual({ k: 1, x: 0, y: 0 });
    expect(constrain({ k: 2, x: -900, y: 10 }, plot, 8)).toEqual({ k: 2, x: -400, y: 0 });
    expect(constrain({ k: 3, x: -900, y: -900 }, plot, 8)).toEqual({ k: 3, x: -800, y: -400 });
    expect(zoomAt(IDENTITY, 100, [0, 0], plot, 8).k).toBe(8);
  });
});
