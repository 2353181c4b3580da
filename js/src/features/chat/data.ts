/** Answer of the slice `turn_contributions`: what each turn adds to the logit of each token that was written. */

import { type TokenLabel, tokenLabel } from "../../figures/format";
import { schemeOf } from "../../figures/names";
import type { Sections } from "../../figures/sections";
import type { Table } from "../../figures/table";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Meta, Slice, SliceRequest } from "../../protocol/types";

declare module "../../protocol/types" {
  interface SliceRequests {
    readonly turn_contributions: object;
  }
}

export const REQUEST: SliceRequest = { kind: "turn_contributions" };

/** A token that was written: `values` and `bias` sum to `logit`. */
export interface Written {
  /** Its position; the count of tokens for the one that would come next. */
  readonly position: number;
  /** As the tokenizer has it. */
  readonly text: string;
  readonly label: TokenLabel;
  /** By turn, in logits. */
  readonly values: readonly number[];
  /** By turn: sizes of `values`, which sum to 1. */
  readonly shares: readonly number[];
  readonly bias: number;
  readonly logit: number;
}

export interface TurnContributions {
  readonly names: readonly string[];
  readonly roles: readonly string[];
  readonly written: readonly Written[];
  /** True if nothing is written yet: `written` is what would come next. */
  readonly next: boolean;
  /** By turn: mean of `shares` over the written tokens. */
  readonly means: readonly number[];
  /** The same without the text's first token, on which heads rest; null where its part is not known. */
  readonly meansWithoutFirst: readonly number[] | null;
  /** By turn: its share of the tokens from which each written one follows, mean over these. */
  readonly lengths: readonly number[];
}

/** Sizes of contributions that sum to 1, without `first` in that of the first turn. */
function sharesOf(values: readonly number[], first: number): number[] {
  const sizes = values.map((value, turn) => Math.abs(turn === 0 ? value - first : value));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return sizes.map((size) => size / (total || 1));
}

/** Share of each turn in the tokens before a position. */
const lengthsOf = ({ chat, tokens }: Meta, position: number): number[] =>
  (chat?.start ?? []).map((start, turn) => {
    const stop = Math.min(chat?.stop[turn] ?? tokens.text.length, position);
    return Math.max(0, stop - start) / position;
  });

export function contributionsOf(
  slice: Slice,
  { names }: Sections,
  meta: Meta,
): TurnContributions | null {
  const { tokens, next_token, chat } = meta;
  const positions = slice.data.positions as readonly number[];
  const texts = slice.data.tokens as readonly string[] | undefined;
  const scheme = schemeOf(tokens);
  const { length } = names;
  const row = (name: string, w: number): number[] =>
    Array.from(arrayOf(slice, name).data.subarray(w * length, (w + 1) * length));
  const [bias, logit] = [arrayOf(slice, "bias").data, arrayOf(slice, "logit").data];
  const written = positions.map((position, w) => {
    const text = texts?.[w] ?? tokens.text[position] ?? next_token ?? "";
    return {
      ...{ position, text, label: tokenLabel(text, scheme, tokens.surface[position]) },
      ...{ values: row("values", w), shares: row("shares", w) },
      ...{ bias: itemAt(bias, w), logit: itemAt(logit, w) },
    };
  });
  if (written.length === 0) return null;
  const meanOf = (shares: readonly (readonly number[])[]): number[] =>
    names.map((_, turn) => shares.reduce((sum, row) => sum + itemAt(row, turn), 0) / shares.length);
  const first = slice.arrays.get("first")?.data;
  const without = first && written.map(({ values }, w) => sharesOf(values, itemAt(first, w)));
  return {
    ...{ names, roles: chat?.roles ?? names, written },
    next: positions.every((position) => position >= tokens.text.length),
    means: meanOf(written.map(({ shares }) => shares)),
    meansWithoutFirst: without ? meanOf(without) : null,
    lengths: meanOf(written.map(({ position }) => lengthsOf(meta, position))),
  };
}

/** A row for each written token. */
export const turnTable = ({ names, written }: TurnContributions): Table => ({
  columns: ["position", "token", ...names, "bias", "logit"],
  rows: written.map(({ position, text, values, bias, logit }) => [
    ...[position, text, ...values],
    ...[bias, logit],
  ]),
});
