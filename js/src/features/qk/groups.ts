/** The sum of a side in groups: its largest entries by size, and the rest. */

import { largest } from "../../figures/derive/matrix";
import { itemAt } from "../../protocol/required";
import type { Found, Part, SideName } from "./data";

/** Entries that are listed of a group. */
const LISTED = 5;
/** Entries of a side that the kernel takes out at most. */
const CHECKED = 10;

interface Group {
  /** Null where one group is all. */
  readonly name: string | null;
  /** Entry and value, the largest first. */
  readonly rows: readonly { readonly part: number; readonly value: number }[];
  readonly rest: { readonly count: number; readonly of: string; readonly value: number } | null;
  readonly total: number;
}

/** Heads first, since they can be followed. */
const GROUPS: readonly (readonly [name: string, of: string, has: (part: Part) => boolean])[] = [
  ["Heads", "heads", ({ kind }) => kind === "head"],
  ["FFNs", "FFNs", ({ kind }) => kind === "ffn"],
  ["Embedding and biases", "parts", ({ kind }) => kind !== "head" && kind !== "ffn"],
];

function groupOf(
  name: string | null,
  of: string,
  members: readonly number[],
  sums: Float32Array,
): Group {
  const values = members.map((part) => itemAt(sums, part));
  const first = largest(values.map(Math.abs), LISTED);
  const rows = first.map((i) => ({ part: itemAt(members, i), value: itemAt(values, i) }));
  const total = values.reduce((sum, value) => sum + value, 0);
  const listed = rows.reduce((sum, { value }) => sum + value, 0);
  const count = members.length - rows.length;
  return { name, rows, total, rest: count > 0 ? { count, of, value: total - listed } : null };
}

/** The groups of a side; those without entries are left out. */
export function groupsOf(parts: readonly Part[], sums: Float32Array): readonly Group[] {
  const all = parts.map((_, i) => i);
  if (!parts.some(({ kind }) => kind === "head" || kind === "ffn"))
    return [groupOf(null, "tokens", all, sums)];
  return GROUPS.flatMap(([name, of, has]) => {
    const members = all.filter((i) => has(itemAt(parts, i)));
    return members.length > 0 ? [groupOf(name, of, members, sums)] : [];
  });
}

/** Entries of a side that the network is run without: those that are listed, heads first; a distance cannot be taken out. */
export function checkedOf({ parts, sums }: Found, side: SideName): readonly number[] {
  const rows = groupsOf(parts[side], sums[side]).flatMap(({ rows }) => rows);
  const order = (at: number): number => (itemAt(parts[side], at).kind === "head" ? 0 : 1);
  return rows
    .filter(({ part }) => itemAt(parts[side], part).kind !== "distance")
    .sort((a, b) => order(a.part) - order(b.part) || Math.abs(b.value) - Math.abs(a.value))
    .slice(0, CHECKED)
    .map(({ part }) => part);
}
