/** Chance: what a key gets in a row that attends to all keys it may see alike. */

import type { Unit } from "./derive/units";
import type { Matrix } from "./matrix";

const tokensIn = (units: readonly Unit[]): number =>
  units.reduce((count, { token, end }) => count + end - token, 0);

/**
 * Chance of a link between units, of a text of `tokens` keys: keys that are not shown get their shares. NaN for what is no
 * attention weight: those rows need not share out one.
 */
export function chanceOf(matrix: Matrix, row: number, key: number, tokens: number): number {
  const { quantity, keys, allowed } = matrix;
  const unit = keys[key];
  if (quantity !== "weights" || unit === undefined) return Number.NaN;
  const seen = keys.filter((_, i) => allowed === null || allowed[row * keys.length + i] !== 0);
  return (unit.end - unit.token) / (tokens - tokensIn(keys) + tokensIn(seen));
}

/** Two digits tell a value from chance if it is more than so much of it. */
const ABOVE = 1.05;
/** True unless the value is known to be about chance, or below. */
export const isAboveChance = (value: number, chance: number): boolean => !(value <= ABOVE * chance);

/** True where a share is worth a sentence: its odds are so many times those of chance, as far as chance is known. */
export const isTelling = (value: number, chance: number, times = 2): boolean =>
  !(value * (1 - chance) < times * chance * (1 - value));
