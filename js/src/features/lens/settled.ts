/** The model's answer at each position, from which layer on it stands, and which of them is worth a sentence. */

import type { TokenScheme } from "../../figures/format";
import {
  isForeignFunctionWord,
  isFunctionWord,
  isFunctionWordElsewhere,
} from "../../figures/function-words";
import { type Guessed, guessAfter } from "../../figures/guess";
import { schemeOf, tokenName } from "../../figures/names";
import { isOfElsewhere } from "../../figures/nothing-to-see";
import { isWhole } from "../../figures/whole-words";
import { itemAt } from "../../protocol/required";
import type { Meta, TokenColumns } from "../../protocol/types";
import { type Block, blockOf, type Mode } from "./data";

/** A word settles first where it does so this part of all layers before most. */
const AHEAD = 0.1;

export type Blocks = ReadonlyMap<number, Block>;

/** A layer's choice at a position. */
interface Choice {
  readonly word: string;
  /** True if the word stands alone: no piece of a longer one. */
  readonly whole: boolean;
  /** The guess's relation to the word before; null of an encoder. */
  readonly kind: Guessed["kind"] | null;
  readonly probability: number;
}

/** The last layer's choice at a position, and the row from which on it stands. */
export interface Settled extends Choice {
  readonly position: number;
  readonly row: number;
  /** The choice of the row before; null where there is none, or no word. */
  readonly before: Choice | null;
  /** The word's position in the text, which is the next one of a decoder; null where the text has another word there. */
  readonly own: number | null;
}

/** A word that says something alone: no mark, no piece, no single letter, no function word. */
export const contentIn =
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

/** As an uncased vocabulary writes it: `cafe` for `Café`. */
const plainly = (word: string): string =>
  word.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

interface Read {
  readonly tokens: TokenColumns;
  readonly mode: Mode;
  readonly scheme: TokenScheme;
}

function choiceAt(
  block: Block,
  row: number,
  position: number,
  { tokens, mode, scheme }: Read,
): Choice {
  const { id, probability } = block.best(row, position);
  const token = block.names.get(id) ?? "";
  if (mode === "next") {
    const { kind, name } = guessAfter(token, scheme, tokens, position, block.beginnings);
    return { word: name, whole: kind === "word", kind, probability };
  }
  const { text, word } = block.label(row, position, scheme);
  const whole = beginsWord(token, scheme) && !isPiece(tokens, position);
  return { word: word ?? text, whole, kind: null, probability };
}

/** Null where the position is not read. */
export function settledAt(blocks: Blocks, position: number, read: Read): Settled | null {
  const block = blocks.get(blockOf(position));
  if (block === undefined) return null;
  const { tokens, mode } = read;
  const row = block.settled(position);
  const choice = choiceAt(block, block.layers - 1, position, read);
  const last = row === 0 ? null : choiceAt(block, row - 1, position, read);
  const before = last?.whole && LETTER.test(last.word) && !/^[[<]/u.test(last.word) ? last : null;
  const next = position + 1;
  const { id } = block.best(block.layers - 1, position);
  const name = tokenName(tokens, position, schemeOf(tokens));
  const own =
    mode === "next"
      ? tokens.id[next] === id && isWhole(tokens, next)
        ? next
        : null
      : plainly(choice.word) === plainly(name)
        ? position
        : null;
  return { ...choice, position, row, before, own };
}

/** Positions that are read, without special tokens and boilerplate; of a text that a decoder wrote the end of, those of what it wrote. */
export function positionsOf(
  { tokens, written }: Meta,
  mode: Mode,
  shown: readonly number[],
): number[] {
  const { special, boilerplate, text } = tokens;
  const words = shown.filter((i) => special[i] !== true && boilerplate?.[i] !== true);
  if (mode !== "next" || written === undefined) return words;
  const reply = shown.filter((i) => i >= written - 1 && i < text.length - 1 && !special[i + 1]);
  return reply.length > 1 ? reply : words;
}

/** The row by which more than half of the positions have settled. */
export function most(settled: readonly Settled[]): number {
  const rows = settled.map(({ row }) => row).sort((a, b) => a - b);
  return itemAt(rows, Math.floor(rows.length / 2));
}

/**
 * The content word that settles after most positions, with those that settle as late; where these are many, or none, the one
 * that stands before all others and most positions. `content`: the latest first, and among equal ones those that the text has not,
 * then the surest.
 */
export function latestOrFirst(
  content: readonly Settled[],
  middle: number,
  decoder: boolean,
  last: number,
): { readonly one: Settled; readonly others: readonly Settled[]; readonly first: boolean } | null {
  const [latest] = content;
  if (latest === undefined) return null;
  const others = content.filter(({ row }) => row === latest.row).slice(1);
  const late = latest.row > middle;
  // An encoder reads most words as themselves at once.
  if (!decoder && latest.own !== null) return null;
  // Many settle as late as most.
  if (late && others.length < 2) return { one: latest, others, first: false };
  const [first, next] = [...content].sort((a, b) => a.row - b.row);
  const tells =
    first !== undefined && (decoder || first.own === null) && middle - first.row > last * AHEAD;
  return tells && (next === undefined || first.row < next.row)
    ? { one: first, others: [], first: true }
    : null;
}
