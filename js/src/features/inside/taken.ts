/** The content word from which a layer's attention brings most into another word's vector (ALTI). */

import type { Unit } from "../../figures/derive/units";
import { matrixRequest } from "../../figures/matrix";
import { plainIn } from "../../figures/plain-words";
import { arrayOf, itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { Source } from "../../protocol/types";

/** A longer text has no matrix of all tokens at hand. */
const TOKENS = 512;
/** A word gives something worth telling from so many times chance on; less than that where there is nothing else to tell. */
const TELLS = 1.3;
const ABOVE = 1.05;

/** True of what is worth telling even where something else is. */
export const tells = ({ value, chance }: Taken): boolean => value >= TELLS * chance;

export interface Taken {
  readonly layer: number;
  readonly word: Unit;
  readonly from: Unit;
  /** Share of what the vector gets from all other tokens; and of what it is made of, the share of its own. */
  readonly value: number;
  readonly chance: number;
  readonly own: number;
}

/** The content word that gives a word the largest share; null where none is above chance. `weights`: `[n, n]`, rows sum to 1. */
export function takenFrom(
  weights: ArrayLike<number>,
  layer: number,
  word: Unit,
  words: readonly Unit[],
): Taken | null {
  const n = Math.sqrt(weights.length);
  const size = word.end - word.token;
  const sumOf = (first: number, end: number): number => {
    let sum = 0;
    for (let row = word.token; row < word.end; row++)
      for (let key = first; key < end; key++) sum += itemAt(weights, row * n + key);
    return sum / size;
  };
  const [all, own] = [sumOf(0, n), sumOf(word.token, word.end)];
  const names = words.map(({ surface }) => surface.trim().toLowerCase());
  const plain = plainIn(names);
  const self = word.surface.trim().toLowerCase();
  const shares = words.map(({ token, end }, i) =>
    plain[i] || names[i] === self ? 0 : sumOf(token, end) / (all - own),
  );
  const best = firstLargest(shares);
  const [from, value] = [words[best], shares[best]];
  if (from === undefined || value === undefined || word.special) return null;
  const chance = (from.end - from.token) / (n - size);
  return value > ABOVE * chance ? { layer, word, from, value, chance, own: own / all } : null;
}

/** The content word that takes the largest multiple of chance from another, where the focus word takes nothing that tells. */
function takenElsewhere(
  weights: ArrayLike<number>,
  layer: number,
  words: readonly Unit[],
): Taken | null {
  const plain = plainIn(words.map(({ surface }) => surface.trim().toLowerCase()));
  const all = words.flatMap((word, i): Taken[] => {
    const taken = plain[i] ? null : takenFrom(weights, layer, word, words);
    return taken === null ? [] : [taken];
  });
  return all[firstLargest(all.map(({ value, chance }) => value / chance))] ?? null;
}

/** Null where the mask lets a token look back alone, or the page has no answer. */
export async function askTaken(
  source: Source,
  layer: number,
  word: Unit,
  words: readonly Unit[],
  signal: AbortSignal,
): Promise<Taken | null> {
  const { tokens, mask } = source.meta;
  const request = matrixRequest({ layer, head: "mean", quantity: "alti" });
  const has = source.has?.(request) ?? source.live;
  if (!has || mask !== undefined || tokens.text.length > TOKENS) return null;
  const weights = arrayOf(await source.ask(request, { signal }), "weights").data;
  const own = takenFrom(weights, layer, word, words);
  return own !== null && tells(own) ? own : takenElsewhere(weights, layer, words);
}
