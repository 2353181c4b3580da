import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  decodeMean,
  decodeScores,
  decodeWeights,
  headsOf,
  type LayerChunk,
} from "../src/protocol/decode";
import { unpack } from "../src/protocol/pack";
import { rolloutStep } from "../src/protocol/rollout";
import { inflate } from "../src/protocol/saved/inflate";

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
const open = async ({ chunk, n }: Saved): Promise<LayerChunk> => ({
  n,
  arrays: unpack(await inflate(chunk)).arrays,
});

describe.each(saved)("a layer saved as $name", (entry) => {
  test("gives the weights or the scores that Python packed", async () => {
    const chunk = await open(entry);
    expect(headsOf(chunk)).toBe(2);
    entry.weights?.forEach((expected, head) => {
      const found = decodeWeights(chunk, head);
      expected.forEach((weight, i) => {
        expect(Math.abs(found[i]! - weight)).toBeLessThan(1e-6);
      });
    });
    entry.scores?.forEach((expected, head) => {
      const found = decodeScores(chunk, head);
      expected.forEach((score, i) => {
        if (score === null) expect(found[i]).toBe(-Infinity);
        else expect(Math.abs(found[i]! - score)).toBeLessThan(1e-4);
      });
    });
  });

  test("has rows that sum to 1 and nothing above the diagonal of a causal layer", async () => {
    const chunk = await open(entry);
    const mean = decodeMean(chunk);
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
