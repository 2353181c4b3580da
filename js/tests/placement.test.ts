/** Where things stand, and in which shade: ends of edges, sides of cards, moves of the cursor, edges of an export. */
import { describe, expect, it } from "vitest";
import { rampIndex } from "../src/draw/color/scale";
import type { Geometry } from "../src/draw/heatmap/types";
import type { Matrix } from "../src/figures/matrix";
import { restOf } from "../src/frame/focus";
import { thumbnailSteps } from "../src/frame/head-grid/paint";
import { cardPlace } from "../src/ui/hover-card";
import { windowOf } from "../src/views/attention/export";
import { moveCell } from "../src/views/attention/keys";
import { placeCard } from "../src/views/attention/layout";
import { edgePath, numberPlace } from "../src/views/tree/layout";

describe("the tree's edges", () => {
  // A pill of 40 px whose children begin at 60; a number of 30 px before a pill at 200.
  const from = { x: 10, y: 50, width: 40, bend: 60 };
  const to = { x: 200, y: 80, width: 20, numberWidth: 30 };

  it.each([
    // End: 200, less the number, 6 px beside it and 4 px of air; the curve bends halfway.
    ["tidy", to, "M50,50H60C110,50 110,80 160,80"],
    ["tidy", { ...to, numberWidth: 0 }, "M50,50H60C125,50 125,80 190,80"],
    ["force", to, "M30,50L210,80"],
  ] as const)("lead from pill to number (%s)", (name, end, path) => {
    expect(edgePath(name, from, end)).toBe(path);
  });

  it.each([
    ["tidy", { x: 194, y: 80, anchor: "end" }],
    ["force", { x: 210, y: 98, anchor: "middle" }],
  ] as const)("have their number beside the pill (%s)", (name, place) => {
    expect(numberPlace(name, to)).toEqual(place);
  });
});

describe("a hover card", () => {
  const card = { width: 100, height: 60 };
  const area = { width: 400, height: 300 };

  it.each([
    ["below the point", { x: 50, y: 100 }, card, { left: 50, top: 116 }],
    ["below, if just", { x: 50, y: 224 }, card, { left: 50, top: 240 }],
    ["above, where it does not fit below", { x: 50, y: 225 }, card, { left: 50, top: 149 }],
    [
      "below, where it fits nowhere",
      { x: 50, y: 225 },
      { width: 100, height: 250 },
      { left: 50, top: 241 },
    ],
    ["inside the right edge", { x: 350, y: 100 }, card, { left: 300, top: 116 }],
    ["inside the left edge", { x: -20, y: 100 }, card, { left: 0, top: 116 }],
    [
      "at the left, where it is too wide",
      { x: 350, y: 100 },
      { width: 500, height: 60 },
      { left: 0, top: 116 },
    ],
  ])("stands %s", (_, point, size, place) => {
    expect(cardPlace(point, size, area)).toEqual(place);
  });
});

describe("the card of a cell", () => {
  const size = { width: 100, height: 60 };
  const room = { width: 400, height: 300 };

  it.each([
    ["at its right", { x: 50, y: 100, size: 20 }, size, { x: 82, y: 92 }],
    ["at its left, where the right is full", { x: 300, y: 100, size: 20 }, size, { x: 188, y: 92 }],
    ["inside the upper edge", { x: 50, y: 4, size: 20 }, size, { x: 82, y: 0 }],
    ["inside the lower edge", { x: 50, y: 290, size: 20 }, size, { x: 82, y: 240 }],
    [
      "above, where neither side has room",
      { x: 190, y: 200, size: 20 },
      { width: 250, height: 60 },
      { x: 75, y: 120 },
    ],
    [
      "below, where there is no room above",
      { x: 190, y: 40, size: 20 },
      { width: 250, height: 60 },
      { x: 75, y: 80 },
    ],
    ["just at its left", { x: 288, y: 100, size: 20 }, { width: 276, height: 60 }, { x: 0, y: 92 }],
  ])("stands %s", (_, cell, card, place) => {
    expect(placeCard(cell, card, room)).toEqual(place);
  });
});

describe("a key on the matrix", () => {
  const size = 31;
  const weights = Float32Array.from({ length: size * size }, (_, i) =>
    i % size === 7 ? 0.9 : 0.003,
  );
  const matrix = { size, weights, scores: null } as unknown as Matrix;

  it.each([
    ["ArrowRight", false, [10, 11]],
    ["ArrowRight", true, [10, 10]],
    ["ArrowLeft", false, [10, 9]],
    ["ArrowUp", false, [9, 10]],
    ["ArrowDown", false, [11, 10]],
    ["PageDown", false, [13, 10]],
    ["PageUp", false, [7, 10]],
    ["Home", false, [10, 0]],
    ["End", false, [10, 30]],
    ["m", false, [10, 7]],
  ])("%s (first: %s) leads to %j", (key, fresh, [row, column]) => {
    expect(moveCell(key, { row: 10, column: 10 }, matrix, fresh)).toEqual({ row, column });
  });

  it("never leaves it", () => {
    expect(moveCell("PageUp", { row: 1, column: 0 }, matrix, false)).toEqual({ row: 0, column: 0 });
    expect(moveCell("PageDown", { row: 29, column: 0 }, matrix, false)).toEqual({
      row: 30,
      column: 0,
    });
    expect(moveCell("x", { row: 1, column: 0 }, matrix, false)).toBeNull();
  });
});

describe("the part of a zoomed map", () => {
  const track = (start: number) => ({ start, size: 10, count: 50 });
  const map = (start: number): Geometry =>
    ({
      rows: track(start),
      columns: track(start),
      left: 0,
      top: 0,
      side: 100,
      zoomed: true,
    }) as unknown as Geometry;

  it.each([
    ["whole cells", -200, "rows 21 to 30 of 50, columns 21 to 30 of 50"],
    ["cells that are cut", -205, "rows 21 to 31 of 50, columns 21 to 31 of 50"],
    ["what rounding leaves of a cell", -200 - 1e-7, "rows 21 to 30 of 50, columns 21 to 30 of 50"],
    ["what rounding adds", -200 + 1e-7, "rows 21 to 30 of 50, columns 21 to 30 of 50"],
  ])("names %s", (_, start, part) => {
    expect(windowOf(map(start))).toBe(`A part of the matrix: ${part}.`);
  });
});

describe("a thumbnail", () => {
  it("stores roots of shares, so that its shades are those of the matrix", () => {
    const steps = thumbnailSteps(0.8, 0.8, "head");
    expect(steps).toHaveLength(256);
    expect([steps[0], steps[255]]).toEqual([
      rampIndex(0, 0.8, "head"),
      rampIndex(0.8, 0.8, "head"),
    ]);
    // A fifth of the root is a share of a twenty-fifth.
    expect(steps[51]).toBe(rampIndex(0.8 * 0.04, 0.8, "head"));
    expect(steps[153]).toBe(rampIndex(0.8 * 0.36, 0.8, "head"));
    expect(thumbnailSteps(0.8, 0.4, "words")[204]).toBe(rampIndex(0.8 * 0.64, 0.4, "words"));
  });
});

it.each([
  [[0.5, 0.25, 0.125, 0.125], [0, 2], 0.375],
  [[0.5, 0.5], [0, 1], 0],
  [[0.5, 0.5], [], 1],
])("what is not listed of %j after %j is %d", (values, listed, rest) => {
  expect(restOf(values, listed)).toBeCloseTo(rest, 12);
});
