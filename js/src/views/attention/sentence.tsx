/** One line in words above the pictures: what the focus word attends to, or the strongest link of all. */

import { chanceOf, isAboveChance } from "../../figures/chance";
import type { Unit } from "../../figures/derive/units";
import { isSink, isSquare, type Matrix, numOf } from "../../figures/matrix";
import { type AxisLabels, matrixName } from "../../figures/names";
import { nothingToSee } from "../../figures/nothing-to-see";
import { isNamed } from "../../figures/told-link";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { TokenColumns } from "../../protocol/types";
import { Num } from "../../ui/number";
import { AgainstChance, FocusWord, Quoted, SentenceLine, Share, Which } from "../../ui/sentence";
import type { TokenFacts } from "./facts";

/** A smaller weight that is not a multiple of chance is called weak, where something else gets more. */
const WEAK = { weight: 0.2, ratio: 4 };

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

/** Sentence for one focus row, or for all rows if `focus` is -1: between words where two are linked, no boilerplate among the keys; null if there is none. */
export function sentenceOf(
  matrix: Matrix,
  focus: number,
  boilerplate: readonly boolean[] = [],
): { readonly link: Link; readonly more: Link | null } | null {
  const { queries, keys } = matrix;
  const query = (row: number): boolean => queries[row]?.special === false;
  const word = (key: number): boolean =>
    isNamed(itemAt(keys, key), matrix.sink) && !boilerplate[itemAt(keys, key).token];
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

/**
 * `L2 · H3: it attends to large: 27%, chance 6%; most to [SEP]: 41%`. Where no other word is above chance, what is:
 * `“the” attends only to itself, 41%, and [CLS], 55%; to other words at chance (6%) or below`.
 */
export function Sentence({
  matrix,
  focus,
  labels,
  facts,
  tokens,
  wordless = false,
  choose,
}: {
  readonly matrix: Matrix;
  readonly focus: number;
  readonly labels: AxisLabels;
  readonly facts: TokenFacts;
  /** Tokens of the keys. */
  readonly tokens: TokenColumns;
  /** See `Meta`. */
  readonly wordless?: boolean | undefined;
  /** Make a query the focus token. */
  readonly choose?: (token: number) => void;
}) {
  const nothing = nothingToSee(tokens);
  if (nothing !== null) return <SentenceLine>{nothing}</SentenceLine>;
  const sentence = sentenceOf(matrix, focus, tokens.boilerplate);
  if (sentence === null) return <SentenceLine />;
  const { link, more } = sentence;
  const { queries, keys } = matrix;
  const focusOn = (unit: Unit) => (choose === undefined ? null : () => choose(unit.token));
  const named = (names: readonly string[], at: number) => (
    <span>
      <Quoted text={itemAt(names, at)} />
      <Which {...{ names, at }} />
    </span>
  );
  const key = (i: number) => (
    <FocusWord choose={isSquare(matrix) ? focusOn(itemAt(keys, i)) : null}>
      {named(labels.keys, i)}
    </FocusWord>
  );
  const query = (i: number) => (
    <>
      <FocusWord choose={focusOn(itemAt(queries, i))}>{named(labels.queries, i)}</FocusWord>
      {labels.written?.[i] != null && (
        <>
          {" → "}
          <Quoted text={labels.written[i]} />
        </>
      )}
    </>
  );
  const keyOf = ([row, column]: Link) =>
    column === row && isSquare(matrix) ? "itself" : key(column);
  const numOfLink = ([row, column]: Link) =>
    numOf(matrix, itemAt(matrix.weights, row * keys.length + column));
  const chance = ([row, column]: Link): number => chanceOf(matrix, row, column, tokens.text.length);
  const isAbove = (link: Link): boolean => isAboveChance(numOfLink(link).value, chance(link));
  const weak =
    more !== null && numOfLink(link).value < Math.min(WEAK.weight, WEAK.ratio * chance(link));
  const [verb, most] =
    matrix.quantity === "weights"
      ? [weak ? "attends weakly to" : "attends to", "most to"]
      : ["comes from", "most from"];
  const window = facts.window(itemAt(queries, link[0]).token);
  const between = !itemAt(queries, link[0]).special && !isSink(itemAt(keys, link[1]), matrix.sink);
  const among = wordless ? " apart from special tokens" : " between words";
  const where = `${matrixName(matrix)}${window === null ? "" : `, ${window}`}: `;
  if (!isAbove(link)) {
    const [row] = link;
    const above = keys.flatMap((unit, i): Link[] =>
      (i === row && isSquare(matrix)) || isSink(unit, matrix.sink) ? [[row, i]] : [],
    );
    const only = above.filter(isAbove);
    only.sort((a, b) => numOfLink(b).value - numOfLink(a).value);
    return (
      <SentenceLine of={tokens}>
        {where}
        {query(row)}
        {only.length === 0 ? " attends to no token above chance" : " attends only to "}
        {only.map((one, i) => (
          <span key={one[1]}>
            {i > 0 && (i === only.length - 1 ? " and " : ", ")}
            {keyOf(one)}
            {", "}
            <Share {...numOfLink(one)} />
          </span>
        ))}
        {only.length > 0 && `; to no other ${wordless ? "token" : "word"} above chance`}
        {", "}
        <Share value={chance(link)} />
      </SentenceLine>
    );
  }
  return (
    <SentenceLine of={tokens}>
      {where}
      {query(link[0])}
      {` ${verb} `}
      {keyOf(link)}
      <AgainstChance {...numOfLink(link)} chance={chance(link)} />
      {more !== null && (
        <>
          {`; ${most} `}
          {keyOf(more)}
          {": "}
          {matrix.quantity === "weights" ? (
            <Share {...numOfLink(more)} />
          ) : (
            <Num {...numOfLink(more)} />
          )}
        </>
      )}
      {focus < 0 && `, the strongest link${between ? among : ""}`}
    </SentenceLine>
  );
}
