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
  /** The word that the head on screen attends to most, which is another, and its share, which is much less. */
  readonly beside: { readonly word: Unit; readonly value: number };
}

/**
 * The content word that gives a word the largest share, where it gives much more than the word to which a head links that one; else
 * null. `weights`: `[n, n]`, rows sum to 1.
 */
export function takenFrom(
  weights: ArrayLike<number>,
  layer: number,
  word: Unit,
  words: readonly Unit[],
  told: Told | null,
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
  if (linked === undefined) return null;
  const beside = { word: linked, value: shareOf(linked) };
  return LESS * beside.value > value
    ? null
    : { layer, word, from, value, chance, own: own / all, beside };
}

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
