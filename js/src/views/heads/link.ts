/** A second link of a head: the strongest of the words other than the focus token. */

import { REFERRING } from "../../catalog/function-words";
import { chanceOf, isTelling } from "../../figures/chance";
import type { Unit } from "../../figures/derive/units";
import { isSink, isSquare, type Matrix, numOf } from "../../figures/matrix";
import { schemeOf, unitLabel } from "../../figures/names";
import { isUnknown } from "../../figures/nothing-to-see";
import { isTold, toldLink } from "../../figures/told-link";
import { contentOf, isWhole } from "../../figures/whole-words";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { Num, TokenColumns } from "../../protocol/types";

/** A second link is worth telling from so many times the odds of chance on, and from so much weight. */
const TELLS = { odds: 3, weight: 0.1 };
const LETTER = /[\p{L}\p{N}]/u;

export interface Link {
  readonly query: string;
  readonly key: string;
  /** Their first tokens, each in its text. */
  readonly tokens: readonly [query: number, key: number];
  readonly weight: Num;
  readonly chance: number;
}

/**
 * The strongest link of another word than the focus token: of a content word, or a pronoun, to a content word that is no
 * neighbor. Null where none tells; `read` and `keyTokens`: tokens of the rows and of the columns.
 */
export function linkOf(
  matrix: Matrix | null,
  token: number | null,
  read: TokenColumns,
  keyTokens: TokenColumns,
): Link | null {
  if (matrix === null || matrix.quantity !== "weights") return null;
  const focus = matrix.queryOf(token);
  const { queries, keys, weights } = matrix;
  const square = isSquare(matrix);
  const name = ({ surface }: Unit): string => surface.trim().toLowerCase();
  const content = (tokens: TokenColumns, refers = false) => {
    const says = contentOf(tokens);
    return (unit: Unit) =>
      !unit.special &&
      LETTER.test(unit.text) &&
      !isUnknown(unit.text) &&
      (says(unit.surface) || (refers && REFERRING.has(name(unit)))) &&
      isWhole(tokens, unit.token, unit.end);
  };
  const refers = queries.map(content(read, true));
  const answers = keys.map(content(keyTokens));
  const own = focus < 0 ? null : name(itemAt(queries, focus));
  const told = toldLink(matrix, token);
  const found = queries.flatMap((query, row): Link[] => {
    if (!refers[row] || row === focus || name(query) === own) return [];
    const words = keys.map((unit, key) => {
      const far = !square || Math.abs(key - row) > 1;
      const tells =
        far &&
        answers[key] &&
        !isSink(unit, matrix.sink) &&
        name(unit) !== name(query) &&
        !isTold(told, query, unit);
      return tells ? itemAt(weights, row * keys.length + key) : Number.NaN;
    });
    const key = firstLargest(words);
    if (key < 0) return [];
    const weight = itemAt(words, key);
    const chance = chanceOf(matrix, row, key, keyTokens.text.length);
    if (!isTelling(weight, chance, TELLS.odds) || weight < TELLS.weight) return [];
    return [
      {
        query: unitLabel(query, schemeOf(read)),
        key: unitLabel(itemAt(keys, key), schemeOf(keyTokens)),
        tokens: [query.token, itemAt(keys, key).token],
        weight: numOf(matrix, weight),
        chance,
      },
    ];
  });
  return found[firstLargest(found.map(({ weight }) => weight.value))] ?? null;
}
