// @vitest-environment jsdom
import { signal } from "@preact/signals-core";
import { describe, expect, it } from "vitest";
import { areasOf, regionAround, strongestPlace } from "../../../src/features/images/places";
import { drawInput } from "../../../src/features/images/scored";
import type { InputToDraw } from "../../../src/views/contract";

const grid = (rows: number, columns: number, first = 1) => ({
  ...{ rows, columns, first, width: 10 * columns, height: 10 * rows },
});

describe("places in a picture", () => {
  it("are the 3 x 3 patches with the largest sum by size, fewer at an edge, without special tokens", () => {
    const values = new Float32Array(1 + 25);
    values[0] = 9; // [CLS]
    values[1 + 2 * 5 + 2] = -2;
    values[1 + 2 * 5 + 3] = -1.5;
    values[1] = 2.5;
    const place = strongestPlace(grid(5, 5), values);
    expect(place?.name).toBe("patches around r3 c3");
    expect(place?.tokens).toHaveLength(9);
    expect(strongestPlace(grid(5, 5), Float32Array.of(0, 0, 0, 0, 0, 0, 1))?.name).toBe(
      "patches around r2 c1",
    );
    expect(strongestPlace(grid(5, 5), new Float32Array(26))).toBeNull();
    expect(strongestPlace(grid(1, 1), Float32Array.of(0, 1))?.tokens).toEqual([1]);
  });

  it("are nine areas that have each patch once, and fewer in a small grid", () => {
    for (const [rows, columns, count] of [
      [16, 16, 9],
      [7, 5, 9],
      [2, 2, 4],
      [1, 4, 3],
      [1, 1, 1],
    ] as const) {
      const areas = areasOf(grid(rows, columns));
      expect(areas).toHaveLength(count);
      const tokens = areas.flatMap(({ tokens }) => tokens).sort((a, b) => a - b);
      expect(tokens).toEqual(Array.from({ length: rows * columns }, (_, i) => i + 1));
      expect(new Set(areas.map(({ name }) => name)).size).toBe(count);
      expect(areas.every(({ name }) => name !== "")).toBe(true);
    }
    expect(areasOf(grid(3, 3)).map(({ name }) => name)).toEqual([
      ...["top left", "top", "top right", "middle left", "middle", "middle right"],
      ...["bottom left", "bottom", "bottom right"],
    ]);
  });

  it("are outlined from their first to their last patch", () => {
    expect(regionAround(grid(4, 4), [1, 2, 5, 6])).toEqual({ rows: [0, 1], columns: [0, 1] });
    expect(regionAround(grid(4, 4), [])).toBeNull();
    expect(regionAround(grid(4, 4), [0])).toBeNull();
  });
});

it("an input that is no picture is not drawn", () => {
  const given: InputToDraw = {
    ...{ meta: { wordless: true }, title: "", names: [], special: [] },
    ask: () => Promise.reject(new Error("nobody asks")),
    ...{ painted: signal(null), at: signal(null), pinned: signal(false), outlined: signal([]) },
    point: () => undefined,
    pin: () => undefined,
    host: document.body,
    signal: new AbortController().signal,
  };
  expect(drawInput(given)).toBeNull();
});
