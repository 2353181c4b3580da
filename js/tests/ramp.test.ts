import { describe, expect, test } from "vitest";
import {
  inkOn,
  luminance,
  type Mode,
  RAMP_SIZE,
  type RampName,
  ramp,
} from "../src/draw/color/ramp";
import { rampIndex, rampPosition, rampValue, signedIndex } from "../src/draw/color/scale";

/** CIE L* of a luminance. */
const lightness = (y: number): number =>
  y > 216 / 24389 ? 116 * Math.cbrt(y) - 16 : (y * 24389) / 27;

const cases = (["weight", "metric"] as const).flatMap((name) =>
  (["light", "dark"] as const).map((mode): [RampName, Mode] => [name, mode]),
);

describe.each(cases)("the %s ramp on %s", (name, mode) => {
  const steps = ramp(name, mode).rgb.map((rgb) => lightness(luminance(rgb)));

  test("moves in lightness one way only", () => {
    const sign = mode === "light" ? -1 : 1;
    for (let i = 4; i < RAMP_SIZE; i++)
      expect(sign * (steps[i]! - steps[i - 4]!)).toBeGreaterThan(0);
  });

  test("moves evenly: no quarter holds less than half of its share", () => {
    const whole = Math.abs(steps[255]! - steps[0]!);
    for (const start of [0, 64, 128, 191]) {
      expect(Math.abs(steps[start + 64]! - steps[start]!) / whole).toBeGreaterThan(0.125);
    }
  });

  test("begins near the ground that it lies on", () => {
    if (mode === "light") expect(steps[0]).toBeGreaterThan(93);
    else expect(steps[0]).toBeLessThan(16);
  });

  test("has the same bytes for canvases as for style sheets", () => {
    const { rgb, words, css } = ramp(name, mode);
    for (const i of [0, 100, 255]) {
      const [r, g, b] = rgb[i]!;
      expect(css[i]).toBe(`rgb(${r} ${g} ${b})`);
      expect([...new Uint8Array(new Uint32Array([words[i]!]).buffer)]).toEqual([r, g, b, 255]);
    }
  });

  test("carries text of at least 4.5 : 1 at every step (WCAG AA)", () => {
    for (const rgb of ramp(name, mode).rgb) {
      const y = luminance(rgb);
      const ratio = inkOn(rgb) === "#000" ? (y + 0.05) / 0.05 : 1.05 / (y + 0.05);
      expect(ratio).toBeGreaterThanOrEqual(4.5);
    }
  });
});

describe("a scale", () => {
  test("puts zero at the ramp's zero and the maximum at its end", () => {
    for (const scale of ["head", "sqrt"] as const) {
      expect(rampIndex(0, 0.4, scale)).toBe(0);
      expect(rampIndex(0.4, 0.4, scale)).toBe(255);
    }
    expect(rampIndex(0.4, 0.4, "unit")).toBe(102);
    expect(rampIndex(0, 0, "head")).toBe(0);
  });

  test("is undone by its legend", () => {
    for (const scale of ["head", "unit", "sqrt"] as const) {
      expect(rampValue(rampPosition(0.1, 0.4, scale), 0.4, scale)).toBeCloseTo(0.1, 12);
    }
  });
});

describe.each(["light", "dark"] as const)("the signed ramp on %s", (mode) => {
  const { rgb } = ramp("signed", mode);
  const steps = rgb.map((color) => lightness(luminance(color)));

  test("has its zero in the middle, without a hue, on the ground that it lies on", () => {
    for (const i of [127, 128]) {
      expect(Math.max(...rgb[i]!) - Math.min(...rgb[i]!)).toBeLessThanOrEqual(6);
      if (mode === "light") expect(steps[i]).toBeGreaterThan(95);
      else expect(steps[i]).toBeLessThan(12);
    }
  });

  test("weighs both signs alike: as light at the same distance from zero, in other hues", () => {
    for (let i = 0; i < 128; i++) expect(Math.abs(steps[i]! - steps[255 - i]!)).toBeLessThan(4);
    for (const far of [0, 30, 60]) {
      const [below, above] = [rgb[far]!, rgb[255 - far]!];
      expect(below[2]).toBeGreaterThan(below[0]);
      expect(above[0]).toBeGreaterThan(above[2]);
    }
  });

  test("moves in lightness one way only on each side", () => {
    const sign = mode === "light" ? -1 : 1;
    for (let i = 132; i < RAMP_SIZE; i++) {
      expect(sign * (steps[i]! - steps[i - 4]!)).toBeGreaterThan(0);
      expect(sign * (steps[255 - i]! - steps[259 - i]!)).toBeGreaterThan(0);
    }
  });
});

test("a signed value has its place on its own side of zero", () => {
  expect(signedIndex(0, 3)).toBe(128);
  expect(signedIndex(3, 3)).toBe(255);
  expect(signedIndex(-3, 3)).toBe(0);
  expect(signedIndex(1.5, 3) - 128).toBe(127 - signedIndex(-1.5, 3));
  expect(signedIndex(-1e-9, 3)).toBeLessThan(128);
  expect(signedIndex(5, 0)).toBe(128);
});
