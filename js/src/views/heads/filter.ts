/** Columns of the table of all heads: which heads a filter lets through, their order, and the kinds of columns shown. */

import { comparisonIn, headIn } from "../../figures/query";
import { itemAt } from "../../protocol/required";
import { largestFirst } from "../../protocol/ties";

export interface Sort {
  /** Key of a column, or `"head"` for layer and head. */
  readonly key: string;
  readonly descending: boolean;
}

export interface Column {
  readonly key: string;
  readonly name: string;
  /** Heading and filter word. */
  readonly short: string;
  /** Heading above a group of columns. */
  readonly group: string;
  /** One figure a head; NaN = N/A. */
  readonly values: ArrayLike<number>;
  /** Text in the cell instead of the number: the name of a role. */
  readonly text?: (value: number) => string;
  /** 95% interval of a mean, by head; null for none. */
  readonly interval?: (index: number) => readonly [number, number] | null;
}

type Test = (index: number) => boolean;
const letters = (text: string): string => text.toLowerCase().replace(/[^a-z]/g, "");

/**
 * The heads that pass a filter such as `L3`, `H5`, `3.5`, `entropy > 20` or `role: cls`; parts joined by `and` or `&` must
 * all hold. Null for a filter that cannot be read; an empty one lets every head through.
 */
export function parseFilter(text: string, columns: readonly Column[], nHeads: number): Test | null {
  const parts = text.split(/\s*(?:&|\band\b)\s*/i).map((part) => part.trim());
  const tests = parts.filter((part) => part !== "").map((part) => test(part, columns, nHeads));
  return tests.includes(null) ? null : (index) => tests.every((holds) => holds?.(index));
}

function test(part: string, columns: readonly Column[], nHeads: number): Test | null {
  const place = headIn(part);
  if (place !== null) return (index) => index === place.layer * nHeads + place.head;
  const [, axis, number] = /^([lh])\s*(\d+)$/i.exec(part) ?? [];
  if (axis !== undefined) {
    const layers = axis.toLowerCase() === "l";
    return (index) => (layers ? Math.floor(index / nHeads) : index % nHeads) === Number(number);
  }
  const [, name, text] = /^(role)\s*[:=]\s*(\S.*)$/i.exec(part) ?? [];
  if (name !== undefined && text !== undefined) {
    const roles = columns.find(
      ({ short, text }) => text && short.toLowerCase() === name.toLowerCase(),
    );
    if (roles === undefined) return null;
    return (index) =>
      roles.text?.(itemAt(roles.values, index)).toLowerCase().includes(text.toLowerCase()) ?? false;
  }
  const comparison = comparisonIn(part);
  if (comparison === null || Number.isNaN(comparison.limit)) return null;
  const wanted = letters(comparison.name);
  const column = columns.find(
    ({ short, name, key, text }) =>
      text === undefined && [short, name, key].some((label) => letters(label).startsWith(wanted)),
  );
  return column ? (index) => comparison.holds(itemAt(column.values, index)) : null;
}

/** Indices of the heads in the order of `sort`; N/A last, values equal up to rounding by layer and head. */
export function sortHeads(values: ArrayLike<number> | null, size: number, sort: Sort): number[] {
  const indices = Array.from({ length: size }, (_, index) => index);
  if (values === null) return sort.descending ? indices.reverse() : indices;
  return largestFirst(sort.descending ? values : Array.from(values, (value) => -value));
}

/** The choice of all kinds of columns. */
export const ALL = "All";
/** The kind that is always shown, and kinds that are shown together. */
const ALWAYS = "Role";
const TOGETHER: Readonly<Record<string, string>> = {
  Pattern: "Where it looks",
  Alignment: "Matrix",
};

export const kindOf = ({ group }: Pick<Column, "group">): string => TOGETHER[group] ?? group;

/** Kinds of columns to choose from, where there are several: with a profile's patterns the table is three screens wide. */
export function kindsOf(columns: readonly Column[]): string[] {
  const kinds = [...new Set(columns.map(kindOf))].filter((kind) => kind !== ALWAYS);
  return kinds.length > 1 ? [...kinds, ALL] : [];
}

/** Columns of a kind, and those that are always shown. */
export const columnsOfKind = (columns: readonly Column[], kind: string): readonly Column[] =>
  kind === ALL
    ? columns
    : columns.filter((column) => column.group === ALWAYS || kindOf(column) === kind);
