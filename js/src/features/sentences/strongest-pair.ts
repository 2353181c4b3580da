/** The two words of a sentence, or of two, between which most attention passes beyond chance. */

import { REFERRING } from "../../catalog/function-words";
import { isTelling } from "../../figures/chance";
import type { Unit } from "../../figures/derive/units";
import { wordsOf } from "../../figures/nothing-to-see";
import { plainIn } from "../../figures/plain-words";
import { isTold, type Told } from "../../figures/told-link";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { TokenColumns } from "../../protocol/types";
import type { TokenBlock } from "./data";

export interface Bridge {
  readonly from: Unit;
  readonly to: Unit;
  readonly value: number;
  readonly chance: number;
}

/**
 * The two words of a block of which one gives the other the largest multiple of chance. The value is the other's share of what
 * the first gives to words of the block; chance is its share of their tokens. Content words, and pronouns, that
 * look at no other word more; no neighbors, and not the two that another view names, in either direction. Null where none tells.
 */
export const strongestPair = (
  block: TokenBlock,
  tokens: TokenColumns,
  told: Told | null = null,
): Bridge | null => pairIn(block, tokens, false, told);

/** The word of a block that looks most, beyond chance, at the same word elsewhere: a reply takes it up. Null where none tells. */
export const sameWord = (block: TokenBlock, tokens: TokenColumns): Bridge | null =>
  pairIn(block, tokens, true, null);

function pairIn(
  { queries, keys, weights }: TokenBlock,
  tokens: TokenColumns,
  same: boolean,
  told: Told | null,
): Bridge | null {
  const words = wordsOf(tokens);
  const wordAt = (token: number) => words.findIndex((w) => w.token <= token && token < w.end);
  const [of, to] = [queries.map(wordAt), keys.map(wordAt)];
  const names = words.map(({ surface }) => surface.trim().toLowerCase());
  const plain = plainIn(names);
  const found = words.flatMap((from, query): readonly Bridge[] => {
    const name = itemAt(names, query);
    if (plain[query] && !REFERRING.has(name)) return [];
    const [gets, chances] = [words.map(() => 0), words.map(() => 0)];
    for (const [row, word] of of.entries()) {
      if (word !== query) continue;
      const cells = to.flatMap((key, column) => {
        const value = itemAt(weights, row * keys.length + column);
        return key < 0 || key === query || Number.isNaN(value) ? [] : [{ key, value }];
      });
      const given = cells.reduce((sum, { value }) => sum + value, 0);
      for (const { key, value } of cells) {
        gets[key] = itemAt(gets, key) + value;
        chances[key] = itemAt(chances, key) + given / cells.length;
      }
    }
    const total = gets.reduce((sum, value) => sum + value, 0);
    const most = Math.max(...gets.filter((_, key) => !isTold(told, from, itemAt(words, key))));
    return words.flatMap((to, key) =>
      plain[key] ||
      itemAt(gets, key) < most ||
      Math.abs(key - query) < 2 ||
      (name === names[key]) !== same ||
      isTold(told, from, to) ||
      !(itemAt(chances, key) > 0)
        ? []
        : [
            {
              ...{ from, to, value: itemAt(gets, key) / total },
              chance: itemAt(chances, key) / total,
            },
          ],
    );
  });
  const pair = found[firstLargest(found.map(({ value, chance }) => value / chance))];
  return pair !== undefined && isTelling(pair.value, pair.chance) ? pair : null;
}
