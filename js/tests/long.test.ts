import { describe, expect, test, vi } from "vitest";
import { linksInView } from "../src/draw/long/long-flow";
import { type InfluenceTree, influenceTree, type TreeNode } from "../src/figures/derive/tree";
import { CHUNK_TOKENS, chunksAround, shiftChunks, tokensOf } from "../src/figures/long/chunks";
import { findTag, findText, parseQuery } from "../src/figures/long/find";
import {
  labelLevel,
  labelOf,
  lengthsOf,
  outlineOf,
  placeLabels,
  spansIn,
} from "../src/figures/long/labels";
import {
  binned,
  brushed,
  isLong,
  levelFor,
  TILE,
  tileRange,
  tilesIn,
} from "../src/figures/long/levels";
import { coarsestOf, pooledTile, pooledWhole, strongestLinks } from "../src/figures/long/local";
import { linkOf, strongestOf } from "../src/figures/long/pair";
import { type LongMatrix, longStore, topAt } from "../src/figures/long/store";
import { SliceFailure } from "../src/protocol/failure";
import type { NdArray, Slice, TokenColumns } from "../src/protocol/types";
import { moveBlock, nextStrongest } from "../src/views/attention/long/keys";
import { matrixOf, reach } from "../src/views/tree/long";
import { fakeRun } from "./fake";
import { metaOf } from "./runs";

/** Words apart by what stands before them; `[...]` is special. */
function tokensOfText(parts: readonly (readonly [before: string, text: string])[]): TokenColumns {
  return {
    text: parts.map(([, text]) => text),
    surface: parts.map(([, text]) => (text.startsWith("[") ? "" : text)),
    before: parts.map(([before]) => before),
    id: parts.map((_, i) => i),
    start: parts.map(() => 0),
    end: parts.map(() => 0),
    segment: parts.map(() => 0),
    special: parts.map(([, text]) => text.startsWith("[")),
  };
}

const DOCUMENT = tokensOfText([
  ["", "[CLS]"],
  ["", "Cats"],
  ["\n\n", "The"],
  [" ", "cat"],
  [" ", "sat"],
  ["", "."],
  [" ", "It"],
  [" ", "pur"],
  ["", "red"],
  ["", "."],
  ["\n", "Dogs"],
  [" ", "bark"],
  ["", "!"],
  ["", "[SEP]"],
]);

describe("levels of detail", () => {
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

  test("tiles nearest to the middle come first", () => {
    const found = tilesIn([0, 768], [0, 768], 0, 4096);
    expect(found).toHaveLength(9);
    expect(found[0]).toEqual({ level: 0, row: 1, col: 1 });
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
    expect(labelLevel(lengths, 14, 13)).toBe("tokens");
    expect(labelLevel(lengths, 10, 13)).toBe("words");
    expect(labelLevel(lengths, 2, 13)).toBe("sentences");
    expect(labelLevel(lengths, 0.1, 13)).toBe("paragraphs");
    expect(lengthsOf(outlineOf(tokensOfText([]))).words).toBe(Number.POSITIVE_INFINITY);
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
      const level = labelLevel(lengthsOf(found), pixels, 13);
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
    expect(findText(DOCUMENT, "CLS")).toEqual([]);
  });

  test("tags are found by token", () => {
    expect(findTag([null, "NOUN", "DET", "NOUN"], "NOUN")).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });
});

describe("rows and pairs", () => {
  test("the strongest of a row, as sorting finds them; NaN is no weight", () => {
    const row = Float32Array.from({ length: 500 }, (_, i) => ((i * 7919) % 499) / 499);
    row[3] = Number.NaN;
    const sorted = [...row.keys()]
      .filter((i) => !Number.isNaN(row[i]!))
      .sort((a, b) => row[b]! - row[a]! || a - b);
    expect(strongestOf(row, 12)).toEqual(sorted.slice(0, 12));
    expect(strongestOf(Float32Array.of(0.5, 0.5, 0.5), 2)).toEqual([0, 1]);
  });

  test("the chain of a pair closes: exp of the score over its sum is the weight", () => {
    const scores = Float32Array.of(1, 2, Number.NEGATIVE_INFINITY, 0);
    const sum = Math.E + Math.E ** 2 + 1;
    const weights = Float32Array.of(Math.E / sum, Math.E ** 2 / sum, Number.NaN, 1 / sum);
    const link = linkOf(1, {
      weights,
      scores,
      q: Float32Array.of(1, 2),
      k: Float32Array.of(2, 1),
      scaling: 0.5,
      absent: null,
      pending: false,
      error: 0,
      scoreError: 0,
    });
    expect(link.exponential! / link.sum!).toBeCloseTo(link.weight, 6);
    expect(link.product! * link.scaling!).toBe(2);
    expect([link.rank, link.score]).toEqual([1, 2]);
  });

  test("m goes from the strongest key to the next, and round", () => {
    const row = { token: 4, values: Float32Array.of(0.1, 0.5, 0.3, Number.NaN, 0.1) };
    expect(nextStrongest(row, null, false)).toBe(1);
    expect(nextStrongest(row, 1, false)).toBe(2);
    expect(nextStrongest(row, 1, true)).toBe(4);
    expect(nextStrongest(row, 4, false)).toBe(1);
    expect(nextStrongest({ token: 0, values: Float32Array.of(Number.NaN) }, null, false)).toBe(
      null,
    );
  });

  test("arrows move by the block that is drawn, and stop at the edges", () => {
    expect(moveBlock("ArrowRight", { row: 0, column: 8 }, 100, 8)).toEqual({ row: 0, column: 16 });
    expect(moveBlock("ArrowUp", { row: 4, column: 8 }, 100, 8)).toEqual({ row: 0, column: 8 });
    expect(moveBlock("End", { row: 4, column: 8 }, 100, 8)).toEqual({ row: 4, column: 99 });
    expect(moveBlock("q", { row: 4, column: 8 }, 100, 8)).toBe(null);
  });

  test("only links in view are drawn; those of the focus that leave it are told apart", () => {
    const links = [
      { query: 5, key: 6, weight: 0.2 },
      { query: 5, key: 6, weight: 0.2 },
      { query: 5, key: 900, weight: 0.9 },
      { query: 7, key: 900, weight: 0.9 },
      { query: 800, key: 6, weight: 0.9 },
      { query: 6, key: 5, weight: 0.1 },
    ];
    const view = { rows: [0, 100], columns: [0, 100] } as const;
    const { inside, leaving } = linksInView(links, view, 5);
    expect(inside.map(({ weight }) => weight)).toEqual([0.1, 0.2]);
    expect(leaving).toEqual([{ query: 5, key: 900, weight: 0.9 }]);
  });
});

describe("levels of detail in a saved page", () => {
  const n = 700;
  const cells = Float32Array.from({ length: n * n }, (_, i) => ((i * 7919) % 10007) / 10007);
  for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) cells[i * n + j] = Number.NaN;

  test("a tile has the largest and the mean of every block", async () => {
    expect(coarsestOf(n)).toBe(2);
    expect([coarsestOf(256), coarsestOf(257), coarsestOf(8192)]).toEqual([0, 1, 5]);
    const place = { level: 2, row: 0, col: 0 };
    const most = await pooledTile(cells, n, place, "max");
    expect([most.rows, most.columns]).toEqual([175, 175]);
    const block = [0, 1, 2, 3].flatMap((r) =>
      [0, 1, 2, 3].flatMap((c) => (c <= r ? [cells[(40 + r) * n + 40 + c]!] : [])),
    );
    expect(most.data[10 * 175 + 10]).toBe(Math.max(...block));
    const mean = (await pooledTile(cells, n, place, "mean")).data[10 * 175 + 10]!;
    expect(mean).toBeCloseTo(block.reduce((a, b) => a + b) / block.length, 6);
    expect(most.data[10 * 175 + 11]).toBeNaN();
    const fine = await pooledTile(cells, n, { level: 0, row: 2, col: 1 }, "max");
    expect([fine.rows, fine.columns]).toEqual([188, 256]);
    expect(fine.data[0]).toBe(cells[512 * n + 256]);
  });

  test("links are those that sorting finds", async () => {
    const special = Array.from({ length: n }, (_, i) => i === 0 || i === n - 1);
    const choice = { count: 25, special: false, neighbors: false, itself: false };
    const found = await strongestLinks(cells, n, special, choice);
    const all = [...cells.keys()].filter((at) => {
      const [i, j] = [Math.floor(at / n), at % n];
      return !Number.isNaN(cells[at]!) && !special[i] && !special[j] && Math.abs(i - j) > 1;
    });
    all.sort((a, b) => cells[b]! - cells[a]! || a - b);
    expect([...found.queries].map((q, i) => q * n + found.keys[i]!)).toEqual(all.slice(0, 25));
    expect(found.total).toBe(all.length);
  });
});

test.each([
  [1100, 3],
  [515, 2],
])("%i tokens: one walk gives both poolings to the bit", async (n, level) => {
  const cells = Float32Array.from({ length: n * n }, (_, i) =>
    i % 7 === 0 || i < 20 * n ? Number.NaN : Math.sin(i),
  );
  const whole = await pooledWhole(cells, n, level);
  for (const how of ["max", "mean"] as const) {
    expect(whole[how]).toEqual(await pooledTile(cells, n, { level, row: 0, col: 0 }, how));
  }
});

describe("the tree of a long text", () => {
  const n = 40;
  const row = (token: number) =>
    Float32Array.from({ length: n }, (_, key) => ((token * 31 + key * 17) % 41) / 41);

  test("grown from the rows in reach it is the tree of the whole matrix", async () => {
    const whole = new Float32Array(n * n);
    for (let i = 0; i < n; i++) whole.set(row(i), i * n);
    for (const [keys, depth] of [
      [3, 3],
      [2, 4],
      [1, 1],
    ] as const) {
      const found = await reach(5, { keys, depth, most: 1000 }, async (token) => row(token));
      const small = matrixOf(
        { layer: 0, head: 0, quantity: "weights", largest: 1, wordMax: 1 } as unknown as LongMatrix,
        found,
        tokensOfText(Array.from({ length: n }, (_, i) => [" ", `t${i}`] as const)),
      );
      const named = (
        tree: InfluenceTree,
        node: TreeNode,
        token: (unit: number) => number,
      ): unknown => [
        token(node.unit),
        tree.childrenOf(node).map((child) => named(tree, child, token)),
      ];
      const of = (
        matrix: { weights: Float32Array; size: number; allowed: Uint8Array | null },
        at: number,
      ) => influenceTree(matrix, at, { topK: keys, depth });
      const [reached, all] = [
        of(small, small.unitOf(5)),
        of({ weights: whole, size: n, allowed: null }, 5),
      ];
      expect(named(reached, reached.root, (unit) => small.units[unit]!.token)).toEqual(
        named(all, all.root, (unit) => unit),
      );
    }
  });

  test("no more rows are asked for than it may", async () => {
    let asked = 0;
    await reach(0, { keys: 10, depth: 6, most: 20 }, async (token) => {
      asked++;
      return row(token);
    });
    expect(asked).toBe(20);
  });
});

describe("the store of a long text", () => {
  const n = 1100;
  const meta = metaOf(Array.from({ length: n }, (_, i) => `t${i}`));
  const f32 = (data: Float32Array, ...shape: number[]) => ({ data, shape });
  const pyramid = (layer: number): Slice => ({
    data: {
      coarsest: 3,
      largest: 0.9,
      smallest: 0,
      word_max: 0.5,
      masked: true,
      mean_largest: { 3: 0.1 },
    },
    arrays: new Map([
      ["max", f32(new Float32Array(138 * 138).fill(layer), 138, 138)],
      ["mean", f32(new Float32Array(138 * 138), 138, 138)],
      ["received", f32(new Float32Array(n), n)],
    ]),
  });
  const made = () => {
    const fake = fakeRun(meta, (request) => {
      if (request.kind === "pyramid") {
        if (request.quantity === "rollout") throw new SliceFailure("Rollout is N/A.");
        return pyramid(request.layer);
      }
      if (request.kind === "weights") {
        const allowed = new Uint8Array(n).fill(1);
        allowed[7] = 0;
        return {
          data: {},
          arrays: new Map<string, NdArray>([
            ["weights", f32(new Float32Array(n).fill(0.25), 1, n)],
            ["allowed", { data: allowed, shape: [1, n] }],
          ]),
        };
      }
      return { data: {}, arrays: new Map([["tile", f32(new Float32Array(4), 2, 2)]]) };
    });
    return { fake, store: longStore(fake.source, fake.state, fake.context) };
  };

  test("never asks for more of a head than a tile or a row", async () => {
    const { fake, store } = made();
    await vi.waitFor(() => expect(store.get()).not.toBe(null));
    const matrix = store.get()!;
    const { signal } = fake.context;
    const row = await store.row(matrix, 5, signal);
    expect(row.values[7]).toBeNaN();
    expect(row.values[8]).toBe(0.25);
    await store.tile(matrix, { level: 3, row: 0, col: 0 }, "mean", signal);
    await store.tile(matrix, { level: 0, row: 1, col: 2 }, "mean", signal);
    expect(fake.asked).toEqual([
      { kind: "pyramid", quantity: "weights", layer: 0, head: 0 },
      { kind: "weights", layer: 0, head: 0, rows: [5, 6] },
      {
        kind: "tile",
        quantity: "weights",
        layer: 0,
        head: 0,
        level: 0,
        row: 1,
        col: 2,
        pooling: "max",
      },
    ]);
    fake.stop();
  });

  test("a quantity that is refused leaves the last picture, and the selection says so", async () => {
    const { fake, store } = made();
    await vi.waitFor(() => expect(store.get()).not.toBe(null));
    fake.state.set({ quantity: "rollout" });
    await vi.waitFor(() => expect(fake.reports).toEqual(["Rollout is N/A."]));
    expect(fake.state.get().quantity).toBe("weights");
    expect(store.get()!.quantity).toBe("weights");
    fake.stop();
  });

  test("another layer is told to all that listen", async () => {
    const { fake, store } = made();
    const seen: number[] = [];
    store.on(({ layer }) => seen.push(layer));
    await vi.waitFor(() => expect(seen).toEqual([0]));
    fake.state.set({ layer: 1 });
    await vi.waitFor(() => expect(seen).toEqual([0, 1]));
    fake.stop();
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
