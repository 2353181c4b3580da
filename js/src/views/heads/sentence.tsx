/** The selected head in words: where it stands out among all heads of the model; a sink is called one. */

import { isAboveChance } from "../../figures/chance";
import { formatCount, formatOrdinal } from "../../figures/format";
import type { Patterns, Specialization } from "../../figures/head-figures";
import { headName } from "../../figures/names";
import { nothingToSee } from "../../figures/nothing-to-see";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import { largestFirst } from "../../protocol/ties";
import type { HeadIndex, Source } from "../../protocol/types";
import { Num } from "../../ui/number";
import { AgainstChance, SentenceLine, Share } from "../../ui/sentence";
import { TextWord } from "../../ui/word";
import { intervalOf, rankOf, standardized, summarize } from "./figures";
import type { Link } from "./link";

/** Object of "gives", by the figure that measures it. */
const TARGETS: Readonly<Record<string, string>> = {
  syntax: "function words",
  semantics: "content words",
  cls: "the first token",
  punctuation: "punctuation",
  entities: "named entities",
  long_range: "tokens five or more places away",
  self: "the token itself",
  previous: "the token before",
  next: "the token after",
};
/** A head stands out among so many of all, by share, and where chance is known from so many times chance on. */
const FIRST = 0.05;
const NOTABLE = 1.5;
/** A head that gives its first token this share of its attention is a sink. */
const SINK = 0.5;

export interface Found {
  readonly specialization: Specialization;
  readonly patterns: Patterns | null;
}

/** A figure of a head, or of the heads of a layer on average. */
export interface Standing {
  readonly key: string;
  readonly raw: number;
  readonly chance: number;
  /** Among all heads, or the means of all layers; 1 = the largest. */
  readonly rank: number;
  /** Standard deviations above their mean. */
  readonly z: number;
}

/** Means of the heads of each layer. */
const byLayer = (values: ArrayLike<number>, nHeads: number): number[] =>
  Array.from(
    { length: values.length / nHeads },
    (_, layer) =>
      summarize(Array.from({ length: nHeads }, (_, k) => values[layer * nHeads + k] ?? Number.NaN))
        .mean,
  );

const standingOf = (
  key: string,
  values: ArrayLike<number>,
  index: number,
  chance: number,
): readonly Standing[] => {
  const raw = values[index] ?? Number.NaN;
  const z = standardized(values)[index] ?? Number.NaN;
  return Number.isFinite(z)
    ? [{ key, raw: Math.abs(raw), chance, rank: rankOf(values, raw), z }]
    : [];
};

/** The figures, that of the best rank first, equal ones by their distance from the mean; without those that are not known. */
function standingsOf(
  found: Found | null,
  spread: ArrayLike<number>,
  of: (values: ArrayLike<number>) => ArrayLike<number>,
  index: number,
  layer: number,
): readonly Standing[] {
  const keys = of(spread);
  const all = [
    ...Object.keys(TARGETS).flatMap((key) => {
      const [specialization, patterns] = [found?.specialization, found?.patterns];
      const special = specialization?.keys.includes(key) === true;
      if (!special && patterns?.keys.includes(key) !== true) return [];
      const values = special ? specialization.values("raw", key) : (patterns?.values(key) ?? []);
      const chance = (special ? specialization : patterns)?.chance(key, layer) ?? Number.NaN;
      return standingOf(key, of(values), index, chance);
    }),
    ...standingOf("widely", keys, index, Number.NaN),
    ...standingOf(
      "narrowly",
      Array.from(keys, (value) => -value),
      index,
      Number.NaN,
    ),
  ];
  const byDistance = largestFirst(all.map(({ z }) => z)).map((i) => itemAt(all, i));
  return byDistance.sort((a, b) => a.rank - b.rank);
}

/** Figures in which a head, or a layer, stands out. */
export interface Standings {
  /** The first token's share, where it makes the head a sink. */
  readonly sink: Standing | undefined;
  /** The figures above chance, that of the best rank first; without a sink's. */
  readonly above: readonly Standing[];
}

export const NO_STANDINGS: Standings = { sink: undefined, above: [] };

export function standingsIn(
  { meta }: Source,
  { layer, head }: { readonly layer: number; readonly head: HeadIndex },
  found: Found | null,
  /** Effective keys of a query, `[L, H]` flat. */
  spread: ArrayLike<number>,
): Standings {
  const { n_heads: nHeads } = meta.model;
  const mean = head === "mean";
  const index = mean ? layer : layer * nHeads + head;
  const of = (values: ArrayLike<number>) => (mean ? byLayer(values, nHeads) : values);
  const standings = standingsOf(found, spread, of, index, layer);
  const sink = mean ? undefined : standings.find(({ key, raw }) => key === "cls" && raw >= SINK);
  const above = standings.filter(
    (standing) =>
      isAboveChance(standing.raw, standing.chance) &&
      !(sink !== undefined && standing.key === "cls"),
  );
  return { sink, above };
}

interface Props {
  readonly source: Source;
  readonly layer: number;
  readonly head: HeadIndex;
  readonly standings: Standings;
  /** Null where the focus token has no link that is worth telling. */
  readonly link?: Link | null;
  /** Make a token the focus token. */
  readonly choose: (token: number) => void;
}

/** Nothing in a profile, where no chance is known. */
const Chance = ({ chance }: { readonly chance: number }) =>
  Number.isNaN(chance) ? null : (
    <>
      {", chance "}
      <Share value={chance} />
    </>
  );

const place = (rank: number): string => (rank === 1 ? "most" : `${formatOrdinal(rank)} most`);

/** A figure in words: `gives content words the 2nd most: 71% of a query’s attention, chance 50%`. */
function Said({
  standing: { key, raw, chance, rank },
  several,
  first,
}: {
  readonly standing: Standing;
  readonly several: boolean;
  /** Name of the first token where it is special. */
  readonly first: string | null;
}) {
  if (key === "widely" || key === "narrowly")
    return (
      <>
        {`${several ? "spread" : "spreads"} attention the ${place(rank)} ${key}: over `}
        <Num value={raw} />
        {" keys of a query"}
      </>
    );
  return (
    <>
      {several ? "give " : "gives "}
      {key === "cls" && first !== null ? <bdi dir="ltr">{first}</bdi> : TARGETS[key]}
      {` the ${place(rank)}: `}
      <Share value={raw} />
      {" of a query’s attention"}
      <Chance chance={chance} />
    </>
  );
}

/**
 * `In L3 · H1 “it” attends to trophy: 61%, chance 5.9%.`, where the focus token has a link that tells, and then what the head
 * is: `Of the 72 heads, L2 · H3 gives content words the 2nd most: 71% of a query’s attention, chance 40%.` `L0 · H1 is a sink:
 * [CLS] gets 81% of a query’s attention, chance 8%.` `L1 · H1 is an ordinary head on this text: none of its figures stands out
 * among the 72 heads.`
 */
export function HeadSentence({ source, layer, head, standings, link = null, choose }: Props) {
  const { model, profile, tokens } = source.meta;
  const { n_heads: nHeads, n_layers: nLayers } = model;
  const mean = head === "mean";
  const index = mean ? layer : layer * nHeads + head;
  const { sink, above } = standings;
  if (above.length === 0 && sink === undefined) return <SentenceLine />;
  const nothing = profile === null ? nothingToSee(keysOf(source.meta)) : null;
  if (nothing !== null) return <SentenceLine>{nothing}</SentenceLine>;
  const over = profile === null ? "" : `Over ${formatCount(profile.n_texts)} texts, `;
  const count = mean ? nLayers : nLayers * nHeads;
  const first = Math.max(1, Math.round(FIRST * count));
  const all = `${formatCount(count)} ${mean ? "layers" : "heads"}`;
  const name = mean ? `the heads of layer ${layer}` : headName(layer, head);
  const who = link === null ? name : mean ? "these heads" : "this head";
  const begin = (words: string) =>
    over === "" ? words[0]?.toUpperCase() + words.slice(1) : over + words;
  const best = above.find(({ rank, raw, chance }) => rank <= first && !(raw < NOTABLE * chance));
  const ends = best === undefined || mean ? null : intervalOf(source, best.key)?.(index);
  const said = best && (
    <>
      <Said
        standing={best}
        several={mean}
        first={tokens.special[0] === true ? (tokens.text[0] ?? null) : null}
      />
      {ends && (
        <>
          {" (95% interval "}
          <Share value={ends[0]} />
          {" to "}
          <Share value={ends[1]} />
          {")"}
        </>
      )}
    </>
  );
  // Behind a link nothing is added that would stand under most texts: an ordinary head, or a sink that is not among the first.
  const next = said ? null : (link?.next ?? null);
  const isSink = sink !== undefined && (link === null || sink.rank <= first);
  const rest = link === null || said || next !== null || isSink;
  const keys = keysOf(source.meta);
  const attends = ({ query, key, tokens: [from, to] }: Omit<Link, "next">, verb: string) => (
    <>
      <TextWord text={query} position={from} {...{ tokens, choose }} />
      {verb}
      <TextWord text={key} position={to} tokens={keys} choose={keys === tokens ? choose : null} />
    </>
  );
  const is = mean ? "are ordinary" : `is ${link === null ? "an ordinary head" : "ordinary"}`;
  return (
    <SentenceLine>
      {link !== null && (
        <>
          {`In ${name} `}
          {attends(link, " attends to ")}
          <AgainstChance {...link.weight} chance={link.chance} />
          {rest && ". "}
        </>
      )}
      {next !== null ? (
        <>
          {"Elsewhere the head links "}
          {attends(next, " to ")}
          <AgainstChance {...next.weight} chance={next.chance} />
        </>
      ) : !rest ? null : isSink ? (
        <>
          {`${begin(`${who} is a sink`)}: `}
          {tokens.special[0] === true ? <bdi dir="ltr">{tokens.text[0]}</bdi> : TARGETS.cls}
          {" gets "}
          <Share value={sink.raw} />
          {" of a query’s attention"}
          <Chance {...sink} />
          {said && `; of the ${all} it `}
          {said}
        </>
      ) : said ? (
        <>
          {begin(`of the ${all}, ${who} `)}
          {said}
        </>
      ) : (
        `${begin(`${who} ${is}`)}${profile === null ? " on this text" : ""}: none of ${mean ? "their" : "its"} figures stands out among the ${all}`
      )}
      .
    </SentenceLine>
  );
}
