/** Passages as bars, the best first, and why one is above another: a signed sum over the query's words. */

import { formatCount, formatNumber } from "../../figures/format";
import type { Meta } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import type { Source } from "../../protocol/types";
import { Button } from "../../ui/controls";
import { Num } from "../../ui/number";
import { Change } from "../../ui/signs";
import { type DrawnPlace, lazyCode } from "../../views/contract";
import { merged, type Similar, unitsOf } from "./data";

/** Number of the query among thumbnails. */
const QUERY = -1;

type Ranked = NonNullable<NonNullable<Meta["similarity"]>["ranking"]>;

/** Small drawing of a passage, or of the query, that is no text. */
function Thumbnail({ source, of }: { readonly source: Source; readonly of: number }) {
  const type = source.meta.similarity?.ranking?.thumbnails?.[of];
  const bytes = source.arrays.get(`thumbnail:${of}`)?.data;
  const Small = lazyCode.peek()?.thumbnail;
  if (type === undefined || Small === undefined || !(bytes instanceof Uint8Array)) return null;
  return <Small type={type} bytes={bytes} />;
}

export function Ranking({
  source,
  ranking,
  chosen,
  against,
  choose,
  compare,
}: {
  readonly source: Source;
  readonly ranking: Ranked;
  readonly chosen: number;
  readonly against: number | null;
  readonly choose: (passage: number) => void;
  readonly compare: (passage: number | null) => void;
}) {
  const { query, passages, total, failed, complete } = ranking;
  const isDrawn = (of: number): boolean => ranking.thumbnails?.[of] !== undefined;
  const most = Math.max(...passages.map(({ score }) => Math.abs(score)));
  const notes = [
    passages.length < total && `${passages.length} of ${formatCount(total)} passages`,
    failed > 0 && `${formatCount(failed)} could not be read`,
    !complete && "the ranking was interrupted",
  ].filter(Boolean);
  return (
    <div class="aw-sim-ranking" data-aw-part="ranking">
      <div class={isDrawn(QUERY) ? "aw-sim-asked" : ""}>
        <Thumbnail source={source} of={QUERY} />
        <p class="aw-sim-query" data-aw-part="query" title={query}>
          <span class="aw-muted">Query </span>
          <bdi>{query}</bdi>
        </p>
      </div>
      <ol class="aw-scroll">
        {passages.map(({ index, text, score }, i) => (
          <li key={index}>
            <Button
              class={`aw-item aw-sim-passage${isDrawn(index) ? " is-drawn" : ""}`}
              data-passage={index}
              aria-pressed={index === chosen}
              onClick={() => choose(index)}
            >
              <span class="aw-muted aw-number">{i + 1}</span>
              <span class="aw-sim-track" aria-hidden="true">
                <span
                  class={score < 0 ? "is-less" : "is-more"}
                  style={{ inlineSize: `${most > 0 ? (100 * Math.abs(score)) / most : 0}%` }}
                />
              </span>
              <Num value={score} />
              <Thumbnail source={source} of={index} />
              <bdi class="aw-sim-text">{text}</bdi>
            </Button>
            <Button
              class="aw-plain-button aw-small"
              data-against={index}
              aria-pressed={index === against}
              label={`vs. passage ${i + 1}`}
              disabled={index === chosen}
              onClick={() => compare(index === against ? null : index)}
            >
              vs.
            </Button>
          </li>
        ))}
      </ol>
      {notes.length > 0 && <p class="aw-view-note">{notes.join("; ")}.</p>}
    </div>
  );
}

/** Why one passage is above another. */
export function Difference({
  one,
  two,
  ranks,
  words,
  areas,
}: {
  readonly one: Similar;
  readonly two: Similar;
  readonly ranks: readonly [number, number];
  readonly words: boolean;
  /** Areas of a query that is no text. */
  readonly areas: readonly DrawnPlace[] | null;
}) {
  const units = unitsOf(one.a, words);
  const [left, right] = [merged(one.a.values, units), merged(two.a.values, unitsOf(two.a, words))];
  // A reranker may have read less of the query with the second passage.
  const change = Float64Array.from(left, (value, i) => value - (right[i] ?? 0));
  const whole = one.score - two.score;
  const own = change.reduce((sum, value) => sum + value, 0);
  const special = change.reduce((sum, value, i) => (units.special[i] ? sum + value : sum), 0);
  const rows = [
    ...(areas?.map(({ name, tokens }) => ({
      name,
      value: tokens.reduce((sum, token) => sum + itemAt(change, token), 0),
    })) ??
      units.names.flatMap((name, i) =>
        units.special[i] ? [] : [{ name, value: itemAt(change, i) }],
      )),
    { name: "special tokens", value: special },
    // A reranker's passages add to its score by their own words.
    { name: one.kind === "relevance" ? "passages and biases" : "biases", value: whole - own },
  ];
  const top = Math.max(...rows.map(({ value }) => Math.abs(value)));
  return (
    <section data-aw-part="difference">
      <h3 class="aw-title">
        {`Passage ${ranks[0]} against passage ${ranks[1]}: what each ${areas === null ? "word" : "area"} of the query adds`}
      </h3>
      <table class="aw-compare-table aw-sim-sum">
        <tbody>
          {rows.map(({ name, value }, i) => (
            <tr key={i}>
              <th scope="row">
                <bdi>{name}</bdi>
              </th>
              <Change value={value} top={top} />
            </tr>
          ))}
          <tr class="aw-sim-total">
            <th scope="row">difference</th>
            <td>
              <Num part="difference-total" value={whole} text={`= ${formatNumber(whole)}`} />
            </td>
          </tr>
        </tbody>
      </table>
    </section>
  );
}
