// @vitest-environment node
import { describe, expect, test } from "vitest";
import { inkOn, luminance, type Mode, RAMP_SIZE, type RampName, ramp } from "../src/draw/ramp";
import { rampIndex, rampPosition, rampValue } from "../src/draw/scale";

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
