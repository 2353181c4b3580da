/** Color ramps, made in OKLCH so that lightness moves evenly, as 256-entry tables for canvases. */

import { itemAt } from "../../protocol/required";

/** Stops of a ramp: lightness 0..1, chroma, hue in degrees; evenly spaced. */
type Stop = readonly [lightness: number, chroma: number, hue: number];

const WEIGHT_DARK: readonly Stop[] = [
  [0.2, 0.02, 275],
  [0.352, 0.1, 290],
  [0.504, 0.17, 340],
  [0.656, 0.185, 25],
  [0.808, 0.15, 65],
  [0.96, 0.06, 100],
];
const WEIGHT_LIGHT: readonly Stop[] = [
  [0.975, 0.004, 90],
  [0.83, 0.09, 65],
  [0.685, 0.165, 35],
  [0.54, 0.18, 5],
  [0.395, 0.14, 325],
  [0.25, 0.08, 290],
];
const METRIC_DARK: readonly Stop[] = [
  [0.24, 0.015, 220],
  [0.54, 0.085, 200],
  [0.84, 0.1, 180],
];
const METRIC_LIGHT: readonly Stop[] = [
  [0.965, 0.008, 190],
  [0.675, 0.09, 200],
  [0.385, 0.075, 230],
];

/** From zero outwards: below zero blue, above it orange (distinguishable with any color vision). */
const BELOW_LIGHT: readonly Stop[] = [
  [0.975, 0.002, 250],
  [0.78, 0.09, 245],
  [0.58, 0.14, 250],
  [0.36, 0.13, 262],
];
const ABOVE_LIGHT: readonly Stop[] = [
  [0.975, 0.002, 70],
  [0.78, 0.12, 65],
  [0.58, 0.15, 45],
  [0.36, 0.11, 35],
];
const BELOW_DARK: readonly Stop[] = [
  [0.21, 0.004, 250],
  [0.42, 0.1, 258],
  [0.63, 0.13, 248],
  [0.87, 0.07, 230],
];
const ABOVE_DARK: readonly Stop[] = [
  [0.21, 0.004, 50],
  [0.42, 0.1, 40],
  [0.63, 0.15, 52],
  [0.87, 0.1, 82],
];

/** Nearest the root darkest (on dark: lightest); every entry at least 3:1 against the ground. */
const DEPTH_DARK: readonly Stop[] = [
  [0.9, 0.11, 150],
  [0.77, 0.11, 195],
  [0.66, 0.12, 250],
  [0.58, 0.16, 295],
];
const DEPTH_LIGHT: readonly Stop[] = [
  [0.34, 0.15, 295],
  [0.45, 0.13, 255],
  [0.55, 0.1, 210],
  [0.65, 0.13, 150],
];

/** `signed`: entry 0 is the most negative value, entries 127 and 128 are zero, 255 the most positive. */
export type RampName = "weight" | "metric" | "signed" | "depth";
export type Mode = "light" | "dark";

/** One run of stops, or two that meet in zero. */
const STOPS: Record<RampName, Record<Mode, readonly (readonly Stop[])[]>> = {
  weight: { light: [WEIGHT_LIGHT], dark: [WEIGHT_DARK] },
  metric: { light: [METRIC_LIGHT], dark: [METRIC_DARK] },
  depth: { light: [DEPTH_LIGHT], dark: [DEPTH_DARK] },
  signed: {
    light: [[...BELOW_LIGHT].reverse(), ABOVE_LIGHT],
    dark: [[...BELOW_DARK].reverse(), ABOVE_DARK],
  },
};

export type Rgb = readonly [number, number, number];

export const RAMP_SIZE = 256;

export interface Ramp {
  /** Bytes of each entry, for text contrast and tests. */
  readonly rgb: readonly Rgb[];
  /** The same as little-endian RGBA words, for `ImageData`. */
  readonly words: Uint32Array;
  /** The same as CSS colors. */
  readonly css: readonly string[];
}

/** OKLCH to sRGB bytes (Ottosson 2020, https://bottosson.github.io/posts/oklab/); null outside the gamut. */
function toRgb([lightness, chroma, hue]: Stop): Rgb | null {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  if (linear.some((value) => value < -1e-3 || value > 1 + 1e-3)) return null;
  return linear.map((value) => {
    const bounded = Math.min(Math.max(value, 0), 1);
    const encoded = bounded <= 0.0031308 ? 12.92 * bounded : 1.055 * bounded ** (1 / 2.4) - 0.055;
    return Math.round(255 * encoded);
  }) as unknown as Rgb;
}

/** The nearest color of the same lightness and hue that a screen can show. */
function inGamut(stop: Stop): Rgb {
  const [lightness, chroma, hue] = stop;
  for (let share = 1; share >= 0; share -= 0.02) {
    const rgb = toRgb([lightness, chroma * share, hue]);
    if (rgb !== null) return rgb;
  }
  return lightness > 0.5 ? [255, 255, 255] : [0, 0, 0];
}

function between(stops: readonly Stop[], t: number): Stop {
  const scaled = t * (stops.length - 1);
  const i = Math.min(Math.floor(scaled), stops.length - 2);
  const f = scaled - i;
  const [l0, c0, h0] = itemAt(stops, i);
  const [l1, c1, h1] = itemAt(stops, i + 1);
  const turn = ((h1 - h0 + 540) % 360) - 180;
  return [l0 + f * (l1 - l0), c0 + f * (c1 - c0), h0 + f * turn];
}

function make(runs: readonly (readonly Stop[])[]): Ramp {
  const length = RAMP_SIZE / runs.length;
  const rgb = runs.flatMap((stops) =>
    Array.from({ length }, (_, i) => inGamut(between(stops, i / (length - 1)))),
  );
  return {
    rgb,
    words: Uint32Array.from(rgb, ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0),
    css: rgb.map(([r, g, b]) => `rgb(${r} ${g} ${b})`),
  };
}

const ramps = new Map<string, Ramp>();

/** A ramp for a background; made once, the same for every widget. */
export function ramp(name: RampName, mode: Mode): Ramp {
  const key = `${name} ${mode}`;
  let ramp = ramps.get(key);
  if (ramp === undefined) {
    ramp = make(STOPS[name][mode]);
    ramps.set(key, ramp);
  }
  return ramp;
}

/** A ramp as a CSS image for a legend, of evenly spaced `stops`. */
export function rampImage(name: RampName, mode: Mode, stops: number): string {
  const { css } = ramp(name, mode);
  const colors = Array.from({ length: stops }, (_, i) =>
    itemAt(css, Math.round((i / (stops - 1)) * (RAMP_SIZE - 1))),
  );
  return `linear-gradient(to right, ${colors.join(", ")})`;
}

/** WCAG relative luminance of an sRGB color, 0..1. */
export function luminance([r, g, b]: Rgb): number {
  const linear = (byte: number): number => {
    const value = byte / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** Black or white, whichever reads better on a color. */
export function inkOn(color: Rgb): "#000" | "#fff" {
  return luminance(color) > 0.179 ? "#000" : "#fff";
}
