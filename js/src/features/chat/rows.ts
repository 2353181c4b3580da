/** Rows of the picture of turns: the terms of each written token, and the scale that all bars have. */

import type { TurnContributions, Written } from "./data";

/** Biases below this share of all contributions are rounding: the model has none. */
const ROUNDING = 1e-6;

const hasBias = ({ values, bias }: Written): boolean =>
  Math.abs(bias) > ROUNDING * values.reduce((sum, value) => sum + Math.abs(value), 0);

export const BIASES = "biases";

/** Terms of a written token, as many as there are turns, and the biases. */
export const termsOf = (of: Written): readonly number[] => [
  ...of.values,
  hasBias(of) ? of.bias : 0,
];

export interface Picture {
  readonly found: TurnContributions;
  /** A row each: the turns, and the biases where the model has any. */
  readonly names: readonly string[];
  /** The ends of the scale, 0 between them. */
  readonly ends: readonly [low: number, high: number];
}

export function pictureOf(found: TurnContributions): Picture {
  const { written } = found;
  const all = written.flatMap(termsOf);
  return {
    found,
    names: [...found.names, ...(written.some(hasBias) ? [BIASES] : [])],
    ends: [Math.min(0, ...all), Math.max(0, ...all)],
  };
}
