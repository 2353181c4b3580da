import { describe, expect, test } from "vitest";
import { precisionOf, roundedUp } from "../src/protocol/saved/precision";
import { nearest } from "../src/state/saved";

const bytes = precisionOf({
  code: "weights",
  levels: 255,
  mean_levels: null,
  error: 0.0039,
  score_error: null,
  rollout_error: 0.001,
});
const factors = precisionOf({
  code: "qk",
  levels: null,
  mean_levels: 65_535,
  error: 0.0002,
  score_error: 0.0005,
  rollout_error: 0.0001,
});

describe("the errors of a saved page", () => {
  test("of bytes are half a step of the square-root scale at a weight's place", () => {
    for (const code of [0, 1, 17, 100, 200]) {
      const truth = ((code + 0.5) / 255) ** 2;
      const seen = (code / 255) ** 2;
      expect(truth - seen).toBeLessThanOrEqual(bytes.weight(seen) + 1e-12);
    }
    expect(bytes.score).toBe(0);
  });

  test("of factors are a share of the weight, and never above the stated one", () => {
    expect(factors.weight(0.01)).toBeCloseTo(0.01 * Math.expm1(0.001), 7);
    expect(factors.weight(0.9)).toBeLessThanOrEqual(0.0002 + 1e-6);
    expect(factors.score).toBe(0.0005);
  });

  test("of a sum are those of its equal parts together, the worst case of a concave bound", () => {
    expect(bytes.weight(0.4, 4)).toBeCloseTo(4 * bytes.weight(0.1), 12);
    expect(bytes.weight(0.3) + bytes.weight(0.1)).toBeLessThanOrEqual(bytes.weight(0.4, 2));
  });

  test("of a mean head that is coded apart are those of its own code", () => {
    const small = 2e-6;
    const half = Math.sqrt(small) / 65_535;
    expect(factors.weight(small, 1, true)).toBeGreaterThanOrEqual(half);
    expect(factors.weight(small)).toBeLessThan(half);
    expect(bytes.weight(small, 1, true)).toBe(bytes.weight(small));
  });

  test("are stated with one digit that bounds them, in decimals", () => {
    expect(factors.note).toBe(
      "weights to ± 0.0002, scores to ± 0.0005; numbers, also in tables, to one unit of their last digit",
    );
    const mixing_errors = { alti: 0.00002, alti_rollout: 0.00005, value_zeroing: 0.004 };
    const about = { code: "qk", levels: null, mean_levels: null, error: 0.0002 } as const;
    const { note, mixing } = precisionOf({
      ...{ ...about, score_error: 0.0005, rollout_error: 0.0001, mixing_errors },
    });
    expect(note).toContain("scores to ± 0.0005, alti to ± 0.00005, value zeroing to ± 0.004; ");
    expect(mixing).toBe(mixing_errors);
    expect([0.00021, 0.00095, 0.0039, 0.02].map(roundedUp)).toEqual([
      "0.0003",
      "0.001",
      "0.004",
      "0.02",
    ]);
  });
});

test("a layer that was left out is passed over in the direction of the step", () => {
  expect(nearest([1, 4], 2, 1)).toBe(4);
  expect(nearest([1, 4], 3, 4)).toBe(1);
  expect(nearest([1, 4], 5, 4)).toBe(4);
  expect(nearest([1, 4], 4, 1)).toBe(4);
});
