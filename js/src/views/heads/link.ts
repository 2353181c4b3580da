/** The link that a head is opened at: the focus token and the word that it attends to most. */

import { chanceOf } from "../../figures/chance";
import { isSink, isSquare, type Matrix, numOf } from "../../figures/matrix";
import { schemeOf, unitLabel } from "../../figures/names";
import { isUnknown } from "../../figures/nothing-to-see";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { Num, TokenColumns } from "../../protocol/types";

/** A link is worth telling from so many times chance on, as an opening is. */
const TELLS = 2;
const LETTER = /[\p{L}\p{N}]/u;

export interface Link {
  readonly query: string;
  readonly key: string;
  /** Their positions; null of a key in another text. */
  readonly tokens: readonly [query: number, key: number | null];
  readonly weight: Num;
  readonly chance: number;
}

/** Null where no other word gets much more than chance; `read` and `keyTokens`: tokens of the rows and of the columns. */
export function linkOf(
  matrix: Matrix | null,
  token: number | null,
  read: TokenColumns,
  keyTokens: TokenColumns,
): Link | null {
  const row = matrix?.queryOf(token) ?? -1;
  if (matrix === null || matrix.quantity !== "weights" || row < 0) return null;
  const { queries, keys, weights } = matrix;
  const query = itemAt(queries, row);
  const words = keys.map((unit, key) => {
    const other = !(isSquare(matrix) && key === row) && !isSink(unit, matrix.sink);
    return other && LETTER.test(unit.text) && !isUnknown(unit.text)
      ? itemAt(weights, row * keys.length + key)
      : Number.NaN;
  });
  const key = firstLargest(words);
  if (query.special || key < 0) return null;
  const [weight, chance] = [itemAt(words, key), chanceOf(matrix, row, key, keyTokens.text.length)];
  return weight > TELLS * chance
    ? {
        query: unitLabel(query, schemeOf(read)),
        key: unitLabel(itemAt(keys, key), schemeOf(keyTokens)),
        tokens: [query.token, isSquare(matrix) ? itemAt(keys, key).token : null],
        weight: numOf(matrix, weight),
        chance,
      }
    : null;
}
