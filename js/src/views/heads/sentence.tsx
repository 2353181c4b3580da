/** The selected head in words: where it stands out among all heads of the model, and what else it links; a sink is called one. */

import { isAboveChance, isTelling } from "../../figures/chance";
import { formatCount, formatNumber, formatOrdinal } from "../../figures/format";
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

/** Object of "attention to", by the figure that measures it. */
const TARGETS: Readonly<Record<string, string>> = {
  syntax: "function words",
  semantics: "content words",
  cls: "the first token",
  punctuation: "punctuation",
  entities: "named entities",
  long_range: "tokens five or more places away",
  self: "the token itself",
  previous: "the previous token",
  next: "the next token",
};
/** A head stands out among so many of all, by share and by number. */
const FIRST = { share: 0.14, heads: 3 };
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

/** Figures of where the heads look, `[L, H]` flat, as far as they are known. */
function figuresOf(found: Found | null) {
  const { specialization, patterns } = found ?? {};
  return Object.keys(TARGETS).flatMap((key) => {
    const special = specialization?.keys.includes(key) === true;
    if (!special && patterns?.keys.includes(key) !== true) return [];
    const values = special ? specialization.values("raw", key) : (patterns?.values(key) ?? []);
    const chanceAt = (layer: number): number =>
      (special ? specialization : patterns)?.chance(key, layer) ?? Number.NaN;
    return [{ key, values, chanceAt }];
  });
}

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
    ...figuresOf(found).flatMap(({ key, values, chanceAt }) =>
      standingOf(key, of(values), index, chanceAt(layer)),
    ),
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
  /** The first token's share, where it makes the head a sink, and how many other heads are sinks. */
  readonly sink: (Standing & { readonly others: number }) | undefined;
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
  const rests = mean ? undefined : standings.find(({ key, raw }) => key === "cls" && raw >= SINK);
  const firsts = figuresOf(found).find(({ key }) => key === "cls")?.values ?? [];
  const others = Array.from(firsts).filter((share) => share >= SINK).length - 1;
  const sink = rests && { ...rests, others };
  const above = standings.filter(
    (standing) =>
      isAboveChance(standing.raw, standing.chance) &&
      !(sink !== undefined && standing.key === "cls"),
  );
  return { sink, above };
}

/** Nothing in a profile, where no chance is known. */
const Chance = ({ chance }: { readonly chance: number }) =>
  Number.isNaN(chance) ? null : (
    <>
      {", chance "}
      <Share value={chance} />
    </>
  );

/** A figure in words: `is 2nd of the 72 heads in attention to content words: 71%, chance 50%`. */
function Said({
  standing: { key, raw, chance, rank },
  all,
  first,
}: {
  readonly standing: Standing;
  /** `72 heads`. */
  readonly all: string;
  /** Name of the first token where it is special. */
  readonly first: string | null;
}) {
  if (key === "widely" || key === "narrowly")
    return (
      <>
        {`is the ${rank === 1 ? "" : `${formatOrdinal(rank)} `}${key === "widely" ? "widest" : "narrowest"} of the ${all}: a token looks at about `}
        <Num value={raw} text={formatNumber(raw, 2)} />
        {" tokens"}
      </>
    );
  return (
    <>
      {`is ${formatOrdinal(rank)} of the ${all} in attention to `}
      {key === "cls" && first !== null ? <bdi dir="ltr">{first}</bdi> : TARGETS[key]}
      {": "}
      <Share value={raw} />
      <Chance chance={chance} />
    </>
  );
}

interface Props {
  readonly source: Source;
  readonly layer: number;
  readonly head: HeadIndex;
  readonly standings: Standings;
  /** A link of the head that is not the focus token's; null where none tells. */
  readonly link?: Link | null;
  /** Make a token the focus token. */
  readonly choose: (token: number) => void;
}

/**
 * `L2 · H3 is 2nd of the 72 heads in attention to content words: 71%, chance 40%. It also links tree to climbed: 16%,
 * chance 7.1%.` `L0 · H1 is a sink: [CLS] gets 81% of a query’s attention, chance 8%.`
 * `L1 · H1 also links Rome to Italy: 39%, chance 4.3%.`
 */
export function HeadSentence({ source, layer, head, standings, link = null, choose }: Props) {
  const { model, profile, tokens } = source.meta;
  const { n_heads: nHeads, n_layers: nLayers } = model;
  const mean = head === "mean";
  const index = mean ? layer : layer * nHeads + head;
  const { above } = standings;
  const keys = keysOf(source.meta);
  if (above.length === 0 && standings.sink === undefined) return <SentenceLine />;
  if (profile === null && nothingToSee(keys) !== null) return <SentenceLine silent />;
  const over = profile === null ? "" : `Over ${formatCount(profile.n_texts)} texts, `;
  const count = mean ? nLayers : nLayers * nHeads;
  const first = Math.max(1, Math.min(FIRST.heads, Math.round(FIRST.share * count)));
  const all = `${formatCount(count)} ${mean ? "layers" : "heads"}`;
  // Most heads of a decoder are: that is nothing about this one.
  const sink =
    standings.sink && 2 * (standings.sink.others + 1) <= count ? standings.sink : undefined;
  const name = mean ? `${over === "" ? "Layer" : "layer"} ${layer}` : headName(layer, head);
  const among = above.filter(({ rank }) => rank <= first);
  const best = among.find(({ raw, chance }) => isTelling(raw, chance));
  const ends = best === undefined || mean ? null : intervalOf(source, best.key)?.(index);
  const firstToken = tokens.special[0] === true ? (tokens.text[0] ?? null) : null;
  const said = best && (
    <>
      <Said standing={best} {...{ all, first: firstToken }} />
      {ends && (
        <>
          {" (95% interval "}
          <Share value={ends[0]} />
          {" to "}
          <Share value={ends[1]} />
          {")"}
        </>
      )}
      {mean && " (mean of its heads)"}
    </>
  );
  const links = link !== null && (
    <>
      <TextWord text={link.query} position={link.tokens[0]} {...{ tokens, choose }} />
      {" to "}
      <TextWord
        text={link.key}
        position={link.tokens[1]}
        tokens={keys}
        choose={keys === tokens ? choose : null}
      />
      <AgainstChance {...link.weight} chance={link.chance} />
    </>
  );
  const linked = links && (
    <>
      {"links "}
      {links}
    </>
  );
  if (sink !== undefined)
    return (
      <SentenceLine of={keys}>
        {`${over}${name} is a sink${sink.others > 0 ? `, as ${sink.others === 1 ? "is another head" : `are ${formatCount(sink.others)} other heads`}` : ""}: `}
        {firstToken === null ? TARGETS.cls : <bdi dir="ltr">{firstToken}</bdi>}
        {" gets "}
        <Share value={sink.raw} />
        {" of a query’s attention"}
        <Chance {...sink} />
        {said && "; it "}
        {said}
        {linked && ". It also "}
        {linked}.
      </SentenceLine>
    );
  if (said || linked)
    return (
      <SentenceLine of={keys}>
        {`${over}${name} `}
        {said}
        {linked && (said ? ". It also " : "also ")}
        {linked}.
      </SentenceLine>
    );
  return <SentenceLine silent />;
}
