/** A long matrix in words and as a table: the sentence over it, its exported links, the part in view. */

import { windowsOf } from "../../../draw/heatmap/axis";
import type { Geometry } from "../../../draw/heatmap/types";
import { strongestOf } from "../../../figures/derive/matrix";
import type { LinkList, LongRow, LongStore } from "../../../figures/long/store";
import { isOfElsewhere } from "../../../figures/nothing-to-see";
import type { Table } from "../../../figures/table";
import type { TokenColumns } from "../../../protocol/types";
import { Num } from "../../../ui/number";
import { AgainstChance, quoted } from "../../../ui/sentence";
import { Label } from "../group";

const WORD = /[\p{L}\p{N}]/u;
/** Among so many of the strongest keys a word is looked for. */
const LOOKED_AT = 12;

/** `the attends to nature (50): 9.3%, chance 0.2%; rest 0.41`: the strongest word of a row, and what its sink takes; nothing without a row. */
export function RowSentence({
  row,
  rest,
  tokens,
  name,
  error,
  shares,
}: Pick<LongStore, "error"> & {
  readonly row: LongRow | null;
  /** Share of a learned sink; null where there is none. */
  readonly rest: number | null;
  readonly tokens: TokenColumns;
  readonly name: (token: number) => string;
  /** True if the row is one of attention weights. */
  readonly shares: boolean;
}) {
  const best = row === null ? [] : strongestOf(row.values, LOOKED_AT);
  const key =
    best.find((i) => tokens.special[i] !== true && i !== row?.token && WORD.test(name(i))) ??
    best[0];
  if (row === null || key === undefined) {
    return <p class="aw-sentence" data-aw-part="sentence" hidden={row === null} />;
  }
  const value = row.values[key] ?? 0;
  const seen = row.values.reduce((count, weight) => count + Number(!Number.isNaN(weight)), 0);
  const chance = shares ? 1 / seen : Number.NaN;
  const elsewhere = isOfElsewhere(tokens);
  return (
    <p class="aw-sentence" data-aw-part="sentence">
      <Label text={quoted(name(row.token), elsewhere)} nth={row.token} />
      {" attends to "}
      {key === row.token ? "itself" : <Label text={quoted(name(key), elsewhere)} nth={key} />}
      <AgainstChance value={value} error={error(value)} chance={chance} />
      {rest !== null && (
        <>
          ; rest <Num value={rest} error={error(1)} />
        </>
      )}
    </p>
  );
}

/** One row a link, the strongest first; with a learned sink, its share in the query's row is the last column. */
export function linkTable(
  links: LinkList,
  name: (token: number) => string,
  rest: Float32Array | null,
): Table {
  const columns = ["query", "key", "query_text", "key_text", "weight"];
  return {
    columns: rest === null ? columns : [...columns, "rest"],
    rows: Array.from(links.queries, (query, i) => {
      const key = links.keys[i] ?? 0;
      const link = [query, key, name(query), name(key), links.weights[i] ?? 0];
      return rest === null ? link : [...link, rest[query] ?? null];
    }),
  };
}

export function partOf(g: Geometry, size: number): string {
  const { rows, columns } = windowsOf(g);
  const of = ([from, to]: readonly [number, number]): string =>
    `${Math.round(from)} to ${Math.round(to)}`;
  return `Queries ${of(rows)}, keys ${of(columns)} of ${size} tokens.`;
}
