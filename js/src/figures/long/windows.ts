/** The windows that a long text was read in: which one a row is from, and where neighbors overlap. */

import type { Meta } from "../../protocol/types";
import type { Range } from "./levels";

type Windowed = Pick<Meta, "windows">;
export type Role = "query" | "key";

/** Tokens `[from, to)` that the windows `first` to `last` all read. */
interface Overlap {
  readonly from: number;
  readonly to: number;
  readonly first: number;
  readonly last: number;
}

const found = new WeakMap<object, readonly Overlap[]>();

/** Overlaps: tokens that two windows or more read, in the order of the text. */
export function overlapsOf({ windows }: Windowed): readonly Overlap[] {
  if (windows === undefined) return [];
  const cached = found.get(windows);
  if (cached !== undefined) return cached;
  const { spans } = windows;
  const edges = [...new Set(spans.flat())].sort((a, b) => a - b);
  const overlaps = edges.slice(1).flatMap((to, i) => {
    const from = edges[i] as number;
    const reads = ([start, end]: readonly number[]) =>
      (start as number) <= from && to <= (end as number);
    // Both ends of the windows ascend, so those that read a token follow each other.
    const [first, last] = [spans.findIndex(reads), spans.findLastIndex(reads)];
    return last > first ? [{ from, to, first, last }] : [];
  });
  found.set(windows, overlaps);
  return overlaps;
}

/** Its overlap, if a token lies in one. */
export const overlapAt = (meta: Windowed, token: number): Overlap | undefined =>
  overlapsOf(meta).find(({ from, to }) => token >= from && token < to);

/** The most windows that read one token. */
export const mostReads = (meta: Windowed): number =>
  Math.max(1, ...overlapsOf(meta).map(({ first, last }) => last - first + 1));

/** `windows 2 and 3`, `windows 2 to 4`. */
export const namesOf = ({ first, last }: Overlap): string =>
  `windows ${first + 1} ${last > first + 1 ? "to" : "and"} ${last + 1}`;

/**
 * `window 2 of 9`: that of a query's row; null where the text was read at once. Of an end of a link also the windows that read
 * its token, if there are several: `window 2 of 9, also in 3`, and of a key `in windows 2 and 3`.
 */
export function windowOf(meta: Windowed, token: number, role?: Role): string | null {
  const { windows } = meta;
  if (windows === undefined) return null;
  const overlap = role === undefined ? undefined : overlapAt(meta, token);
  if (role === "key") return overlap === undefined ? null : `in ${namesOf(overlap)}`;
  const own = windows.of[token] ?? 0;
  const said = `window ${own + 1} of ${windows.spans.length}`;
  if (overlap === undefined) return said;
  const all = Array.from({ length: overlap.last - overlap.first + 1 }, (_, i) => overlap.first + i);
  const others = all.filter((window) => window !== own).map((window) => window + 1);
  return `${said}, also in ${others.join(", ")}`;
}

/** The overlaps on an axis whose positions begin at `starts`, and end at the text's end; those that touch as one. */
export function axisRanges(meta: Windowed, starts: readonly number[] | null): Range[] {
  const ranges: [number, number][] = [];
  const place = (token: number): number => {
    if (starts === null) return token;
    const at = starts.findIndex((start) => start >= token);
    return at < 0 ? starts.length : at;
  };
  for (const { from, to } of overlapsOf(meta)) {
    const [start, end] = [place(from), place(to)];
    const before = ranges.at(-1);
    if (before?.[1] === start) before[1] = end;
    else if (end > start) ranges.push([start, end]);
  }
  return ranges;
}
