/** A row of sections in words: what it gives another, against the other's share of the tokens, and what stays in it. */

import type { ComponentChildren } from "preact";
import { formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
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

/**
 * `Without special tokens, assistant 2 gives 41% of its attention to system, 1.9 times its share of the tokens; 30% stays in
 * assistant 2. Special tokens take 76% of the whole.`
 */
export function SectionSentence({
  matrix,
  row,
  children,
}: {
  readonly matrix: SentenceMatrix;
  readonly row: number;
  /** A sentence more. */
  readonly children?: ComponentChildren;
}) {
  const { width, values, elsewhere, outside, error } = matrix;
  const taken = elsewhere === null ? 0 : itemAt(elsewhere, row);
  const shareOf = (column: number): number => itemAt(values, row * width + column) / (1 - taken);
  const [noun] = nounsOf(matrix.sections);
  const timesOf = (column: number): number => shareOf(column) / chanceOf(matrix, row, column);
  const best = Array.from({ length: width }, (_, column) => column)
    .filter((column) => column !== row && timesOf(column) > 1)
    .reduce<number | null>((a, b) => (a === null || timesOf(b) > timesOf(a) ? b : a), null);
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
        ` looks at no other ${noun} beyond its share of the tokens; `
      ) : (
        <>
          {" gives "}
          {share(shareOf(best))}
          {" of its attention to "}
          {name(best)}
          {", "}
          <Num value={timesOf(best)} text={formatNumber(timesOf(best), 2)} />
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
      {children}
    </SentenceLine>
  );
}
