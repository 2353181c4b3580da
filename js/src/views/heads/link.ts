/** The link that a head is opened at: the focus token and the word that it attends to most. */

import { chanceOf } from "../../figures/chance";
import type { Unit } from "../../figures/derive/units";
import { isFunctionWord } from "../../figures/function-words";
import { isSink, isSquare, type Matrix, numOf } from "../../figures/matrix";
import { schemeOf, unitLabel } from "../../figures/names";
import { isUnknown, isWhole } from "../../figures/nothing-to-see";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { Num, TokenColumns } from "../../protocol/types";

/** A link is worth telling from so many times chance on, as an opening is. */
const TELLS = 2;
/** Least weight of another link of the head. */
const MORE = 0.15;
const LETTER = /[\p{L}\p{N}]/u;

interface Told {
  readonly query: string;
  readonly key: string;
  /** Their first tokens, each in its text. */
  readonly tokens: readonly [query: number, key: number];
  readonly weight: Num;
  readonly chance: number;
}

export interface Link extends Told {
  /** The strongest link of another word of this head: of content words that are no neighbors; null where none tells. */
  readonly next: Told | null;
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
  const square = isSquare(matrix);
  const counts = keys.map(
    (unit) => !isSink(unit, matrix.sink) && LETTER.test(unit.text) && !isUnknown(unit.text),
  );
  const content = (tokens: TokenColumns) => (unit: Unit) =>
    !isFunctionWord(unit.surface.trim()) && isWhole(tokens, unit.token, unit.end);
  const inRow = (row: number, takes: (key: number) => boolean): Told | null => {
    const words = keys.map((_, key) =>
      counts[key] && !(square && key === row) && takes(key)
        ? itemAt(weights, row * keys.length + key)
        : Number.NaN,
    );
    const key = firstLargest(words);
    if (key < 0) return null;
    const weight = itemAt(words, key);
    const chance = chanceOf(matrix, row, key, keyTokens.text.length);
    return weight > TELLS * chance
      ? {
          query: unitLabel(itemAt(queries, row), schemeOf(read)),
          key: unitLabel(itemAt(keys, key), schemeOf(keyTokens)),
          tokens: [itemAt(queries, row).token, itemAt(keys, key).token],
          weight: numOf(matrix, weight),
          chance,
        }
      : null;
  };
  if (itemAt(queries, row).special) return null;
  const link = inRow(row, () => true);
  if (link === null) return null;
  const [asks, answers] = [queries.map(content(read)), keys.map(content(keyTokens))];
  const name = ({ surface }: Unit): string => surface.trim().toLowerCase();
  const others = queries.flatMap((query, other) => {
    if (query.special || other === row || !LETTER.test(query.text) || isUnknown(query.text))
      return [];
    if (!asks[other] || name(query) === name(itemAt(queries, row))) return [];
    const found = inRow(other, (key) => {
      const far = !square || Math.abs(key - other) > 1;
      return far && answers[key] === true && name(itemAt(keys, key)) !== name(query);
    });
    return found === null || found.weight.value < MORE ? [] : [found];
  });
  const next = others[firstLargest(others.map(({ weight }) => weight.value))] ?? null;
  return { ...link, next };
}
