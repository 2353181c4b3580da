/** Formulas that put figures of heads on one scale, and the sources of what is drawn from them. */

import type { Reference } from "./catalog/types";
import { frac, type MathNode, mi, mo, mtext, row } from "./math";

/** For intervals over texts. */
export const EFRON: Reference = {
  text: "Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13, Chapman & Hall",
  doi: "10.1201/9780429246593",
};

/** Formula that puts the heads of a layer on one scale. */
export const SCALED: MathNode = frac(
  row(mi("x"), mo("−"), mi("min")),
  row(mi("max"), mo("−"), mi("min")),
);
export const SCALED_SPOKEN =
  "x minus the layer’s smallest, over the layer’s largest minus smallest";
export const STANDARD: MathNode = frac(
  row(mi("x"), mo("−"), mtext("mean")),
  mtext("standard deviation"),
);
export const STANDARD_SPOKEN = "x minus the mean of all heads, over their standard deviation";
