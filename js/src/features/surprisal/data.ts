/** The slice `word_surprisal`: the words of a text, and how little the model expected each. */

import { textOf } from "../../figures/derive/units";
import type { Table } from "../../figures/table";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Slice, SliceRequest, TokenColumns } from "../../protocol/types";

declare module "../../protocol/types" {
  interface SliceRequests {
    readonly word_surprisal: object;
  }
}

export const REQUEST: SliceRequest = { kind: "word_surprisal" };

export interface WordRow {
  readonly text: string;
  /** Tokens `[first, end)`. */
  readonly first: number;
  readonly end: number;
  /** Boilerplate, which does not count. */
  readonly boilerplate: boolean;
  /** Surprisal; NaN where nothing predicts the word. */
  readonly bits: number;
  /** Entropy of what may come at its first token, in bits. */
  readonly entropy: number;
  /** Surprisal of its tokens, bits. */
  readonly tokens: readonly number[];
}

export interface Words {
  readonly rows: readonly WordRow[];
  /** Divided by where words end: the tokens of a word do not add up to it. */
  readonly correction: boolean;
  /** Each word masked as a whole. */
  readonly masked: boolean;
  readonly notes: readonly string[];
}

export function slicedWords(slice: Slice, tokens: TokenColumns): Words {
  const { correction, masked, notes } = slice.data as unknown as Omit<Words, "rows">;
  const data = (name: string) => arrayOf(slice, name).data;
  const [spans, entropy] = [data("spans"), data("entropy")];
  const ofTokens = Array.from(data("tokens"));
  const rows = Array.from(data("surprisal"), (bits, i) => {
    const [first, end] = [itemAt(spans, 2 * i), itemAt(spans, 2 * i + 1)];
    return {
      text: textOf(tokens, first, end).trim(),
      first,
      end,
      boilerplate: tokens.boilerplate?.[first] === true,
      bits,
      entropy: itemAt(entropy, i),
      tokens: ofTokens.slice(first, end),
    };
  });
  return { rows, correction, masked, notes };
}

export interface Summary {
  /** The word of most surprisal. */
  readonly most: WordRow;
  /** Mean over the words that have a surprisal, bits. */
  readonly mean: number;
  readonly count: number;
}

/** Null below two words. Boilerplate does not count, nor do words of a decoder that come after one token alone: it tells nothing. */
export function summaryOf({ rows, masked }: Pick<Words, "rows" | "masked">): Summary | null {
  const known = rows.filter(
    ({ bits, first, boilerplate }) => !Number.isNaN(bits) && !boilerplate && (masked || first > 1),
  );
  const [first] = known;
  if (first === undefined || known.length < 2) return null;
  const most = known.reduce((best, row) => (row.bits > best.bits ? row : best), first);
  const mean = known.reduce((sum, { bits }) => sum + bits, 0) / known.length;
  return { most, mean, count: known.length };
}

/** One number a token for the ribbon: that of its word, or where the ribbon joins the tokens of a word, once a word. */
export function tokenValues({ rows }: Words, n: number, joined: boolean): Float32Array {
  const values = new Float32Array(n).fill(Number.NaN);
  for (const { first, end, bits } of rows) {
    values.fill(joined ? 0 : bits, first, end);
    values[first] = bits;
  }
  return values;
}

const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value);

/** Columns as those of `aw.surprisals`. */
export const wordsTable = ({ rows }: Words): Table => ({
  columns: ["index", "word", "position", "tokens", "surprisal", "entropy"],
  rows: rows.map(({ text, first, end, bits, entropy }, i) => [
    ...[i, text, first, end - first],
    ...[orNull(bits), orNull(entropy)],
  ]),
});
