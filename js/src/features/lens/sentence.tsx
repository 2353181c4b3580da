/** The lens in words: from which layer on the model's answer stands, or which word settles last. */

import type { ComponentChildren } from "preact";
import type { TokenScheme } from "../../figures/format";
import {
  isForeignFunctionWord,
  isFunctionWord,
  isFunctionWordElsewhere,
} from "../../figures/function-words";
import { type Guessed, guessAfter, placeName } from "../../figures/guess";
import { schemeOf, tokenName } from "../../figures/names";
import { nothingToExpect } from "../../figures/nothing-to-expect";
import { isMask, isOfElsewhere } from "../../figures/nothing-to-see";
import { isWhole } from "../../figures/whole-words";
import { itemAt } from "../../protocol/required";
import type { Meta, TokenColumns } from "../../protocol/types";
import { SentenceLine, Share } from "../../ui/sentence";
import { TextWord, Word } from "../../ui/word";
import { type Block, blockOf, type Mode } from "./data";

export type Blocks = ReadonlyMap<number, Block>;

/** The last layer's choice at a position, and the row from which on it stands. */
interface Settled {
  readonly position: number;
  readonly row: number;
  readonly word: string;
  /** True if the word stands alone: no piece of a longer one. */
  readonly whole: boolean;
  /** The guess's relation to the word before; null of an encoder. */
  readonly kind: Guessed["kind"] | null;
  /** The word's position in the text, which is the next one of a decoder; null where the text has another word there. */
  readonly own: number | null;
  readonly probability: number;
}

/** A word that says something alone: no mark, no piece, no single letter, no function word. */
const contentIn =
  (tokens: TokenColumns) =>
  ({ word, whole }: Settled): boolean =>
    whole &&
    /^(?![[<]).*[\p{L}\p{N}].*[\p{L}\p{N}]/u.test(word) &&
    !isFunctionWord(word) &&
    !(isOfElsewhere(tokens) ? isFunctionWordElsewhere : isForeignFunctionWord)(word);

const LETTER = /[\p{L}\p{N}]/u;

/** True where a token is part of a longer word of the text. */
function isPiece({ text, surface, before, special }: TokenColumns, position: number): boolean {
  const joined = (i: number): boolean =>
    special[i] === false &&
    special[i + 1] === false &&
    (before[i + 1] === "" || itemAt(text, i + 1).startsWith("##")) &&
    LETTER.test(itemAt(surface, i).slice(-1)) &&
    LETTER.test(itemAt(surface, i + 1).charAt(0));
  return joined(position - 1) || joined(position);
}

/** True if a token of the vocabulary begins a word, as far as its mark tells. */
const beginsWord = (token: string, scheme: TokenScheme): boolean =>
  scheme === "byte-level" || scheme === "metaspace"
    ? /^[Ġ▁]/u.test(token)
    : !token.startsWith("##");

/** The position that the sentence asks about: the first mask, or the end of a decoder's text; null for no particular one. */
export const askedAt = ({ tokens: { text }, masked }: Meta, mode: Mode): number | null => {
  if (mode === "next") return text.length - 1;
  if (mode === "masked") return null;
  const mask = text.findIndex((each, i) => isMask(each) || masked.some(({ token }) => token === i));
  return mask < 0 ? null : mask;
};

const from = (row: number, last: number): string =>
  row === 0
    ? "from the embedding on"
    : row === last
      ? `only in the last layer, L${last - 1}`
      : `from L${row - 1} on; the last layer is L${last - 1}`;

/** Positions that are read, without special tokens and boilerplate; of a text that a decoder wrote the end of, those of what it wrote. */
function positionsOf({ tokens, written }: Meta, mode: Mode, shown: readonly number[]): number[] {
  const { special, boilerplate, text } = tokens;
  const words = shown.filter((i) => special[i] !== true && boilerplate?.[i] !== true);
  if (mode !== "next" || written === undefined) return words;
  const reply = shown.filter((i) => i >= written - 1 && i < text.length - 1 && !special[i + 1]);
  return reply.length > 1 ? reply : words;
}

/** The row by which more than half of the positions have settled. */
function most(settled: readonly Settled[]): number {
  const rows = settled.map(({ row }) => row).sort((a, b) => a - b);
  return itemAt(rows, Math.floor(rows.length / 2));
}

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
  function settledAt(position: number): Settled | null {
    const block = blocks.get(blockOf(position));
    if (block === undefined) return null;
    const { id, probability } = block.best(block.layers - 1, position);
    const token = block.names.get(id) ?? "";
    const row = block.settled(position);
    if (mode === "next") {
      const { kind, name } = guessAfter(token, scheme, tokens, position, block.beginnings);
      const at = position + 1;
      const own = tokens.id[at] === id && isWhole(tokens, at) ? at : null;
      return { ...{ position, row, word: name, whole: kind === "word", kind, own, probability } };
    }
    const { text, word: readable } = block.label(block.layers - 1, position, scheme);
    const word = readable ?? text;
    const name = tokenName(tokens, position, schemeOf(tokens));
    return {
      ...{ position, row, word, kind: null, probability },
      whole: beginsWord(token, scheme) && !isPiece(tokens, position),
      own: word.toLowerCase() === name.toLowerCase() ? position : null,
    };
  }
  const last = meta.model.n_layers;
  const say = (...parts: readonly ComponentChildren[]) => (
    <SentenceLine of={tokens}>{parts}.</SentenceLine>
  );
  const at = askedAt(meta, mode);
  const nothing = at === null ? nothingToExpect(tokens, false) : null;
  if (nothing !== null) return <SentenceLine>{nothing}</SentenceLine>;
  const answer = at === null ? null : settledAt(at);
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
          `) ${from(answer.row, last)}`,
        )
      : say(
          <Word text={answer.word} />,
          " (",
          <Share value={answer.probability} />,
          mode === "next"
            ? `) is the likeliest next ${answer.whole ? "word" : "token"} `
            : ") stands at ",
          mode !== "next" && [place(at), " "],
          from(answer.row, last),
        );
  const words = reads;
  const all = words.flatMap((position) => settledAt(position) ?? []);
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
  const told = latestOrFirst(content, middle);
  const settles = middle === last ? ` in the last layer, L${last - 1}` : "";
  // That most settle late would be true of any text.
  if (told === null) return <SentenceLine silent />;
  const { others, one } = told;
  const { row } = one;
  const second = others.length === 1 ? others[0] : undefined;
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
    told.first
      ? `stands ${all.some((other) => !content.includes(other) && other.row <= row) ? "first of all content words" : "first"}, from ${row === 0 ? "the embedding" : `L${row - 1}`} on`
      : `${second ? "settle" : "settles"} last, ${row === last ? `in L${last - 1}` : `from L${row - 1} on`}`,
    others.length > 1 && `, as do ${others.length} other words`,
    `; ${half}${told.first ? settles : ""}`,
  );
}

/**
 * The content word that settles after most positions, with those that settle as late; where these are many, or none, the one
 * that stands before all others and most positions. `content`: the latest first, and among equal ones those that the text has not,
 * then the surest.
 */
function latestOrFirst(
  content: readonly Settled[],
  middle: number,
): { readonly one: Settled; readonly others: readonly Settled[]; readonly first: boolean } | null {
  const [latest] = content;
  if (latest === undefined) return null;
  const others = content.filter(({ row }) => row === latest.row).slice(1);
  const late = latest.row > middle;
  if (late && others.length < 2) return { one: latest, others, first: false };
  const [first, next] = [...content].sort((a, b) => a.row - b.row);
  if (first !== undefined && first.row < middle && (next === undefined || first.row < next.row))
    return { one: first, others: [], first: true };
  return late ? { one: latest, others, first: false } : null;
}
