/** Categories that no eye has to tell apart by color alone: a color, a shape and a letter each. */

import { itemAt } from "../../protocol/required";
import type { Mode, Rgb } from "./ramp";

interface Category {
  readonly letter: string;
  readonly rgb: Readonly<Record<Mode, Rgb>>;
  /** Path of the shape about the origin, some 10 px across. */
  readonly path: string;
}

/**
 * After Okabe & Ito (2008), https://jfly.uni-koeln.de/color/: darkened for light grounds and lightened for dark
 * ones, so that each stands out from the ground by 3:1 or more.
 */
export const CATEGORIES: readonly Category[] = [
  {
    letter: "A",
    rgb: { light: [0, 103, 163], dark: [98, 184, 240] },
    path: "M4.5 0A4.5 4.5 0 1 1 -4.5 0A4.5 4.5 0 1 1 4.5 0Z",
  },
  {
    letter: "B",
    rgb: { light: [191, 84, 0], dark: [240, 160, 30] },
    path: "M-4 -4H4V4H-4Z",
  },
  {
    letter: "C",
    rgb: { light: [0, 125, 92], dark: [46, 204, 158] },
    path: "M0 -5.2L5 4H-5Z",
  },
  {
    letter: "D",
    rgb: { light: [163, 60, 125], dark: [236, 150, 203] },
    path: "M0 -5.6L5.6 0L0 5.6L-5.6 0Z",
  },
  {
    letter: "E",
    rgb: { light: [128, 112, 0], dark: [236, 226, 90] },
    path: "M0 5.2L5 -4H-5Z",
  },
  {
    letter: "F",
    rgb: { light: [82, 72, 178], dark: [168, 164, 255] },
    path: "M-1.8 -5.2H1.8V-1.8H5.2V1.8H1.8V5.2H-1.8V1.8H-5.2V-1.8H-1.8Z",
  },
  {
    letter: "G",
    rgb: { light: [178, 36, 48], dark: [255, 140, 128] },
    path: "M0 -5.4L4.7 -2.7V2.7L0 5.4L-4.7 2.7V-2.7Z",
  },
  {
    letter: "H",
    rgb: { light: [84, 92, 102], dark: [196, 203, 212] },
    path: "M-5 -2.6L-2.6 -5L0 -2.4L2.6 -5L5 -2.6L2.4 0L5 2.6L2.6 5L0 2.4L-2.6 5L-5 2.6L-2.4 0Z",
  },
];

/** The category of a number; more than there are begin again. */
export const category = (index: number): Category => itemAt(CATEGORIES, index % CATEGORIES.length);

export const categoryColor = (index: number, mode: Mode): string =>
  `rgb(${category(index).rgb[mode].join(" ")})`;
