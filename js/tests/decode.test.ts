import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { unpack } from "../src/protocol/pack";
import { inflate } from "../src/protocol/saved/inflate";
import { LayerMatrices } from "../src/protocol/saved/layers";
import { rolloutStep } from "../src/protocol/slices/rollout";
import type { HeadIndex } from "../src/protocol/types";

interface Saved {
  name: string;
  n: number;
  chunk: string;
  weights?: number[][];
  scores?: (number | null)[][];
}

// Written by Python (tests/golden/make_saved.py).
const saved: Saved[] = JSON.parse(
  readFileSync(new URL("../../tests/golden/saved.json", import.meta.url), "utf8"),
);
const open = ({ chunk, n, scores }: Saved): LayerMatrices =>
  new LayerMatrices({
    n,
    m: n,
    code: scores === undefined ? "weights" : "qk",
    layers: [0],
    heads: [0, 1],
    nHeads: 2,
    chunk: async () => unpack(await inflate(chunk)),
  });
const whole = async (saved: Saved, quantity: "weights" | "scores", head: HeadIndex) =>
  (await open(saved).cells(quantity, 0, head)).read([0, saved.n], [0, saved.n]);

describe.each(saved)("a layer saved as $name", (entry) => {
  test("gives the weights or the scores that Python packed", async () => {
    for (const [head, expected] of entry.weights?.entries() ?? []) {
      const found = await whole(entry, "weights", head);
      expected.forEach((weight, i) => {
        expect(Math.abs((found[i]! || 0) - weight)).toBeLessThan(1e-6);
      });
    }
    for (const [head, expected] of entry.scores?.entries() ?? []) {
      const found = await whole(entry, "scores", head);
      expected.forEach((score, i) => {
        if (score === null) expect(found[i]).toBeNaN();
        else expect(Math.abs(found[i]! - score)).toBeLessThan(1e-4);
      });
    }
    await expect(whole(entry, "weights", 2)).rejects.toThrow("Head 2");
  });

  test("has rows that sum to 1 and nothing above the diagonal of a causal layer", async () => {
    const mean = (await whole(entry, "weights", "mean")).map((weight) => weight || 0);
    for (let i = 0; i < entry.n; i++) {
      const row = [...mean.subarray(i * entry.n, (i + 1) * entry.n)];
      expect(Math.abs(row.reduce((a, b) => a + b, 0) - 1)).toBeLessThan(0.02);
      expect(Math.max(0, ...row.slice(i + 1))).toBe(0);
    }
  });
});

test("rollout mixes half attention with half residual, layer on layer", () => {
  const attention = Float32Array.of(0, 1, 0, 1);
  const first = rolloutStep(attention, null, 2);
  expect([...first]).toEqual([0.5, 0.5, 0, 1]);
  expect([...rolloutStep(attention, first, 2)]).toEqual([0.25, 0.75, 0, 1]);
});
