import { describe, expect, test } from "vitest";
import { labelPlace } from "../src/draw/long/minimap";
import { pooledRows } from "../src/draw/long/tile-images";
import { CHUNK_TOKENS, chunksAround, shiftChunks, tokensOf } from "../src/figures/long/chunks";
import { findTag, findText, parseQuery } from "../src/figures/long/find";
import { labelLevel, labelOf, outlineOf, placeLabels, spansIn } from "../src/figures/long/labels";
import { binned, brushed, levelFor, TILE, tileRange, tilesIn } from "../src/figures/long/levels";
import { type LongMatrix, topAt } from "../src/figures/long/store";
import { isLong } from "../src/protocol/meta";
import { DOCUMENT, tokensOfText } from "./long-text";

describe("levels of detail", () => {
  test("rows are pooled as cells are: the largest or the mean of each block", () => {
    const rest = Float32Array.of(0.25, 0.75, 0.5, 0, 1);
    expect([...pooledRows(rest, 1, "max")]).toEqual([0.75, 0.5, 1]);
    expect([...pooledRows(rest, 1, "mean")]).toEqual([0.5, 0.25, 1]);
    expect([...pooledRows(rest, 0, "mean")]).toEqual([...rest]);
  });

  test("a text is long above 1,024 tokens, and a profile never is", () => {
    const of = (n: number) => ({ tokens: { text: new Array(n) }, profile: null });
    expect(isLong(of(1024))).toBe(false);
    expect(isLong(of(1025))).toBe(true);
    expect(isLong({ ...of(2000), profile: {} })).toBe(false);
  });

  test("the level is the finest whose cells have a device pixel each", () => {
    // 8,192 tokens on 512 px: 16 tokens a pixel.
    expect(levelFor(512 / 8192, 5)).toBe(4);
    expect(levelFor(1024 / 8192, 5)).toBe(3);
    expect(levelFor(1, 5)).toBe(0);
    expect(levelFor(0.51, 5)).toBe(1);
    expect(levelFor(0.49, 5)).toBe(2);
    expect(levelFor(40, 5)).toBe(0);
    expect(levelFor(1e-9, 5)).toBe(5);
    expect(levelFor(0, 3)).toBe(3);
  });

  test.each([1025, 2048, 5000, 8192])("tiles of %i tokens cover every window, and no more", (n) => {
    for (let level = 0; level <= 5; level++) {
      const side = TILE * 2 ** level;
      for (const window of [
        [0, n],
        [0, 1],
        [n - 1, n],
        [n / 3, n / 2],
      ] as const) {
        const [first, end] = tileRange(window, level, n);
        expect(first * side).toBeLessThanOrEqual(window[0]);
        expect(end * side).toBeGreaterThanOrEqual(Math.min(window[1], n));
        expect((end - 1) * side).toBeLessThan(n);
        expect(end - first).toBeLessThanOrEqual((window[1] - window[0]) / side + 2);
      }
    }
  });

  test("a window at the end of a text lies in its last tile", () => {
    expect(tileRange([2 * TILE, 2 * TILE], 0, 2 * TILE)).toEqual([1, 2]);
  });

  test("tiles nearest to the middle come first", () => {
    const found = tilesIn([0, 768], [0, 768], 0, { rows: 4096, columns: 4096 });
    expect(found).toHaveLength(9);
    expect(found[0]).toEqual({ level: 0, row: 1, col: 1 });
    // A rectangle has fewer tiles down than across.
    expect(tilesIn([0, 768], [0, 768], 0, { rows: 300, columns: 4096 })).toHaveLength(6);
  });

  test("bins keep the largest value wherever it lies", () => {
    const values = new Float32Array(8192);
    values[8191] = 0.5;
    values[4000] = 0.25;
    values[4001] = Number.NaN;
    const bins = binned(values, 100);
    expect(bins[99]).toBe(0.5);
    expect(Math.max(...bins.subarray(0, 60))).toBe(0.25);
  });

  test("a brush stays inside of the text and is never too narrow", () => {
    expect(brushed(10, 10.5, 1000, 16)).toEqual([2.25, 18.25]);
    expect(brushed(-50, -10, 1000, 16)).toEqual([0, 16]);
    expect(brushed(1200, 990, 1000, 16)).toEqual([984, 1000]);
    expect(brushed(300, 100, 1000, 16)).toEqual([100, 300]);
    expect(brushed(0, 5, 10, 16)).toEqual([0, 10]);
  });

  test("means have a ramp of each level's own", () => {
    const matrix = {
      largest: 0.8,
      wordMax: 0.5,
      meanLargest: new Map([
        [3, 0.05],
        [4, 0.02],
      ]),
    } as unknown as LongMatrix;
    expect(topAt(matrix, "max", 4, "words")).toBe(0.5);
    expect(topAt(matrix, "mean", 0, "head")).toBe(0.8);
    expect(topAt(matrix, "mean", 4, "words")).toBe(0.02);
    const between = topAt(matrix, "mean", 1, "words");
    expect(between).toBeLessThan(0.5);
    expect(between).toBeGreaterThan(topAt(matrix, "mean", 2, "words"));
  });
});

describe("labels at every level", () => {
  const outline = outlineOf(DOCUMENT);

  test("words, sentences and paragraphs are found by what stands between the tokens", () => {
    const texts = (spans: readonly { from: number; to: number }[]) =>
      spans.map((span) => labelOf(DOCUMENT, span));
    expect(texts(outline.words).slice(1, 8)).toEqual([
      "Cats",
      "The",
      "cat",
      "sat.",
      "It",
      "purred.",
      "Dogs",
    ]);
    expect(texts(outline.sentences)).toEqual([
      "[CLS]",
      "Cats",
      "The cat sat.",
      "It purred.",
      "Dogs bark!",
      "[SEP]",
    ]);
    expect(texts(outline.paragraphs)).toEqual([
      "[CLS]",
      "Cats",
      "The cat sat. It purred.",
      "Dogs bark!",
      "[SEP]",
    ]);
  });

  test("a short paragraph without a full stop is a heading", () => {
    expect(outline.paragraphs.map(({ rank }) => rank)).toEqual([0, 1, 0, 0, 0]);
  });

  test("sentences are those of the kernel where it has them", () => {
    const found = outlineOf(DOCUMENT, [null, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, null]);
    expect(found.sentences.map((span) => labelOf(DOCUMENT, span))[2]).toBe(
      "The cat sat. It purred.",
    );
  });

  test("the finest level whose labels fit is written", () => {
    const lengths = { tokens: 1, words: 1.5, sentences: 20, paragraphs: 120 };
    expect(labelLevel({ lengths }, 14, 13)).toBe("tokens");
    expect(labelLevel({ lengths }, 10, 13)).toBe("words");
    expect(labelLevel({ lengths }, 2, 13)).toBe("sentences");
    expect(labelLevel({ lengths }, 0.1, 13)).toBe("paragraphs");
    expect(outlineOf(tokensOfText([])).lengths.words).toBe(Number.POSITIVE_INFINITY);
  });

  test("a short label stands in the middle of its span, a long one at its beginning", () => {
    const at = (to: number) =>
      placeLabels([{ from: 0, to, rank: 0 }], (token) => token, [0, 100], 10)[0]?.at;
    expect([at(15), at(20)]).toEqual([7.5, 5]);
  });

  test("labels on both sides of a slot's edge do not overlap either", () => {
    const spans = [
      { from: 8, to: 10, rank: 1 },
      { from: 10, to: 12, rank: 0 },
    ];
    const placed = placeLabels(spans, (token) => token, [0, 100], 10);
    expect(placed.map(({ from }) => from)).toEqual([8]);
  });

  test("a heading has at most 16 tokens", () => {
    const of = (n: number) =>
      outlineOf(tokensOfText(Array.from({ length: n }, () => [" ", "a"] as const)));
    expect([of(16), of(17)].map(({ paragraphs }) => paragraphs[0]?.rank)).toEqual([1, 0]);
  });

  test("a heading is one also where its label is cut", () => {
    const of = (last: string) =>
      outlineOf(
        tokensOfText([
          ...Array.from({ length: 8 }, () => [" ", "remarkably"] as const),
          ["", last],
        ]),
      );
    expect(["", "!"].map((last) => of(last).paragraphs[0]?.rank)).toEqual([1, 0]);
  });

  test("a span that ends where a range begins is not in it", () => {
    const spans = [
      { from: 0, to: 5, rank: 0 },
      { from: 5, to: 9, rank: 0 },
    ];
    expect(spansIn(spans, [5, 6])).toEqual([spans[1]]);
    expect(spansIn(spans, [4, 5])).toEqual([spans[0]]);
  });

  test("a label says that tokens were left out, however short their text", () => {
    const letters = tokensOfText(Array.from({ length: 49 }, () => ["", "a"] as const));
    expect(labelOf(letters, { from: 0, to: 48 })).toBe("a".repeat(48));
    expect(labelOf(letters, { from: 0, to: 49 })).toBe(`${"a".repeat(48)}…`);
  });

  test("labels never overlap, and a heading goes before what is longer", () => {
    const spans = [
      { from: 0, to: 4, rank: 1 },
      { from: 4, to: 400, rank: 0 },
      { from: 400, to: 404, rank: 1 },
    ];
    const placed = placeLabels(spans, (token) => token * 0.5, [0, 300], 13);
    for (let i = 1; i < placed.length; i++) {
      expect(placed[i]!.at - placed[i - 1]!.at).toBeGreaterThanOrEqual(13);
    }
    expect(placed.map(({ from }) => from)).toContain(0);
    expect(placed.map(({ from }) => from)).toContain(400);
  });

  test("a span that the window cuts is labelled inside of it", () => {
    const [label] = placeLabels(
      [{ from: 0, to: 1000, rank: 0 }],
      (token) => (token - 500) * 2,
      [0, 300],
      13,
    );
    expect(label!.at).toBeGreaterThanOrEqual(0);
    expect(label!.at).toBeLessThan(20);
  });

  test("spans in a range are found from 8,000 of them", () => {
    const spans = Array.from({ length: 8000 }, (_, i) => ({ from: i, to: i + 1, rank: 0 }));
    expect(spansIn(spans, [100.5, 103]).map(({ from }) => from)).toEqual([100, 101, 102]);
    expect(spansIn(spans, [7999.5, 9000])).toHaveLength(1);
  });

  test.each([
    ["one word repeated", Array.from({ length: 8000 }, () => [" ", "the"] as const)],
    ["line breaks alone", Array.from({ length: 8000 }, () => ["\n", "\n"] as const)],
    ["no spaces", Array.from({ length: 8000 }, () => ["", "ab"] as const)],
  ])("a document of %s has labels that fit", (_, parts) => {
    const tokens = tokensOfText(parts);
    const found = outlineOf(tokens);
    for (const pixels of [0.05, 1, 14]) {
      const level = labelLevel(found, pixels, 13);
      const spans = level === "tokens" ? found.words : found[level];
      const placed = placeLabels(spans, (token) => token * pixels, [0, 400], 13);
      expect(placed.length).toBeLessThanOrEqual(32);
      for (const label of placed) expect(labelOf(tokens, label).length).toBeLessThanOrEqual(60);
    }
  });
});

describe("the find box", () => {
  const bounds = { layers: 22, heads: 12, tokens: 100 };
  test.each([
    ["L3 H5", { kind: "head", layer: 3, head: 5 }],
    ["l3h5", { kind: "head", layer: 3, head: 5 }],
    ["L0 mean", { kind: "head", layer: 0, head: "mean" }],
    ["weight > 0.3", { kind: "weight", least: 0.3 }],
    ["weight>=.3", { kind: "weight", least: 0.3 }],
    ["NOUN", { kind: "pos", tag: "NOUN" }],
    ["pos:noun", { kind: "pos", tag: "NOUN" }],
    ["noun", { kind: "text", text: "noun" }],
    ["#12", { kind: "token", token: 12 }],
    ["  ", { kind: "none" }],
    ["L3 is a lens", { kind: "text", text: "L3 is a lens" }],
  ])("understands %s", (typed, expected) => {
    expect(parseQuery(typed, bounds)).toEqual(expected);
  });

  test.each([
    ["L22 H0", /0 to 21/],
    ["L0 H12", /0 to 11/],
    ["weight > much", /a number/],
    ["weight >", /a number/],
    ["#100", /0 to 99/],
  ])("says in words what is wrong with %s", (typed, reason) => {
    const found = parseQuery(typed, bounds);
    expect(found.kind).toBe("wrong");
    expect(found.kind === "wrong" && found.reason).toMatch(reason);
  });

  test("a text is found across tokens, in any case, and a match knows its tokens", () => {
    expect(findText(DOCUMENT, "purred")).toEqual([[7, 9]]);
    expect(findText(DOCUMENT, "CAT")).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(findText(DOCUMENT, "cat sat")).toEqual([[3, 5]]);
    expect(findText(DOCUMENT, "sat. It")).toEqual([[4, 7]]);
    expect(findText(DOCUMENT, "horse")).toEqual([]);
    expect(findText(DOCUMENT, "")).toEqual([]);
    expect(findText(DOCUMENT, "CLS")).toEqual([]);
  });

  test("a text is found at the beginning, whatever its white space, as often as asked, across no special token", () => {
    const letters = tokensOfText([
      ["", "a"],
      [" ", "b"],
      [" ", "a"],
    ]);
    expect(findText(letters, "a \n b")).toEqual([[0, 2]]);
    expect(findText(letters, "a", 1)).toEqual([[0, 1]]);
    expect(findText({ ...letters, special: [false, true, false] }, "a a")).toEqual([]);
  });

  test("tags are found by token", () => {
    expect(findTag([null, "NOUN", "DET", "NOUN"], "NOUN")).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });
});

describe("the ribbon's chunks", () => {
  test.each([1, 127, 128, 1025, 8192])("every token of %i lies in the chunks around it", (n) => {
    for (const token of [0, Math.floor(n / 2), n - 1]) {
      const [first, end] = chunksAround(token, n);
      expect(tokensOf(first, n)[0]).toBeLessThanOrEqual(token);
      expect(tokensOf(end - 1, n)[1]).toBeGreaterThan(token);
      expect((end - first) * CHUNK_TOKENS).toBeLessThanOrEqual(5 * CHUNK_TOKENS);
    }
  });

  test("scrolling shifts them by one, and not past the ends", () => {
    expect(shiftChunks([0, 5], -1, 8192)).toEqual([0, 5]);
    expect(shiftChunks([0, 5], 1, 8192)).toEqual([1, 6]);
    expect(shiftChunks([59, 64], 1, 8192)).toEqual([59, 64]);
  });
});

describe("the name of a lane", () => {
  test("stands where neither the window nor the line of the focus is", () => {
    expect(labelPlace([200, 240], 50, 600, null)).toBe(0);
    expect(labelPlace([10, 40], 50, 600, null)).toBe(550);
    expect(labelPlace([200, 240], 50, 600, 20)).toBe(550);
    expect(labelPlace([10, 40], 50, 600, 580)).toBe(10);
    expect(labelPlace([0, 600], 50, 600, 300)).toBe(0);
    expect(labelPlace([0, 600], 50, 600, 30)).toBe(32);
  });
});
