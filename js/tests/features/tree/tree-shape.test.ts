import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { inkOn, luminance, RAMP_SIZE, ramp } from "../../../src/draw/color/ramp";
import { force } from "../../../src/features/tree/force";
import { edgesOf, influenceTree, nodesThrough } from "../../../src/features/tree/influence";
import { layoutTree, ROW } from "../../../src/features/tree/layout";
import { tidy } from "../../../src/features/tree/tidy";
import { random } from "../../tiny-text";

interface Golden {
  size: number;
  root: number;
  top_k: number;
  depth: number;
  weights: number[];
  allowed: number[] | null;
  edges: [number, number, number, number, number][];
}

// Written by tests/unit/test_tree_twin.py, which compares Python with the same file.
const golden: Golden[] = JSON.parse(
  readFileSync(new URL("../../../../tests/golden/trees.json", import.meta.url), "utf8"),
);

describe("the tree of a matrix", () => {
  it.each(golden)("is Python's: $size tokens, $top_k children, $depth levels", (wanted) => {
    const { size, root, top_k, depth, weights, allowed, edges } = wanted;
    const grown = influenceTree(
      {
        weights: Float32Array.from(weights),
        allowed: allowed && Uint8Array.from(allowed),
        size,
      },
      root,
      { topK: top_k, depth },
    );
    expect(
      edgesOf(grown).map((node) => [
        node.parent?.unit,
        node.unit,
        node.depth,
        node.weight,
        node.product,
      ]),
    ).toEqual(edges);
  });

  it("has no child of a weight that is not a number", () => {
    const weights = Float32Array.from([0.5, Number.NaN, 0.5, 1, 1, 1, 1, 1, 1]);
    const grown = influenceTree({ weights, allowed: null, size: 3 }, 0, { topK: 3, depth: 1 });
    expect(edgesOf(grown).map(({ unit }) => unit)).toEqual([2]);
  });

  it("says how many tokens it can have before it is grown", () => {
    const shape = { topK: 3, depth: 3 };
    expect(nodesThrough(9, shape)).toEqual([1, 4, 13, 40]);
    expect(nodesThrough(3, shape)).toEqual([1, 3, 5]);
    expect(nodesThrough(1, shape)).toEqual([1]);
  });
});

describe("layouts", () => {
  const size = 14;
  const next = random(5);
  const weights = Float32Array.from({ length: size * size }, next);
  const grow = (topK: number) =>
    influenceTree({ weights, allowed: null, size }, 3, { topK, depth: 3 });
  const measure = {
    label: () => ({ text: "token", textWidth: 50, index: null, width: 50 }),
    number: () => 36,
    path: (node: { unit: number }) => String(node.unit),
    open: () => true,
  };

  it.each([tidy, force])("keep labels apart ($name)", (placement) => {
    for (const [topK, room] of [
      [3, 900],
      [5, 440],
    ] as const) {
      const { boxes, width, height } = layoutTree(grow(topK), placement, room, measure);
      for (const [i, a] of boxes.entries()) {
        expect(a.x).toBeGreaterThanOrEqual(0);
        expect(a.x + a.width).toBeLessThanOrEqual(width);
        expect(a.y + ROW / 2).toBeLessThanOrEqual(height);
        for (const b of boxes.slice(i + 1)) {
          const across = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
          const down = ROW - 4 - Math.abs(a.y - b.y);
          expect(Math.min(across, down)).toBeLessThanOrEqual(0);
        }
      }
    }
  });

  it("fill the panel where they can, and are the same every time", () => {
    expect(layoutTree(grow(2), tidy, 900, measure).width).toBeGreaterThan(600);
    const places = () => layoutTree(grow(4), force, 700, measure).boxes.map(({ x, y }) => [x, y]);
    expect(places()).toEqual(places());
  });
});

it("colors levels in order of lightness, each to be seen on its ground", () => {
  for (const [mode, ground, way] of [
    ["light", [255, 255, 255], 1],
    ["dark", [17, 19, 23], -1],
  ] as const) {
    const { rgb } = ramp("depth", mode);
    for (let depth = 2; depth <= 6; depth++) {
      const shades = Array.from({ length: depth }, (_, level) =>
        luminance(rgb[Math.round((level / (depth - 1)) * (RAMP_SIZE - 1))]!),
      );
      for (const [i, shade] of shades.entries()) {
        const [high, low] = [shade, luminance(ground)].sort((a, b) => b - a);
        expect((high! + 0.05) / (low! + 0.05)).toBeGreaterThanOrEqual(3);
        if (i > 0) expect((shade - shades[i - 1]!) * way).toBeGreaterThan(0);
      }
    }
    expect(inkOn(rgb[0]!)).toBe(mode === "light" ? "#fff" : "#000");
  }
});
