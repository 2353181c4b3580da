/** The selected head in words: where it looks more than others do, else over how many tokens it spreads. */

import { formatCount, formatOrdinal } from "../../figures/format";
import type { Patterns, Specialization } from "../../figures/head-figures";
import { headName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import { largestFirst } from "../../protocol/ties";
import type { HeadIndex, Source } from "../../protocol/types";
import { Num } from "../../ui/number";
import { SentenceLine } from "../../ui/sentence";
import { intervalOf, rankOf, standardized, summarize } from "./figures";

/** Object of "gives", by the figure that measures it. */
const TARGETS: Readonly<Record<string, string>> = {
  syntax: "function words",
  semantics: "content words",
  cls: "the first token",
  punctuation: "punctuation",
  entities: "named entities",
  long_range: "a token five or more places away",
  self: "the token itself",
  previous: "the token before",
  next: "the token after",
};

export interface Found {
  readonly specialization: Specialization;
  readonly patterns: Patterns | null;
}

/** A target of a head. */
interface Standing {
  readonly key: string;
  /** The figure of every head, `[L, H]` flat, and of this one. */
  readonly values: ArrayLike<number>;
  readonly raw: number;
  /** Raw as a multiple of chance; of a profile, standard deviations above the mean of all heads. */
  readonly stands: number;
}

/**
 * The targets of the heads at `indices`, the one in which they stand out most first, those that are equal up to rounding
 * in the order of the table; without those of which no figure is known. Compared with chance, or where there is none
 * (a profile), with all heads of the model.
 */
function standingsOf(
  { specialization, patterns }: Found,
  indices: readonly number[],
  profile: boolean,
  layer: number,
): readonly Standing[] {
  const meanOf = (values: ArrayLike<number>): number =>
    summarize(indices.map((index) => values[index] ?? Number.NaN)).mean;
  const all = Object.keys(TARGETS).flatMap((key): Standing[] => {
    const special = specialization.keys.includes(key);
    if (!special && patterns?.keys.includes(key) !== true) return [];
    const values = special ? specialization.values("raw", key) : (patterns?.values(key) ?? []);
    const chance = (special ? specialization : patterns)?.chance(key, layer) ?? Number.NaN;
    const raw = meanOf(values);
    return [{ key, values, raw, stands: profile ? meanOf(standardized(values)) : raw / chance }];
  });
  const ranked = all.filter(({ stands }) => Number.isFinite(stands));
  return largestFirst(ranked.map(({ stands }) => stands)).map((i) => itemAt(ranked, i));
}

interface Props {
  readonly source: Source;
  readonly layer: number;
  readonly head: HeadIndex;
  /** Null before the answer, and without one. */
  readonly found: Found | null;
  /** Effective keys of a query, `[L, H]` flat. */
  readonly spread: ArrayLike<number>;
}

/** `L2 · H3 gives [CLS] 4.00 times its chance share, the token before 1.80 times.` */
export function HeadSentence({ source, layer, head, found, spread }: Props) {
  const { model, profile, tokens } = source.meta;
  const { n_heads: nHeads, n_layers: nLayers } = model;
  const mean = head === "mean";
  const indices = mean
    ? Array.from({ length: nHeads }, (_, k) => layer * nHeads + k)
    : [layer * nHeads + head];
  const over = profile === null ? "" : `Over ${formatCount(profile.n_texts)} texts, `;
  const who = `${over}${mean ? `${over === "" ? "The" : "the"} heads of layer ${layer}` : headName(layer, head)}`;
  const gives = `${who} ${mean ? "give" : "gives"} `;
  const average = mean ? " on average" : "";
  const [best, second] = found === null ? [] : standingsOf(found, indices, profile !== null, layer);
  if (best === undefined) {
    const { mean: keys } = summarize(indices.map((index) => spread[index] ?? Number.NaN));
    if (Number.isNaN(keys)) return <SentenceLine />;
    return (
      <SentenceLine>
        {`${who} ${mean ? "spread" : "spreads"} a query’s attention as widely as over `}
        <Num value={keys} />
        {` equal tokens${average}.`}
      </SentenceLine>
    );
  }
  const { key, values, raw, stands } = best;
  const target = TARGETS[key] ?? key;
  if (profile !== null) {
    const [index = 0] = indices;
    const ends = mean ? null : intervalOf(source, key)?.(index);
    const rank = rankOf(values, raw);
    const place = rank === 1 ? "the most" : `the ${formatOrdinal(rank)} most`;
    return (
      <SentenceLine>
        {`${gives}${target} `}
        <Num value={raw} />
        {" of a query’s attention"}
        {ends && (
          <>
            {" (95% interval "}
            <Num value={ends[0]} />
            {" to "}
            <Num value={ends[1]} />
            {")"}
          </>
        )}
        {mean ? average : `, ${place} of all ${formatCount(nLayers * nHeads)} heads`}.
      </SentenceLine>
    );
  }
  if (stands <= 1) {
    return (
      <SentenceLine>
        {`${gives}none of the kinds of tokens below more than its chance share${average}.`}
      </SentenceLine>
    );
  }
  const of = (key: string) =>
    key === "cls" && tokens.special[0] === true ? (
      <bdi dir="ltr">{tokens.text[0]}</bdi>
    ) : (
      TARGETS[key]
    );
  return (
    <SentenceLine>
      {gives}
      {of(key)} <Num value={stands} />
      {` times ${target.endsWith("s") ? "their" : "its"} chance share`}
      {second !== undefined && second.stands > 1 && (
        <>
          {", "}
          {of(second.key)} <Num value={second.stands} />
          {" times"}
        </>
      )}
      {average}.
    </SentenceLine>
  );
}
