// @vitest-environment jsdom
import { afterEach, expect, test, vi } from "vitest";
import { heatImage } from "../src/draw/canvas";
import { boundaryStrength } from "../src/draw/heatmap/cells";

const words = Uint32Array.from({ length: 256 }, (_, i) => i + 1);

afterEach(() => vi.restoreAllMocks());

/** Places in the color table of the cells of a row; null where they are clear. */
function indices(
  values: readonly number[],
  coloring: { top: number; root?: boolean; signed?: boolean },
  isClear: ((cell: number) => boolean) | null = null,
): (number | null)[] {
  const data = new Uint8ClampedArray(4 * values.length);
  const pen = { createImageData: () => ({ data }), putImageData: () => undefined };
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(pen as never);
  heatImage(
    Float32Array.from(values),
    1,
    values.length,
    { words, root: false, signed: false, ...coloring },
    isClear,
  );
  return [...new Uint32Array(data.buffer)].map((word) => (word === 0 ? null : word - 1));
}

test("a cell has the color of its share of the top, or of the root of it, and the last beyond", () => {
  expect(indices([0, 0.25, 0.5, 2], { top: 0.5 })).toEqual([0, 128, 255, 255]);
  expect(indices([0, 0.125, 0.5, 2], { top: 0.5, root: true })).toEqual([0, 128, 255, 255]);
  expect(indices([0, 1], { top: 0 })).toEqual([0, 0]);
});

test("signed cells have the middle of the table at 0", () => {
  const [least, zero, most] = indices([-2, 0, 2], { top: 2, signed: true });
  expect(least).toBe(0);
  expect(most).toBe(255);
  expect(Math.abs(zero! - 127.5)).toBeLessThanOrEqual(0.5);
});

test("what the mask forbids is clear, whatever is there", () => {
  expect(indices([1, 1, 0], { top: 1 }, (cell) => cell > 0)).toEqual([255, null, null]);
  const values = [Number.NaN, 1];
  const signed = { top: 1, signed: true };
  expect(indices(values, signed, (cell) => Number.isNaN(values[cell]))).toEqual([null, 255]);
});

test.each([
  [9, "sentence", 0.55], // 50 px apart
  [10, "sentence", 0.15],
  [49, "sentence", 0.15],
  [50, "sentence", 0],
  [50, "segment", 1],
] as const)("of %i lines on 500 px one of a %s has strength %d", (n, kind, strength) => {
  expect(boundaryStrength(500, n)(kind)).toBe(strength);
});
