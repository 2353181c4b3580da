/** Units of an axis: tokens or words, with or without special tokens. */

import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";

/** One row or column as shown: a token, or the tokens of one word. */
export interface Unit {
  /** Index of the first token. */
  readonly token: number;
  /** Tokens `[first, end)`. */
  readonly end: number;
  /** As the tokenizer has it (one token) or as it stands in the text (a word). */
  readonly text: string;
  /** As it stands in the text. */
  readonly surface: string;
  readonly segment: number;
  readonly special: boolean;
}

/** A single token as a unit. */
export const unitOf = (tokens: TokenColumns, token: number): Unit => ({
  token,
  end: token + 1,
  text: itemAt(tokens.text, token),
  surface: itemAt(tokens.surface, token),
  segment: itemAt(tokens.segment, token),
  special: itemAt(tokens.special, token),
});

interface UnitOptions {
  readonly special: boolean;
  /** Word index of every token (null for none): given when words are to be merged. */
  readonly tokenWord?: readonly (number | null)[] | null;
}

/**
 * The characters that a token adds to the text; a character made of several byte-level tokens belongs to the first.
 * Empty for the others.
 */
export function partOf(tokens: TokenColumns, i: number): string {
  const surface = itemAt(tokens.surface, i);
  const follows = i > 0 && !tokens.special[i] && !tokens.special[i - 1];
  if (!follows || tokens.segment[i] !== tokens.segment[i - 1]) return surface;
  const shared = itemAt(tokens.end, i - 1) - itemAt(tokens.start, i);
  return shared > 0 ? [...surface].slice(shared).join("") : surface;
}

/** The text from one token to another (exclusive), as it stands in the input. */
export const textOf = (tokens: TokenColumns, first: number, end: number): string =>
  Array.from(
    { length: end - first },
    (_, k) => (k > 0 ? itemAt(tokens.before, first + k) : "") + partOf(tokens, first + k),
  ).join("");

/** The rows and columns to show, in order. */
export function unitsOf(tokens: TokenColumns, { special, tokenWord }: UnitOptions): Unit[] {
  const units: Unit[] = [];
  const n = tokens.text.length;
  for (let i = 0; i < n; ) {
    const word = tokenWord?.[i] ?? null;
    let end = i + 1;
    if (word !== null) while (end < n && tokenWord?.[end] === word) end++;
    const surface = end - i === 1 ? itemAt(tokens.surface, i) : textOf(tokens, i, end);
    const isSpecial = itemAt(tokens.special, i);
    if (special || !isSpecial) {
      units.push({
        token: i,
        end,
        text: end - i === 1 ? itemAt(tokens.text, i) : surface,
        surface,
        segment: itemAt(tokens.segment, i),
        special: isSpecial,
      });
    }
    i = end;
  }
  return units;
}

/** The unit that shows a token, or -1 when none does. */
export function unitOfToken(units: readonly Unit[], token: number | null): number {
  if (token === null) return -1;
  return units.findIndex((unit) => token >= unit.token && token < unit.end);
}

/** Units of the rows and of the columns of a matrix; the same array where both are one text. */
export interface Axes {
  readonly queries: readonly Unit[];
  readonly keys: readonly Unit[];
}

/** True if every token of a matrix of `m` columns is a unit of its own. */
const isWhole = ({ length }: ArrayLike<number>, m: number, { queries, keys }: Axes): boolean =>
  keys.length === m && queries.length * m === length;

/**
 * A matrix of `m` key tokens as seen by units, `[queries, keys]`: mean over a unit's query rows, sum over its key columns.
 * Rows of whole texts still sum to 1; columns that are left out are not given back to the others.
 */
export function project(matrix: Float32Array, m: number, axes: Axes): Float32Array {
  if (isWhole(matrix, m, axes)) return matrix;
  const { queries, keys } = axes;
  const result = new Float32Array(queries.length * keys.length);
  let cell = 0;
  for (const { token, end } of queries) {
    for (const key of keys) {
      let sum = 0;
      for (let i = token; i < end; i++) {
        for (let j = key.token; j < key.end; j++) sum += matrix[i * m + j] as number;
      }
      result[cell++] = sum / (end - token);
    }
  }
  return result;
}

/** Which cells are possible, as seen by units: possible when any of its cells is. */
export function projectAllowed(allowed: Uint8Array, m: number, axes: Axes): Uint8Array {
  if (isWhole(allowed, m, axes)) return allowed;
  const { queries, keys } = axes;
  const result = new Uint8Array(queries.length * keys.length);
  let cell = 0;
  for (const query of queries) {
    for (const key of keys) {
      for (let i = query.token; i < query.end && result[cell] === 0; i++) {
        for (let j = key.token; j < key.end; j++) {
          if (allowed[i * m + j] !== 0) result[cell] = 1;
        }
      }
      cell++;
    }
  }
  return result;
}

/** Cells of single tokens out of a matrix of `m` key tokens, `[queries, keys]`: nothing is averaged. Every unit is one token. */
export function selectCells(matrix: Float32Array, m: number, axes: Axes): Float32Array {
  if (isWhole(matrix, m, axes)) return matrix;
  const { queries, keys } = axes;
  const result = new Float32Array(queries.length * keys.length);
  let cell = 0;
  for (const query of queries) {
    for (const key of keys) result[cell++] = matrix[query.token * m + key.token] as number;
  }
  return result;
}

/** One value a token as seen by units: the sum over each unit's tokens, `[m]`. */
export function sumsOf(values: Float32Array, units: readonly Unit[]): Float32Array {
  return Float32Array.from(units, ({ token, end }) => {
    let sum = 0;
    for (let i = token; i < end; i++) sum += values[i] as number;
    return sum;
  });
}

/** The labels that stand more than once: there an index tells which is meant. */
export function repeated(labels: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  return new Set(labels.filter((label) => seen.size === seen.add(label).size));
}

/** `chosen` with all tokens of a unit, or with none of them where one is chosen; in the order of the text. */
export function toggled(
  chosen: readonly number[],
  { token, end }: Pick<Unit, "token" | "end">,
): readonly number[] {
  const others = chosen.filter((each) => each < token || each >= end);
  if (others.length < chosen.length) return others;
  const added = Array.from({ length: end - token }, (_, i) => token + i);
  return [...chosen, ...added].sort((a, b) => a - b);
}
