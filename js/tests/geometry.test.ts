import { describe, expect, it } from "vitest";
import { cellAt, labelAt, layoutCells } from "../src/draw/cell-map/layout";
import type { Geometry } from "../src/draw/heatmap/types";
import { layoutGrid } from "../src/features/sentences/layout";
import { flowWidth, layoutFlow, layoutPictures } from "../src/views/attention/layout";
import { placeCard } from "../src/views/attention/lazy/place-card";

describe("a heat map of cells", () => {
  const square = { rowHeight: null, cellMost: 34, heightMost: 440 } as const;

  it("has square cells of whole pixels, and turns names that are wider than a cell", () => {
    const g = layoutCells({ rows: 5, columns: 8 }, square, 400, { row: 60, column: 50 });
    expect(g.left).toBe(60 + 8);
    expect(g.columns).toEqual({ start: g.left, size: 34, count: 8 });
    expect(g.rows).toEqual({ start: g.top, size: 34, count: 5 });
    expect(g.upright).toBe(true);
    expect(g.top).toBe(50 + 8);
    expect([g.width, g.height]).toEqual([8 * 34, 5 * 34]);
  });

  it("never passes its room, and cuts names that are too long for the gutter", () => {
    const g = layoutCells({ rows: 3, columns: 200 }, square, 400, { row: 900, column: 900 });
    expect(g.left).toBe(112 + 8);
    expect(g.top).toBe(92 + 8);
    expect(g.left + g.width).toBeLessThanOrEqual(400);
    expect(g.columns.size).toBeGreaterThan(0);
  });

  it("keeps rows of one height where a shape names it", () => {
    const strip = { rowHeight: 24, cellMost: 28, heightMost: 240 } as const;
    const g = layoutCells({ rows: 6, columns: 4 }, strip, 400, { row: 20, column: 10 });
    expect(g.rows.size).toBe(24);
    expect(g.columns.size).toBe(28);
    expect(g.upright).toBe(false);
    expect(g.top).toBe(20);
  });

  it("finds the cell at a point, the label beside a row, and nothing elsewhere", () => {
    const g = layoutCells({ rows: 5, columns: 8 }, square, 400, { row: 60, column: 50 });
    for (let row = 0; row < 5; row++) {
      for (let column = 0; column < 8; column++) {
        const [x, y] = [g.left + (column + 0.5) * 34, g.top + (row + 0.5) * 34];
        expect(cellAt(g, x, y)).toEqual({ row, column });
        expect(labelAt(g, x, y)).toBeNull();
        expect(labelAt(g, g.left - 1, y)).toBe(row);
      }
    }
    expect(cellAt(g, g.left, g.top)).toEqual({ row: 0, column: 0 });
    expect(cellAt(g, g.left - 1, g.top)).toBeNull();
    expect(cellAt(g, g.left + g.width, g.top)).toBeNull();
    expect(cellAt(g, g.left, g.top + g.height)).toBeNull();
    expect(labelAt(g, 0, g.top - 1)).toBeNull();
  });
});

describe("the pictures of Attention", () => {
  const heatmap: Geometry = {
    left: 90,
    top: 70,
    width: 300,
    height: 300,
    rows: { start: 70, size: 30, count: 10 },
    columns: { start: 90, size: 30, count: 10 },
    zoomed: false,
  };

  it("stand side by side from 640 px on, in a height between bounds unless the reader chose one", () => {
    expect(layoutPictures(639, null)).toEqual({ wide: false, width: 639, height: 520 });
    expect(layoutPictures(640, null)).toEqual({ wide: true, width: 640 - 220 - 24, height: 480 });
    expect(layoutPictures(200, null).height).toBe(240);
    expect(layoutPictures(2000, null).height).toBe(520);
    expect(layoutPictures(640, 777).height).toBe(777);
  });

  it("share rows while side by side; alone the flow needs no room for names of columns", () => {
    expect(layoutFlow(heatmap, true)).toBe(heatmap);
    const alone = layoutFlow(heatmap, false);
    expect(alone.top).toBe(24);
    expect(alone.rows.start - alone.top).toBe(heatmap.rows.start - heatmap.top);
    expect(alone.columns.start - alone.left).toBe(heatmap.columns.start - heatmap.left);
    expect(alone.rows.size).toBe(heatmap.rows.size);
  });

  it("give the flow what the heatmap leaves, between bounds", () => {
    expect(flowWidth(heatmap, 700, true)).toBe(700 - 90 - 300 - 24);
    expect(flowWidth(heatmap, 640, true)).toBe(226);
    expect(flowWidth(heatmap, 500, true)).toBe(220);
    expect(flowWidth(heatmap, 2000, true)).toBe(340);
    expect(flowWidth(heatmap, 500, false)).toBe(500);
  });

  it("have a card beside the cell it is of, and never on it", () => {
    const card = { width: 180, height: 90 };
    const room = { width: 600, height: 400 };
    const sizes = [8, 30];
    for (const size of sizes) {
      for (let x = 0; x + size <= room.width; x += 37) {
        for (let y = 0; y + size <= room.height; y += 37) {
          const at = placeCard({ x, y, width: size, height: size }, card, room);
          const apart =
            at.x >= x + size ||
            at.x + card.width <= x ||
            at.y >= y + size ||
            at.y + card.height <= y;
          expect(apart, `${x} ${y} ${size}`).toBe(true);
          expect(at.x).toBeGreaterThanOrEqual(0);
          expect(at.x + card.width).toBeLessThanOrEqual(room.width);
        }
      }
    }
  });

  it("have it above or below where there is no room beside it", () => {
    const card = { width: 180, height: 90 };
    const narrow = { width: 240, height: 400 };
    expect(placeCard({ x: 100, y: 200, width: 30, height: 30 }, card, narrow)).toEqual({
      x: 30,
      y: 90,
    });
    expect(placeCard({ x: 100, y: 20, width: 30, height: 30 }, card, narrow)).toEqual({
      x: 30,
      y: 70,
    });
  });
});

describe("the matrix of sentences", () => {
  it("prints numbers while they fit, the sum while there is room for it", () => {
    const roomy = layoutGrid(4, 900, true);
    expect(roomy).toMatchObject({ printed: true, tight: false, tall: true, sum: true, cell: 76 });
    const tight = layoutGrid(8, 590, true);
    expect(tight).toMatchObject({ printed: true, tight: true, sum: false });
    const small = layoutGrid(30, 900, true);
    expect(small).toMatchObject({ printed: false, tall: false });
  });

  it.each([2, 5, 9, 14, 22])("fits into its room, or scrolls with cells of 24 px: %s", (size) => {
    for (const mass of [true, false]) {
      for (let width = 320; width <= 1200; width += 40) {
        const { label, cell, sum } = layoutGrid(size, width, mass);
        const beside = mass ? 72 + (sum ? 44 : 0) : 0;
        const fits = label + cell * size + beside <= width;
        expect(fits || cell === 24, `${size} in ${width}`).toBe(true);
        expect(label).toBeGreaterThanOrEqual(96);
        // Texts are narrow only where cells of 24 px would have to scroll otherwise.
        if (label < 140) expect((width - 12 - 140 - (mass ? 72 : 0)) / size).toBeLessThan(24);
        expect(cell).toBeLessThanOrEqual(76);
      }
    }
  });
});
