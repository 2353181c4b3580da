/** The link of the focus token that the Attention view tells: other views tell what else there is. */

import { itemAt } from "../protocol/required";
import { firstLargest } from "../protocol/ties";
import type { Unit } from "./derive/units";
import { isSink, isSquare, type Matrix } from "./matrix";
import { isUnknown } from "./nothing-to-see";

const LETTER = /[\p{L}\p{N}]|\[MASK\]/u;

/** True of a key that a sentence names as a word. */
export const isNamed = (unit: Unit, sink?: boolean): boolean =>
  !isSink(unit, sink) && LETTER.test(unit.surface) && !isUnknown(unit.text);

export type Told = readonly [query: Unit, key: Unit];

/** The strongest link of a row to another word; null without a focus token, or such a link. */
export function toldLink(matrix: Matrix | null, token: number | null): Told | null {
  if (matrix === null) return null;
  const { queries, keys, weights, sink } = matrix;
  const row = matrix.queryOf(token);
  if (row < 0) return null;
  const key = firstLargest(
    keys.map((unit, i) =>
      (isSquare(matrix) && i === row) || !isNamed(unit, sink)
        ? Number.NaN
        : itemAt(weights, row * keys.length + i),
    ),
  );
  return key < 0 ? null : [itemAt(queries, row), itemAt(keys, key)];
}

const covers = ({ token, end }: Unit, part: Unit): boolean =>
  token <= part.token && part.token < end;

/** True of the two words of a link, in either direction. */
export const isTold = (told: Told | null, a: Unit, b: Unit): boolean =>
  told !== null &&
  ((covers(a, told[0]) && covers(b, told[1])) || (covers(a, told[1]) && covers(b, told[0])));
