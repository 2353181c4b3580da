/** The content word from which a layer's attention brings most into another word's vector (ALTI). */

import { isTelling } from "../../figures/chance";
import type { Unit } from "../../figures/derive/units";
import { matrixRequest } from "../../figures/matrix";
import { plainIn } from "../../figures/plain-words";
import { isTold, type Told } from "../../figures/told-link";
import { arrayOf, itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { Source } from "../../protocol/types";

/** A longer text has no matrix of all tokens at hand. */
const TOKENS = 512;
/** The word of the head's own link gives so many times less. */
const LESS = 1.5;

export interface Taken {
  readonly layer: number;
  readonly word: Unit;
  readonly from: Unit;
  /** Share of what the vector gets from all other tokens; and of what it is made of, the share of its own. */
  readonly value: number;
  readonly chance: number;
  readonly own: number;
  /** The word that the head on screen attends to most, where that is another, and its share, which is much less. */
  readonly beside: { readonly word: Unit; readonly value: number } | null;
}

/**
 * The content word that gives a word the largest share; null where that is little, or another view names it. `weights`: `[n, n]`, rows
 * sum to 1.
 */
export function takenFrom(
  weights: ArrayLike<number>,
  layer: number,
  word: Unit,
  words: readonly Unit[],
  told: Told | null = null,
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
  const shareOf = ({ token, end }: Unit): number => sumOf(token, end) / (all - own);
  const shares = words.map((from, i) => (plain[i] || names[i] === self ? 0 : shareOf(from)));
  const best = firstLargest(shares);
  const [from, value] = [words[best], shares[best]];
  if (from === undefined || value === undefined || word.special) return null;
  const chance = (from.end - from.token) / (n - size);
  if (!isTelling(value, chance) || isTold(told, word, from)) return null;
  const linked = words.find((other) => isTold(told, word, other) && told?.[1].token !== word.token);
  const less = linked === undefined ? null : { word: linked, value: shareOf(linked) };
  const beside = less !== null && LESS * less.value <= value ? less : null;
  return { layer, word, from, value, chance, own: own / all, beside };
}

/** The content word that takes the largest multiple of chance from another. */
function takenElsewhere(
  weights: ArrayLike<number>,
  layer: number,
  words: readonly Unit[],
  told: Told | null,
): Taken | null {
  const plain = plainIn(words.map(({ surface }) => surface.trim().toLowerCase()));
  const all = words.flatMap((word, i): Taken[] => {
    const taken = plain[i] ? null : takenFrom(weights, layer, word, words, told);
    return taken === null ? [] : [{ ...taken, beside: null }];
  });
  return all[firstLargest(all.map(({ value, chance }) => value / chance))] ?? null;
}

/** Source of the focus word, else of another, but the link that another view names. */
export const takenIn = (
  weights: ArrayLike<number>,
  layer: number,
  word: Unit,
  words: readonly Unit[],
  told: Told | null,
): Taken | null =>
  takenFrom(weights, layer, word, words, told) ?? takenElsewhere(weights, layer, words, told);

/** Shares of ALTI in a layer, `[n, n]`; null where the mask lets a token look back alone, or the page has no answer. */
export async function askShares(
  source: Source,
  layer: number,
  signal: AbortSignal,
): Promise<ArrayLike<number> | null> {
  const { tokens, mask } = source.meta;
  const request = matrixRequest({ layer, head: "mean", quantity: "alti" });
  const has = source.has?.(request) ?? source.live;
  if (!has || mask !== undefined || tokens.text.length > TOKENS) return null;
  return arrayOf(await source.ask(request, { signal }), "weights").data;
}
