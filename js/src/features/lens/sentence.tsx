/** The lens in words: from which layer on the model's answer stands, or which word settles last. */

import type { ComponentChildren } from "preact";
import type { TokenScheme } from "../../figures/format";
import { placeName } from "../../figures/guess";
import { schemeOf, tokenName } from "../../figures/names";
import { nothingToExpect } from "../../figures/nothing-to-expect";
import { isMask } from "../../figures/nothing-to-see";
import type { Meta } from "../../protocol/types";
import { SentenceLine, Share } from "../../ui/sentence";
import { TextWord, Word } from "../../ui/word";
import type { Mode } from "./data";
import {
  type Blocks,
  contentIn,
  latestOrFirst,
  most,
  positionsOf,
  type Settled,
  settledAt,
} from "./settled";

/** The position that the sentence asks about: the first mask, or the end of a decoder's text; null for no particular one. */
export const askedAt = ({ tokens: { text }, masked }: Meta, mode: Mode): number | null => {
  if (mode === "next") return text.length - 1;
  if (mode === "masked") return null;
  const mask = text.findIndex((each, i) => isMask(each) || masked.some(({ token }) => token === i));
  return mask < 0 ? null : mask;
};

const inLayer = (row: number): string => (row === 0 ? "the embedding" : `L${row - 1}`);

/** `from L28 on, after warm (12%) in L27; the last layer is L29` */
const from = ({ row, before }: Settled, last: number): ComponentChildren => [
  row === last && row > 0 ? `only in the last layer, ${inLayer(row)}` : `from ${inLayer(row)} on`,
  before && [
    ", after ",
    <Word key="before" text={before.word} />,
    " (",
    <Share key="" value={before.probability} />,
    `) in ${inLayer(row - 1)}`,
  ],
  row > 0 && row < last && `; the last layer is L${last - 1}`,
];

export function LensSentence({
  meta,
  mode,
  blocks,
  positions,
  busy,
  scheme,
  choose,
}: {
  readonly meta: Meta;
  readonly mode: Mode;
  readonly blocks: Blocks;
  /** Positions that are shown. */
  readonly positions: readonly number[];
  /** True while some are being read; of a long text those in sight are. */
  readonly busy: boolean;
  readonly scheme: TokenScheme;
  readonly choose: (token: number) => void;
}) {
  const { tokens } = meta;
  const isContent = contentIn(tokens);
  const context = { tokens, mode, scheme };
  const last = meta.model.n_layers;
  const say = (...parts: readonly ComponentChildren[]) => (
    <SentenceLine of={tokens}>{parts}.</SentenceLine>
  );
  const at = askedAt(meta, mode);
  const nothing = at === null ? nothingToExpect(tokens, false) : null;
  // Predictions says so.
  if (nothing !== null) return <SentenceLine silent />;
  const answer = at === null ? null : settledAt(blocks, at, context);
  if (at !== null && answer === null) return <SentenceLine />;
  const reads = positionsOf(meta, mode, positions);
  const wrote = mode === "next" && meta.written !== undefined && reads.length > 1;
  const place = (position: number) => (
    <TextWord
      key={position}
      text={placeOf(tokenName(tokens, position, schemeOf(tokens)), position)}
      {...{ tokens, position, choose }}
    />
  );
  const placeOf = (name: string, position: number): string =>
    mode === "next" ? placeName(tokens, position, name) : name;
  const open = answer?.kind === "begins" || answer?.kind === "continues";
  if (at !== null && answer !== null && !wrote && (isContent(answer) || open || reads.length < 2))
    return answer.kind === "continues"
      ? say(
          place(at),
          " becomes ",
          <Word text={answer.word} />,
          " (",
          <Share value={answer.probability} />,
          ") ",
          from(answer, last),
        )
      : say(
          <Word text={answer.word} />,
          " (",
          <Share value={answer.probability} />,
          mode === "next"
            ? `) is the likeliest next ${answer.whole ? "word" : "token"} `
            : ") stands at ",
          mode !== "next" && [place(at), " "],
          from(answer, last),
        );
  const words = reads;
  const all = words.flatMap((position) => settledAt(blocks, position, context) ?? []);
  // One position is not most of them.
  if ((busy && all.length < words.length) || all.length < 2) return <SentenceLine />;
  const middle = most(all);
  const by = middle === 0 ? "in the embedding" : middle === last ? "only" : `by L${middle - 1}`;
  const read = all.length < words.length ? ` of the ${all.length} positions that are read` : "";
  const lasting = all.filter(({ row }) => row === last).length;
  const many = 2 * lasting === all.length ? "half" : "most";
  const those = read || (many === "half" ? " of the positions" : " positions");
  const half = wrote ? `${many} settles ${by}` : `${many}${those} settle ${by}`;
  const content = all
    .filter(isContent)
    .sort(
      (a, b) =>
        b.row - a.row ||
        (mode === "next" ? 0 : Number(a.own !== null) - Number(b.own !== null)) ||
        b.probability - a.probability,
    );
  const told = latestOrFirst(content, middle, mode === "next", last);
  const settles = middle === last ? ` in the last layer, L${last - 1}` : "";
  // Most settle late in any text.
  if (told === null) return <SentenceLine silent />;
  const { others, one } = told;
  const { row } = one;
  const beyond = all.some(
    (other) => !isContent(other) && (told.first ? other.row <= row : other.row >= row),
  );
  const [second] = others;
  // A word that stands in the text needs no other to say where it is.
  const named = ({ position, word, own, probability }: Settled) => [
    own === null ? (
      <Word text={word} />
    ) : (
      <TextWord
        key="own"
        text={tokenName(tokens, own, schemeOf(tokens))}
        {...{ tokens, position: own, choose }}
      />
    ),
    " (",
    <Share value={probability} />,
    ") ",
    own === null && [mode === "next" ? "after " : "at ", place(position), " "],
  ];
  return say(
    wrote && "Of what it wrote, ",
    named(one),
    second && ["and ", named(second)],
    second ? "settle" : "settles",
    told.first ? " first" : " last",
    beyond && " of all content words",
    row === last ? `, in ${inLayer(row)}` : `, from ${inLayer(row)} on`,
    `; ${half}${told.first ? settles : ""}`,
  );
}
