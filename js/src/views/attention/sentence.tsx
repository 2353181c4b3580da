/** One line in words above the pictures: what the focus word attends to, or the strongest link of all. */

import { repeated } from "../../figures/derive/units";
import { isSink, isSquare, type Matrix, numOf } from "../../figures/matrix";
import { type AxisLabels, matrixName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import { Num } from "../../ui/number";
import { SentenceLine } from "../../ui/sentence";
import type { TokenFacts } from "./facts";
import { UnitName } from "./group";

/** A query and a key, as units. */
type Link = readonly [row: number, key: number];

/** The largest weight of some rows among the keys that `counts` takes; null where all are 0. */
function strongest(
  { weights, keys: { length: size } }: Matrix,
  [first, end]: readonly [number, number],
  counts: (row: number, key: number) => boolean,
): Link | null {
  const links: Link[] = [];
  const found: number[] = [];
  for (let row = first; row < end; row++) {
    for (let key = 0; key < size; key++) {
      const weight = weights[row * size + key] as number;
      if (!(weight > 0) || !counts(row, key)) continue;
      links.push([row, key]);
      found.push(weight);
    }
  }
  return links[firstLargest(found)] ?? null;
}

/** Sentence for one focus row, or for all rows if `focus` is -1: between words where two are linked; null if there is none. */
export function sentenceOf(
  matrix: Matrix,
  focus: number,
): { readonly link: Link; readonly more: Link | null } | null {
  const { queries, keys } = matrix;
  const query = (row: number): boolean => queries[row]?.special === false;
  const word = (key: number): boolean => !isSink(itemAt(keys, key), matrix.sink);
  const other = isSquare(matrix) ? (row: number, key: number) => row !== key : () => true;
  if (focus < 0) {
    const every = [0, queries.length] as const;
    const link =
      strongest(matrix, every, (row, key) => other(row, key) && query(row) && word(key)) ??
      strongest(matrix, every, other);
    return link === null ? null : { link, more: null };
  }
  const rows = [focus, focus + 1] as const;
  const any = strongest(matrix, rows, () => true);
  const link = strongest(matrix, rows, (row, key) => other(row, key) && word(key)) ?? any;
  if (link === null || any === null) return null;
  return { link, more: any[1] === link[1] ? null : any };
}

/** `L2 · H3: it attends to large 0.270, most to [SEP] 0.413`. */
export function Sentence({
  matrix,
  focus,
  labels,
  facts,
}: {
  readonly matrix: Matrix;
  readonly focus: number;
  readonly labels: AxisLabels;
  readonly facts: TokenFacts;
}) {
  const sentence = sentenceOf(matrix, focus);
  if (sentence === null) return <SentenceLine />;
  const { link, more } = sentence;
  const { queries, keys } = matrix;
  const twice = repeated(labels.keys);
  const key = (i: number) => <UnitName {...{ units: keys, labels: labels.keys, twice, i }} />;
  const again = keys === queries ? twice : repeated(labels.queries);
  const query = (i: number) => (
    <>
      <UnitName {...{ units: queries, labels: labels.queries, twice: again, i }} />
      {labels.written?.[i] != null && (
        <>
          {" → "}
          <bdi dir="ltr">{labels.written[i]}</bdi>
        </>
      )}
    </>
  );
  const target = ([row, column]: Link) => (
    <>
      {column === row && isSquare(matrix) ? "itself" : key(column)}{" "}
      <Num {...numOf(matrix, itemAt(matrix.weights, row * keys.length + column))} />
    </>
  );
  const [verb, most] =
    matrix.quantity === "weights" ? ["attends to", "most to"] : ["comes from", "most from"];
  const window = facts.window(itemAt(queries, link[0]).token);
  return (
    <SentenceLine>
      {`${matrixName(matrix)}${window === null ? "" : `, ${window}`}: `}
      {query(link[0])}
      {` ${verb} `}
      {target(link)}
      {more !== null && (
        <>
          {`, ${most} `}
          {target(more)}
        </>
      )}
      {focus < 0 &&
        `, the strongest link${itemAt(queries, link[0]).special || isSink(itemAt(keys, link[1]), matrix.sink) ? "" : " between words"}`}
    </SentenceLine>
  );
}
