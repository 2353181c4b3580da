/** A text small enough to calculate in the test: 6 tokens, 3 layers of 4 heads, 40 entries in the vocabulary. */

import type { NdArray } from "../src/protocol/types";

export const LAYERS = 3;
export const HEADS = 4;
export const VOCABULARY = 40;

/** Token texts by position; what is hostile in a page is here on purpose. */
export const TOKENS = ["[CLS]", "<img src=x onerror=alert(1)>", "sit", "##ting", "שלום", "[SEP]"];
export const SURFACES = ["[CLS]", "<img src=x onerror=alert(1)>", "sit", "ting", "שלום", "[SEP]"];
export const IDS = [0, 7, 8, 9, 10, 1];
export const SPECIAL = [true, false, false, false, false, true];
export const N = TOKENS.length;

/** mulberry32: the same numbers in every run. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function softmax(scores: readonly number[]): number[] {
  const largest = Math.max(...scores);
  const exps = scores.map((score) => Math.exp(score - largest));
  const total = exps.reduce((a, b) => a + b, 0);
  return exps.map((exp) => exp / total);
}

export const float32 = (values: readonly number[], ...shape: number[]): NdArray => ({
  data: Float32Array.from(values),
  shape,
});
