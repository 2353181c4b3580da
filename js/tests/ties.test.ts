import { describe, expect, it } from "vitest";
import { largest, strongestOf } from "../src/figures/derive/matrix";
import { firstLargest, inOrder, largestFirst } from "../src/protocol/ties";
import { sortHeads } from "../src/views/heads/filter";

/** A step that rounding may take, and one that it cannot. */
const [BIT, STEP] = [1e-7, 1e-3];

describe("an order that rounding must not decide", () => {
  it("is that of the positions, as in Python", () => {
    expect(firstLargest([0.1, 0.3, 0.30000001, 0.2])).toBe(1);
    expect(largestFirst([0.1, 0.3, 0.30000001, 0.2])).toEqual([1, 2, 3, 0]);
    expect(largestFirst([Number.NaN, -Infinity, 2, Infinity])).toEqual([3, 2, 0, 1]);
  });

  it("stays whatever the last bits are", () => {
    const values = [3, 5, 5, -1, 3, Number.NaN, 5 + STEP];
    const moved = values.map((value, i) => value + (i % 3) * BIT);
    expect(largestFirst(moved)).toEqual(largestFirst(values));
    expect(largestFirst(values)).toEqual([6, 1, 2, 0, 4, 3, 5]);
    expect(inOrder(values, [3, 2, 1])).toEqual([1, 2, 3]);
    for (const descending of [true, false]) {
      const sort = { key: "x", descending };
      expect(sortHeads(moved, 7, sort)).toEqual(sortHeads(values, 7, sort));
    }
  });

  it("is no chain of small steps", () => {
    const step = 2 ** -16 * 0.9;
    // The first differs from the third by more than a tie.
    expect(largestFirst([1 - 2 * step, 1 - step, 1])).toEqual([1, 2, 0]);
  });

  it("compares weights by their own size, and sums by the largest", () => {
    const values = [1e-6, 3e-6, 1];
    expect(largest(values, 3)).toEqual([2, 0, 1]);
    expect(largest(values, 3, "weights")).toEqual([2, 1, 0]);
    expect(strongestOf([0.2, 0.2 + BIT, Number.NaN, 0.2 - BIT, 0.4], 3)).toEqual([4, 0, 1]);
    expect(strongestOf([0.1, 0.3, 0.3 + BIT, 0.3], 2)).toEqual([1, 2]);
    expect(strongestOf([Number.NaN], 2)).toEqual([]);
  });

  it("has none where nothing is known", () => {
    expect(firstLargest([])).toBe(-1);
    expect(firstLargest([Number.NaN])).toBe(-1);
  });
});
