// @vitest-environment jsdom
import { afterEach, expect, test, vi } from "vitest";
import type { Palette } from "../src/draw/color/theme";
import {
  curveOf,
  drawFlow,
  FAINT_MAX,
  type FlowData,
  flowGutters,
  linksAbove,
} from "../src/draw/heatmap/flow";
import { textOf } from "../src/draw/heatmap/labels";
import { type Geometry, NO_HIGHLIGHTS } from "../src/draw/heatmap/types";
import { linkAt } from "../src/views/attention/lazy/link-at";

const SIZE = 300;
const track = { start: 0, size: 1, count: SIZE };
const geometry = {
  rows: track,
  columns: track,
  left: 0,
  top: 0,
  width: SIZE,
  height: SIZE,
  zoomed: false,
} as unknown as Geometry;
const colors = { mode: "light", font: "sans-serif" } as Palette;

afterEach(() => vi.restoreAllMocks());

/** Alphas of the links that a head with even attention draws. */
function drawn(row: number): number[] {
  const alphas: number[] = [];
  const pen = new Proxy({ globalAlpha: 1 } as Record<string, unknown>, {
    get(target, name: string) {
      if (name === "measureText") return () => ({ width: 10 });
      if (name === "stroke") return () => alphas.push(target.globalAlpha as number);
      return name in target ? target[name] : () => undefined;
    },
  });
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(pen as never);
  const labels = Array.from({ length: SIZE }, String);
  const values = new Float32Array(SIZE * SIZE).fill(1 / SIZE);
  const marginal = new Float32Array(SIZE).fill(1);
  const data = {
    links: linksAbove({ values, columns: SIZE }, 1 / SIZE, [0, SIZE], [0, SIZE]),
    leaving: null,
    max: 1 / SIZE,
    scale: "head",
    text: textOf({ rows: SIZE, rowLabels: labels, columnLabels: labels, marginal }),
    longest: { rows: 20, columns: 20, names: 20 },
    axes: { rows: "query", columns: "key" },
    rowLeast: 0,
    faint: 0.12,
  } as const;
  const highlights = { ...NO_HIGHLIGHTS, row };
  drawFlow(document.createElement("canvas"), 200, data, geometry, highlights, colors);
  expect(data.links).toHaveLength(SIZE * SIZE);
  return alphas;
}

test("all links of the chosen row are drawn, and of the others those that can be told apart", () => {
  const alphas = drawn(7);
  expect(alphas.filter((alpha) => alpha > 0.5).length).toBe(SIZE);
  const faint = alphas.length - SIZE;
  expect(faint).toBeLessThanOrEqual(FAINT_MAX);
  expect(faint).toBeGreaterThan(FAINT_MAX - 2 * SIZE);
});

test("a link is under every point of its curve, and none is beside it", () => {
  const nothing = { labels: () => [], font: () => 10, reach: 0 };
  const data: FlowData = {
    links: [
      { query: 40, key: 200, weight: 0.2 },
      { query: 250, key: 30, weight: 0.9 },
    ],
    leaving: null,
    max: 1,
    scale: "head",
    text: { rows: nothing, columns: nothing },
    longest: { rows: 20, columns: 20, names: 20 },
    axes: { rows: "query", columns: "key" },
    rowLeast: 0,
    faint: 0.12,
  };
  const width = 400;
  const [before, after] = flowGutters(data, width);
  for (const { query, key } of data.links) {
    const [x0, y0, x1, y1] = [before, query + 0.5, width - after, key + 0.5];
    const [x2, y2, x3, y3] = curveOf(x0, y0, x1, y1);
    const on = (t: number, from: number, a: number, b: number, to: number): number =>
      (1 - t) ** 3 * from + 3 * (1 - t) ** 2 * t * a + 3 * (1 - t) * t ** 2 * b + t ** 3 * to;
    for (const t of [0.05, 0.2, 0.35, 0.8, 0.95]) {
      const [x, y] = [on(t, x0, x2, x3, x1), on(t, y0, y2, y3, y1)];
      expect(linkAt(data, geometry, width, x, y)).toEqual({ row: query, column: key });
      expect(linkAt(data, geometry, width, x, y + 8)).toBeNull();
    }
  }
  // Labels have no links below them.
  expect(linkAt(data, geometry, width, before - 1, 40.5)).toBeNull();
});
