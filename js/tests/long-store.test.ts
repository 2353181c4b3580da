/** Rows, pairs and tiles of a long text, its tree and its store. */

import { describe, expect, test, vi } from "vitest";
import { linksInView } from "../src/draw/long/long-flow";
import { type InfluenceTree, influenceTree, type TreeNode } from "../src/features/tree/influence";
import { matrixOf, reach } from "../src/features/tree/long";
import { strongestOf } from "../src/figures/derive/matrix";
import { linkOf, pairMatrix } from "../src/figures/long/pair";
import { type LongMatrix, longStore } from "../src/figures/long/store";
import { SliceFailure } from "../src/protocol/failure";
import { itemAt } from "../src/protocol/required";
import type { NdArray, Slice } from "../src/protocol/types";
import { moveBlock } from "../src/views/attention/keys";
import { nextStrongest } from "../src/views/attention/long/keys";
import { fakeRun } from "./fake";
import { DOCUMENT, tokensOfText } from "./long-text";
import { metaOf } from "./runs";

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
    const parts = {
      weights,
      scores,
      q: Float32Array.of(1, 2),
      k: Float32Array.of(2, 1),
      scaling: 0.5,
      absent: null,
      pending: false,
      error: 0.01,
      scoreError: 0.25,
    };
    const link = linkOf(1, parts);
    // A product is a score before scaling, and so is its error; shares are of the whole row.
    expect(link.errors.product).toBe(0.5);
    expect(link.errors.share).toBeCloseTo(0.01, 6);
    // A masked key gives nothing, so the others stand before it.
    const masked = Float32Array.from(weights, (weight, key) => (key === 0 ? Number.NaN : weight));
    const above = masked.filter((weight) => weight > 0).length;
    expect(linkOf(0, { ...parts, weights: masked })).toMatchObject({ weight: 0, rank: above + 1 });
    const rest = 1 - itemAt(weights, 0);
    const second = linkOf(1, { ...parts, weights: masked });
    expect(second.share).toBeCloseTo(itemAt(weights, 1) / rest, 6);
    expect(second.errors.share).toBeCloseTo(0.01 / rest, 6);
    expect(link.exponential! / link.sum!).toBeCloseTo(link.weight, 6);
    expect(link.product! * link.scaling!).toBe(2);
    expect([link.rank, link.score]).toEqual([1, 2]);
  });

  test("a pair alone is a matrix of one cell, masked where the text's is", () => {
    const of = { layer: 1, head: 2, quantity: "scores" } as LongMatrix;
    const weights = Float32Array.of(0.25, Number.NaN, 0.75);
    const pair = pairMatrix(of, { tokens: DOCUMENT }, [3, 2], weights);
    expect(pair).toMatchObject({ layer: 1, head: 2, quantity: "weights", allowed: null });
    expect([...pair.weights]).toEqual([0.75]);
    expect([...pair.queries, ...pair.keys].map(({ token }) => token)).toEqual([3, 2]);
    expect([3, 2, null].map((token) => pair.queryOf(token))).toEqual([0, -1, -1]);
    expect([3, 2, null].map((token) => pair.keyOf(token))).toEqual([-1, 0, -1]);
    const masked = pairMatrix(of, { tokens: DOCUMENT }, [3, 1], weights);
    expect([[...masked.weights], [...(masked.allowed ?? [])]]).toEqual([[0], [0]]);
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
    const text = { rows: 50, columns: 100 };
    expect(moveBlock("PageDown", { row: 4, column: 8 }, text, 8)?.row).toBe(49);
    expect(moveBlock("ArrowRight", { row: 0, column: 8 }, text, 8)).toEqual({ row: 0, column: 16 });
    expect(moveBlock("ArrowUp", { row: 4, column: 8 }, text, 8)).toEqual({ row: 0, column: 8 });
    expect(moveBlock("End", { row: 4, column: 8 }, text, 8)).toEqual({ row: 4, column: 99 });
    expect(moveBlock("q", { row: 4, column: 8 }, text, 8)).toBe(null);
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
        of({ ...small, size: small.keys.length }, small.queryOf(5)),
        of({ weights: whole, size: n, allowed: null }, 5),
      ];
      expect(named(reached, reached.root, (unit) => small.keys[unit]!.token)).toEqual(
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
    await vi.waitFor(() => expect(store.matrix.peek()).not.toBe(null));
    const matrix = store.matrix.peek()!;
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
    await vi.waitFor(() => expect(store.matrix.peek()).not.toBe(null));
    fake.state.set({ quantity: "rollout" });
    await vi.waitFor(() => expect(fake.reports).toEqual(["Rollout is N/A."]));
    expect(fake.state.get().quantity).toBe("weights");
    expect(store.matrix.peek()!.quantity).toBe("weights");
    fake.stop();
  });

  test("another layer is told to all that listen", async () => {
    const { fake, store } = made();
    const seen: number[] = [];
    store.matrix.subscribe((matrix) => matrix && seen.push(matrix.layer));
    await vi.waitFor(() => expect(seen).toEqual([0]));
    fake.state.set({ layer: 1 });
    await vi.waitFor(() => expect(seen).toEqual([0, 1]));
    fake.stop();
  });
});
