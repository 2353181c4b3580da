/** The score in a sentence, and as a sum that closes. */

import type { ComponentChildren } from "preact";
import { formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { Num } from "../../ui/number";
import { quoted } from "../../ui/sentence";
import { Change } from "../../ui/signs";
import { type Deletions, deletedWords, type Shown, type Term, termsOf } from "./data";

export const TERMS = 6;
/** Below this a sum closes: the rounding of float32 in a dozen layers. */
const CLOSES = 1e-4;

const KINDS = { cosine: "cosine", dot: "dot product", maxsim: "MaxSim", relevance: "relevance" };

export const scoreName = (shown: Shown): string => KINDS[shown.similar.kind];

const Word = ({ children }: { readonly children: string }) => (
  <em dir="auto">{quoted(children)}</em>
);

/** A part of the score as the verb's object: `add 0.140 to the score of 0.500`. */
const partOf = (verbs: readonly [more: string, less: string], value: number, score: number) =>
  ` alone ${value < 0 ? verbs[1] : verbs[0]} ${formatNumber(Math.abs(value))} ` +
  `${value < 0 ? "from" : "to"} the score of ${formatNumber(score)}`;

/**
 * *guitar* and *instrument* alone add 0.140 to the score of 0.500; without *guitar* it is 0.310, without any other word
 * nearer; *the* takes hardly any part, 0.497 without it.
 */
export function Headline({
  shown,
  deletions,
  children,
}: {
  readonly shown: Shown;
  /** Content in place of the strongest pair of words. */
  readonly children?: ComponentChildren;
  /** Null as long as it is not known, and of tokens. */
  readonly deletions: Deletions | null;
}) {
  const { similar, a, b, matrix } = shown;
  const first = matrix?.ranked[0];
  const deleted = deletions && deletedWords(shown, deletions);
  const more = deleted && (
    <>
      {"; it changes most without "}
      <Word>{deleted.strongest.name}</Word>
      {`, to ${formatNumber(deleted.strongest.score)}`}
      {deleted.idle !== null && (
        <>
          {"; "}
          <Word>{deleted.idle.name}</Word>
          {` takes hardly any part: ${formatNumber(deleted.idle.score)} without it`}
        </>
      )}
    </>
  );
  if (children)
    return (
      <>
        {children}
        {more}.
      </>
    );
  if (first === undefined) {
    const term = termsOf(shown, 1)[0];
    if (term === undefined || (term.a === undefined && term.b === undefined)) return null;
    return (
      <>
        <Word>{term.name}</Word>
        {partOf(["adds", "takes"], term.value, similar.score)}
        {more}.
      </>
    );
  }
  const [one, two] = [itemAt(a.names, first.a), itemAt(b.names, first.b)];
  const same = one.toLowerCase() === two.toLowerCase();
  return (
    <>
      <Word>{one}</Word>
      {same ? " in both texts" : " and "}
      {!same && <Word>{two}</Word>}
      {partOf(same ? ["adds", "takes"] : ["add", "take"], first.value, similar.score)}
      {more}.
    </>
  );
}

/** The sum, a row for each term, the biases in a row of their own. */
export function Sum({
  shown,
  terms = termsOf(shown, TERMS),
  point,
}: {
  readonly shown: Shown;
  readonly terms?: readonly Term[];
  readonly point: (term: Partial<Term>) => void;
}) {
  const top = Math.max(...terms.map(({ value }) => Math.abs(value)));
  const total = terms.reduce((all, { value }) => all + value, 0);
  const gap = Math.abs(total - shown.similar.score);
  return (
    <table class="aw-compare-table aw-sim-sum" data-aw-part="similarity-sum">
      <caption class="aw-live">What the score is made of</caption>
      <tbody>
        {terms.map((term, i) => (
          <tr key={i} onPointerEnter={() => point(term)} onPointerLeave={() => point({})}>
            <th scope="row">
              <bdi>{term.name}</bdi>
            </th>
            <Change value={term.value} top={top} />
          </tr>
        ))}
        <tr class="aw-sim-total">
          <th scope="row">{scoreName(shown)}</th>
          <td>
            <Num part="similarity-total" value={total} text={`= ${formatNumber(total)}`} />
            {gap > CLOSES && ` (the model gives ${formatNumber(shown.similar.score)})`}
          </td>
        </tr>
      </tbody>
    </table>
  );
}
