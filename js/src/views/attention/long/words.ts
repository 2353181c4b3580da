/** A long matrix in words and as a table: the sentence over it, its exported links, the part in view. */

import { h } from "../../../draw/dom";
import type { View } from "../../../draw/long/long-map";
import { exact, formatNumber } from "../../../figures/format";
import { strongestOf } from "../../../figures/long/pair";
import type { LinkList, LongRow, LongStore } from "../../../figures/long/store";
import type { Table } from "../../../figures/table";
import type { TokenColumns } from "../../../protocol/types";

/** Among so many of the strongest keys a word is looked for. */
const LOOKED_AT = 12;

/** `the attends to nature (50) 0.0926`: the strongest word of a row; nothing without a row. */
export function writeRow(
  line: HTMLElement,
  row: LongRow | null,
  tokens: TokenColumns,
  name: (token: number) => string,
  { error }: Pick<LongStore, "error">,
): void {
  line.hidden = row === null;
  if (row === null) return;
  const { token, values } = row;
  const best = strongestOf(values, LOOKED_AT);
  const key = best.find((one) => tokens.special[one] !== true && one !== token) ?? best[0];
  if (key === undefined) return;
  const value = values[key] ?? 0;
  const off = error(value);
  const bold = (index: number): HTMLElement => h("bdi", { dir: "ltr" }, name(index));
  const place = (index: number): HTMLElement =>
    h("span", { class: "aw-muted aw-nth" }, String(index));
  line.replaceChildren(
    bold(token),
    place(token),
    " attends to ",
    bold(key),
    place(key),
    " ",
    h(
      "span",
      { class: "aw-number", "data-aw-value": exact(value, off), title: exact(value, off) },
      formatNumber(value, undefined, off),
    ),
  );
}

export function linkTable(links: LinkList, name: (token: number) => string): Table {
  return {
    columns: ["query", "key", "query_text", "key_text", "weight"],
    rows: Array.from(links.queries, (query, i) => {
      const key = links.keys[i] ?? 0;
      return [query, key, name(query), name(key), links.weights[i] ?? 0];
    }),
  };
}

export function partOf({ rows, columns }: View, size: number): string {
  const of = ([from, to]: readonly [number, number]): string =>
    `${Math.round(from)} to ${Math.round(to)}`;
  return `Queries ${of(rows)}, keys ${of(columns)} of ${size} tokens.`;
}
