/** The lens in words: from which layer on the model's answer stands, or which word settles last. */

import type { ComponentChildren } from "preact";
import type { TokenScheme } from "../../figures/format";
import { isForeignFunctionWord, isFunctionWord } from "../../figures/function-words";
import { schemeOf, tokenName } from "../../figures/names";
import { nothingToExpect } from "../../figures/nothing-to-expect";
import { isMask } from "../../figures/nothing-to-see";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import { SentenceLine, Share } from "../../ui/sentence";
import { TextWord, Word } from "../../ui/word";
import { type Block, blockOf, type Mode } from "./data";

export type Blocks = ReadonlyMap<number, Block>;

/** The last layer's choice at a position, and the row from which on it stands. */
interface Settled {
  readonly position: number;
  readonly row: number;
  readonly word: string;
  readonly probability: number;
}

/** A word that says something alone: no mark, no piece, no single letter, no function word. */
const isContent = (word: string): boolean =>
  /^(?!##|[[<]).*[\p{L}\p{N}].*[\p{L}\p{N}]/u.test(word) &&
  !isFunctionWord(word) &&
  !isForeignFunctionWord(word);

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
  scheme,
  choose,
}: {
  readonly meta: Meta;
  readonly mode: Mode;
  readonly blocks: Blocks;
  /** Positions that are shown. */
  readonly positions: readonly number[];
  readonly scheme: TokenScheme;
  readonly choose: (token: number) => void;
}) {
  const { tokens } = meta;
  function settledAt(position: number): Settled | null {
    const block = blocks.get(blockOf(position));
    if (block === undefined) return null;
    const { probability } = block.best(block.layers - 1, position);
    const { text, word } = block.label(block.layers - 1, position, scheme);
    return {
      position,
      row: block.settled(position),
      word: text.startsWith("##") ? text : (word ?? text),
      probability,
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
  if (at !== null && answer !== null && isContent(answer.word))
    return say(
      <Word text={answer.word} />,
      " (",
      <Share value={answer.probability} />,
      mode === "next" ? ") is the likeliest next word " : ") stands at ",
      mode !== "next" && (
        <TextWord
          key=""
          text={tokenName(tokens, at, schemeOf(tokens))}
          {...{ tokens, position: at, choose }}
        />
      ),
      mode === "next" ? from(answer.row, last) : ` ${from(answer.row, last)}`,
    );
  const words = positions.filter((position) => tokens.special[position] !== true);
  const all = words.flatMap((position) => settledAt(position) ?? []);
  // One position is not most of them.
  if (all.length < words.length || all.length < 2) return <SentenceLine />;
  const middle = most(all);
  const by = middle === 0 ? "in the embedding" : middle === last ? "only" : `by L${middle - 1}`;
  const half = `most positions settle ${by}`;
  const content = all
    .filter(({ word }) => isContent(word))
    .sort((a, b) => b.row - a.row || b.probability - a.probability);
  const [slowest] = content;
  if (slowest === undefined || slowest.row <= middle)
    return say(
      half.replace("most", "Most"),
      middle === last ? ` in the last layer, L${last - 1}` : `; the last layer is L${last - 1}`,
    );
  const { position, row, word } = slowest;
  const others = content.filter((each) => each.row === row).length - 1;
  return say(
    <Word text={word} />,
    " (",
    <Share value={slowest.probability} />,
    ") ",
    mode === "next" && [
      "after ",
      <TextWord
        key=""
        text={tokenName(tokens, position, schemeOf(tokens))}
        {...{ tokens, position, choose }}
      />,
      " ",
    ],
    others > 0 && `and ${others === 1 ? "another word" : `${others} other words`} `,
    `${others > 0 ? "settle" : "settles"} last, ${row === last ? `in L${last - 1}` : `from L${row - 1} on`}; ${half}`,
  );
}
