/** A row of sections in words: what it gives another, against the other's share of the tokens, and what stays in it. */

import type { ComponentChildren } from "preact";
import { formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { TokenColumns } from "../../protocol/types";
import { Num } from "../../ui/number";
import { SentenceLine, Share } from "../../ui/sentence";
import { nounsOf, type SentenceMatrix, sentenceName } from "./data";

/** Share of a column in the tokens of all sections that a row's tokens may look at, mean over these. */
export function chanceOf(
  { tokens, allowed, values }: Pick<SentenceMatrix, "tokens" | "allowed" | "values">,
  row: number,
  column: number,
): number {
  const n = Math.sqrt(allowed?.length ?? 0);
  // The mask of a long text is not here: one that forbids a section forbids what comes later.
  const back = allowed === null && values.some(Number.isNaN);
  const isAllowed = (query: number, key: number): boolean =>
    allowed === null ? !back || key <= query : allowed[query * n + key] !== 0;
  const queries = itemAt(tokens, row);
  const inSight = (query: number, keys: readonly number[]): number =>
    keys.filter((key) => isAllowed(query, key)).length;
  const all = tokens.flat();
  const shares = queries.map(
    (query) => inSight(query, itemAt(tokens, column)) / inSight(query, all),
  );
  return shares.reduce((sum, share) => sum + share, 0) / queries.length;
}

/** A section is named from so many times its share of the tokens on. */
const BEYOND = 1.2;

/** A column's share of what a row gives to tokens of sections, in multiples of its share of these tokens. */
function timesOf(matrix: SentenceMatrix, row: number, column: number): number {
  const taken = itemAt(matrix.elsewhere ?? [0], matrix.elsewhere === null ? 0 : row);
  const share = itemAt(matrix.values, row * matrix.width + column) / (1 - taken);
  return share / chanceOf(matrix, row, column);
}

/** The other section that gets most for its length; boilerplate is none. Null where there is none. */
export function otherSection(
  matrix: SentenceMatrix,
  row: number,
  { boilerplate }: Pick<TokenColumns, "boilerplate">,
): number | null {
  const others = matrix.tokens.flatMap((tokens, column) =>
    column === row || tokens.every((token) => boilerplate?.[token] === true) ? [] : [column],
  );
  const times = others.map((column) => timesOf(matrix, row, column));
  return others[firstLargest(times)] ?? null;
}

/**
 * `Without special tokens, assistant 2 gives 41% of its attention to system, 1.9 times its share of the tokens; 30% stays in
 * assistant 2. Special tokens take 76% of the whole.`
 */
export function SectionSentence({
  matrix,
  row,
  other,
  chosen,
  children,
}: {
  readonly matrix: SentenceMatrix;
  readonly row: number;
  /** See `otherSection`. */
  readonly other: number | null;
  /** The reader chose the row: then the line stands, too, where none gets much. */
  readonly chosen: boolean;
  /** A sentence more. */
  readonly children?: ComponentChildren;
}) {
  const { width, values, elsewhere, outside, error } = matrix;
  const taken = elsewhere === null ? 0 : itemAt(elsewhere, row);
  const shareOf = (column: number): number => itemAt(values, row * width + column) / (1 - taken);
  const [noun] = nounsOf(matrix.sections);
  const times = other === null ? Number.NaN : timesOf(matrix, row, other);
  const best = times >= BEYOND ? other : null;
  if (best === null && !chosen)
    return children ? <SentenceLine>{children}</SentenceLine> : <SentenceLine silent />;
  const name = (index: number) => (
    <bdi>
      <em>{sentenceName(matrix, index)}</em>
    </bdi>
  );
  const share = (value: number) => <Share value={value} error={error(value)} />;
  return (
    <SentenceLine>
      {taken > 0 && `Without ${outside}, `}
      {name(row)}
      {best === null ? (
        ` looks at no other ${noun} much beyond its share of the tokens; `
      ) : (
        <>
          {" gives "}
          {share(shareOf(best))}
          {" of its attention to "}
          {name(best)}
          {", "}
          <Num value={times} text={formatNumber(times, 2)} />
          {" times its share of the tokens; "}
        </>
      )}
      {share(shareOf(row))}
      {" stays in "}
      {name(row)}.
      {taken > 0 && (
        <>
          {` ${outside.charAt(0).toUpperCase()}${outside.slice(1)} take `}
          {share(taken)}
          {" of the whole."}
        </>
      )}
      {children && <> {children}</>}
    </SentenceLine>
  );
}
