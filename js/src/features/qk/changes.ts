/** Entries of the sums of two runs next to each other. */

import type { ComparedPair } from "../../views/contract";
import type { Found, Part, SideName } from "./data";

/** An entry by its index in A and in B; null in the run that has none like it, where it brings nothing. */
export interface ChangedPart {
  readonly a: number | null;
  readonly b: number | null;
  readonly values: readonly [a: number, b: number];
}

type Partners = ComparedPair["partners"];

const keyOf = ({ kind, layer, head, token, text }: Part): string =>
  [kind, layer, head, token, text].join(" ");

/** The entry of B that belongs to one of A, as a part; null without a partner. */
function partnerOf(part: Part, side: SideName, { token, head }: Partners): Part | null {
  if (part.kind === "token") {
    const text = part.text === undefined ? side : part.text === 0 ? "key" : "query";
    const other = token(text, part.token ?? -1);
    return other === null ? null : { ...part, token: other };
  }
  if (part.kind !== "head") return part;
  const other = head(part.layer ?? -1, part.head ?? -1);
  return other && { ...part, layer: other[0], head: other[1] };
}

/** All entries of a side, those that change most first: its values add up to the contrast of each run. */
export function changesOf(
  a: Found,
  b: Found,
  side: SideName,
  partners: Partners,
): readonly ChangedPart[] {
  const left = new Map(b.parts[side].map((part, at) => [keyOf(part), at]));
  const rows = a.parts[side].map((part, at): ChangedPart => {
    const partner = partnerOf(part, side, partners);
    const key = partner === null ? "" : keyOf(partner);
    const other = left.get(key) ?? null;
    left.delete(key);
    return { a: at, b: other, values: [broughtBy(a, side, at), broughtBy(b, side, other)] };
  });
  for (const at of left.values())
    rows.push({ a: null, b: at, values: [0, broughtBy(b, side, at)] });
  return rows.sort((one, other) => Math.abs(changeOf(other)) - Math.abs(changeOf(one)));
}
export const changeOf = ({ values: [a, b] }: ChangedPart): number => b - a;
const broughtBy = ({ sums }: Found, side: SideName, at: number | null): number =>
  at === null ? 0 : (sums[side][at] ?? 0);
