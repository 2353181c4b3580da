/** The tokens that are selected or masked in a text, carried over to the next one by alignment. */

import type { Meta } from "../../../protocol/types";

type Tokens = Meta["tokens"];

/** The tokens of a selection. */
interface Chosen {
  readonly token: number | null;
  readonly pair: readonly [query: number, key: number] | null;
  readonly group: readonly number[];
}

/** The tokens that two texts share at their beginnings and at their ends. */
function shared(before: Tokens, after: Tokens): { readonly start: number; readonly end: number } {
  const [a, b] = [before.id.length, after.id.length];
  const same = (i: number, j: number): boolean =>
    before.surface[i] === after.surface[j] && before.segment[i] === after.segment[j];
  const most = Math.min(a, b);
  let start = 0;
  while (start < most && same(start, start)) start++;
  let end = 0;
  while (end < most - start && same(a - 1 - end, b - 1 - end)) end++;
  return { start, end };
}

/** Position of each token of `before` in `after`; null for one that was rewritten or has gone. */
function carrier(before: Tokens, after: Tokens): (token: number) => number | null {
  const { start, end } = shared(before, after);
  const [a, b] = [before.id.length, after.id.length];
  return (token) => {
    if (token < start) return token;
    return token >= a - end ? token - a + b : null;
  };
}

/** The positions of `after` that stand where masked ones of `before` stood. */
export function carriedMasks({ tokens, masked }: Pick<Meta, "tokens" | "masked">, after: Tokens) {
  const to = carrier(tokens, after);
  return masked.flatMap(({ token }) => to(token) ?? []);
}

/** Focus token, pinned pair and gathered tokens of the next text; a focus stays near a word that changes. */
export function carriedSelection(
  { token, pair, group }: Chosen,
  before: Tokens,
  after: Tokens,
): Chosen {
  const to = carrier(before, after);
  const [query, key] = [pair === null ? null : to(pair[0]), pair === null ? null : to(pair[1])];
  const near = (old: number): number => Math.min(old, after.special.lastIndexOf(false));
  return {
    token: token === null ? null : (to(token) ?? near(token)),
    pair: query === null || key === null ? null : [query, key],
    group: group.flatMap((token) => to(token) ?? []),
  };
}
