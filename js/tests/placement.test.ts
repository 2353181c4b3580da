// @vitest-environment jsdom
/** Where things stand, and in which shade: ends of edges, sides of cards, moves of the cursor, edges of an export. */
import { type ComponentType, h, render } from "preact";
import { describe, expect, it } from "vitest";
import { ramp } from "../src/draw/color/ramp";
import { rampIndex, signedIndex } from "../src/draw/color/scale";
import type { Geometry } from "../src/draw/heatmap/types";
import { Flow } from "../src/features/comparison/panels/flow";
import { placeLabels } from "../src/features/inside/stages/hidden";
import { force } from "../src/features/tree/force";
import { tidy } from "../src/features/tree/tidy";
import { ComponentsPanel } from "../src/features/why/components";
import { Strip } from "../src/features/why/strips";
import { FallDot } from "../src/features/why/trust";
import type { Matrix } from "../src/figures/matrix";
import { restOf } from "../src/frame/focus";
import { thumbnailSteps } from "../src/frame/head-grid/paint";
import { nearest } from "../src/state/saved";
import { Sparkline } from "../src/ui/chart";
import { cardPlace } from "../src/ui/hover-card";
import { windowOf } from "../src/views/attention/export";
import { moveCell } from "../src/views/attention/keys";
import { placeCard } from "../src/views/attention/lazy/place-card";
import { placeCard as placeBlockCard } from "../src/views/attention/long/block";
import { piecesOf } from "../src/views/predictions/data";
import { layoutGrid, linesInSight } from "../src/views/sentences/layout";

describe("the tree's edges", () => {
  // A pill of 40 px whose children begin at 60; a number of 30 px before a pill at 200.
  const from = { x: 10, y: 50, width: 40, bend: 60 };
  const to = { x: 200, y: 80, width: 20, numberWidth: 30 };

  it.each([
    // End: 200, less the number, 6 px beside it and 4 px of air; the curve bends halfway.
    [tidy, to, "M50,50H60C110,50 110,80 160,80"],
    [tidy, { ...to, numberWidth: 0 }, "M50,50H60C125,50 125,80 190,80"],
    [force, to, "M30,50L210,80"],
  ] as const)("lead from pill to number ($name)", ({ edge }, end, path) => {
    expect(edge(from, end)).toBe(path);
  });

  it.each([
    [tidy, { x: -6, y: 0, anchor: "end" }],
    [force, { x: 10, y: 18, anchor: "middle" }],
  ] as const)("have their number beside the pill ($name)", ({ number }, place) => {
    expect(number(to)).toEqual(place);
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
  const cell = (x: number, y: number) => ({ x, y, width: 20, height: 20 });
  const room = { width: 400, height: 300 };

  it.each([
    ["at its right", cell(50, 100), size, { x: 82, y: 92 }],
    ["at its left, where the right is full", cell(300, 100), size, { x: 188, y: 92 }],
    ["inside the upper edge", cell(50, 4), size, { x: 82, y: 0 }],
    ["inside the lower edge", cell(50, 290), size, { x: 82, y: 240 }],
    [
      "above, where neither side has room",
      cell(190, 200),
      { width: 250, height: 60 },
      { x: 75, y: 120 },
    ],
    [
      "below, where there is no room above",
      cell(190, 40),
      { width: 250, height: 60 },
      { x: 75, y: 80 },
    ],
    ["just at its left", cell(288, 100), { width: 276, height: 60 }, { x: 0, y: 92 }],
  ])("stands %s", (_, of, card, place) => {
    expect(placeCard(of, card, room)).toEqual(place);
  });
});

describe("a key on the matrix", () => {
  const size = 31;
  const weights = Float32Array.from({ length: size * size }, (_, i) =>
    i % size === 7 ? 0.9 : 0.003,
  );
  const units = Array(size).fill(null);
  const matrix = { queries: units, keys: units, weights, scores: null } as unknown as Matrix;

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
      width: 100,
      height: 100,
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

// Of 812 px a scroll bar takes 12. Cells of 50 px and more hold a number at its own size, of 42 a smaller one.
it.each([
  // 44% for the texts: four cells of 83 px, at most 76; the texts get the rest.
  [4, true, { label: 380, cell: 76, printed: true, tight: false, tall: true, sum: true }],
  [4, false, { label: 496, cell: 76, printed: true, tight: false, tall: true, sum: false }],
  // 140 px for the texts, 116 for the columns beside the cells.
  [10, true, { label: 144, cell: 54, printed: true, tight: false, tall: true, sum: true }],
  // The column of sums makes room for numbers.
  [14, true, { label: 140, cell: 42, printed: true, tight: true, tall: true, sum: false }],
  [20, true, { label: 144, cell: 27, printed: false, tight: true, tall: false, sum: true }],
  [24, true, { label: 152, cell: 24, printed: false, tight: true, tall: false, sum: false }],
  [26, true, { label: 104, cell: 24, printed: false, tight: true, tall: false, sum: false }],
  // Scrolled, the texts have 34%.
  [60, true, { label: 272, cell: 24, printed: false, tight: true, tall: false, sum: true }],
])("the matrix of %d sentences (mass: %s) has the sizes %j", (size, mass, layout) => {
  expect(layoutGrid(size, 812, mass)).toEqual(layout);
});

it.each([
  [0, 320, [0, 24]],
  [640, 320, [8, 40]],
  [-640, 320, [8, 40]],
  [3200, 320, [88, 100]],
  [0, 0, [0, 100]],
])("scrolled by %d px, lines in %d px are %j", (scrolled, room, lines) => {
  expect(linesInSight(scrolled, room, 32, 100)).toEqual(lines);
});

it.each([
  [10, 4],
  [256, 4],
  [300, 3],
  [512, 2],
  [2_000, 1],
])("positions of %d tokens are masked %d at a time", (n, rows) => {
  expect(piecesOf(n).slice(0, 2)).toEqual([
    [0, 1],
    [0, rows],
  ]);
});

it.each([
  ["beside its cell and above it", { x: 50, y: 100 }, { x: 64, y: 32 }],
  ["at its left, where the right is full", { x: 287, y: 100 }, { x: 173, y: 32 }],
  ["just at its right", { x: 286, y: 100 }, { x: 300, y: 32 }],
  ["inside the upper edge", { x: 50, y: 20 }, { x: 64, y: 0 }],
])("the card of a block stands %s", (_, cell, place) => {
  expect(placeBlockCard(cell, { width: 100, height: 60 }, 400)).toEqual(place);
});

it.each([
  // From 5: onwards, back, beyond the ends, and one that is there.
  [6, 9],
  [4, 2],
  [12, 9],
  [0, 2],
  [9, 9],
])("of the saved heads 2 and 9 the wish for %d gives %d", (wish, head) => {
  expect(nearest([2, 9], wish, 5)).toBe(head);
});

it.each([
  // Free on all sides: at the upper right. Near the right edge: at the upper left. In a corner: below.
  ["at the upper right", [[100, 100]], [115, 94.6]],
  ["at the upper left, at the right edge", [[365, 100]], [350, 94.6]],
  [
    "below, under another point",
    [
      [100, 100],
      [118, 94],
    ],
    [115, 108.1],
  ],
] as const)("a point of the plane has its label %s", (_, points, [x, y]) => {
  const [label] = placeLabels(points.map(([px, py]) => [px, py] as const));
  expect(label?.[0]).toBeCloseTo(x, 6);
  expect(label?.[1]).toBeCloseTo(y, 6);
});

/** The elements of a drawn component. */
function drawn<P>(component: ComponentType<P>, props: object, selector: string): Element[] {
  const host = document.createElement("div");
  render(h(component as ComponentType<object>, props), host);
  return [...host.querySelectorAll(selector)];
}

describe("a method's dot", () => {
  const random = { mean: 0.3, low: 0.1, high: 0.5, orders: 10, drawn: true, words: 5 };
  const tests = [{ percentile: 99, low: 98, high: 100, adjusted: 0.01, better: true }, null];
  const trust = { methods: ["a", "b"], comprehensiveness: [0.8, -0.2], tests, random };

  it.each([
    // From -0.2 to 0.8 are 72 px after 4.
    ["a", "is-right", 76],
    ["b", "is-idle", 4],
  ])("of %s is %s at %d px", (method, kind, cx) => {
    const [dot] = drawn(FallDot, { trust, method }, "circle");
    expect(dot?.getAttribute("class")).toBe(kind);
    expect(Number(dot?.getAttribute("cx"))).toBeCloseTo(cx, 9);
    const [band] = drawn(FallDot, { trust, method }, "rect");
    expect(Number(band?.getAttribute("x"))).toBeCloseTo(25.6, 9);
    expect(Number(band?.getAttribute("width"))).toBeCloseTo(28.8, 9);
  });
});

it("the bars of embedding, MLPs and biases stand in columns of a layer", () => {
  const found = {
    ...{ names: ["a"], value: 3, embedding: 1, bias: 1, gap: 0 },
    ...{ heads: Float32Array.of(1, -1), mlps: Float32Array.of(0.5, 0.5) },
  };
  const props = { found, heads: 1, state: null, mode: "light" };
  const columns = drawn(ComponentsPanel, props, ".is-space").map((bar) => bar.getAttribute("x"));
  // In the middle of 4.4 columns at each end; two layers between them.
  expect(columns.map(Number)).toEqual([1.7, 4.4, 5.4, 8.1].map((x) => expect.closeTo(x, 9)));
});

it("a line by layer has small values below large ones, inside its band", () => {
  const points = [
    { mean: 1, min: 0, max: 2 },
    { mean: 2, min: 1, max: 4 },
  ];
  const props = { points, domain: [0, 4], index: 1, value: 3 };
  const [band, line] = drawn(Sparkline, props, "polygon, polyline");
  expect(line?.getAttribute("points")).toBe("0.0000,22.50 1.0000,15.00");
  expect(band?.getAttribute("points")).toBe("0.0000,15.00 1.0000,0.00 1.0000,22.50 0.0000,30.00");
  const [mark] = drawn(Sparkline, props, "circle");
  expect([mark?.getAttribute("cx"), mark?.getAttribute("cy")]).toEqual(["100%", "7.5"]);
});

it("a contribution beyond the end of the ramp is hatched inside its cell", () => {
  const unit = (token: number, special = false) => ({ token, end: token + 1, special }) as never;
  const props = { units: [unit(0), unit(1, true)], values: [1, 3], width: 40, mode: "light" };
  const [path] = drawn(Strip, props, "path");
  const at = [...(path?.getAttribute("d") ?? "").matchAll(/[ML](\S+) (\S+?)(?=[ML]|$)/g)];
  expect(at.length).toBeGreaterThan(6);
  for (const [, x, y] of at) {
    expect(Number(x)).toBeGreaterThanOrEqual(20);
    expect(Number(x)).toBeLessThanOrEqual(39);
    expect(Number(y)).toBeGreaterThanOrEqual(0);
    expect(Number(y)).toBeLessThanOrEqual(20);
  }
});

it.each([
  [0.5, 1],
  [-0.25, 0.5],
])("a change of %d is drawn in the shade of its share %d of the largest", (value, share) => {
  const change = Float32Array.of(0.5, value, 0, 0);
  const weights = { a: change, b: change, change, most: 0.5, rows: 2, columns: 2 };
  const props = { names: ["a", "b"], keys: ["a", "b"], weights, row: -1, mode: "light" };
  const lines = drawn(Flow, { ...props, choose: () => undefined }, "path");
  const place = signedIndex(Math.sign(value) * (0.35 + 0.65 * share) * 0.85, 1);
  const strokes = lines.map((line) => line.getAttribute("stroke"));
  expect(strokes).toContain(ramp("signed", "light").css[place]);
});
