/** Answers of the slice `lens`, some positions each: the five likeliest tokens of every layer, and its figures. */

import { type TokenLabel, type TokenScheme, tokenLabel } from "../../figures/format";
import type { Table } from "../../figures/table";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Slice, SliceRequest, TokenColumns, TypedArray, Window } from "../../protocol/types";

declare module "../../protocol/types" {
  interface SliceRequests {
    readonly lens: { readonly mode: Mode; readonly rows: Window };
  }
}

export type Mode = "as_is" | "masked" | "next";

/** Positions of a request (`attn_widget/features/lens/recorded.py`). */
const STEP = 16;

export const blockOf = (position: number): number => Math.floor(position / STEP);

/** Number of positions of a block of a text of `n` tokens. */
export const sizeOf = (block: number, n: number): number =>
  Math.min(n, (block + 1) * STEP) - block * STEP;

/** The request for a block of a text of `n` tokens. */
export const lensRequest = (mode: Mode, block: number, n: number): SliceRequest => ({
  kind: "lens",
  mode,
  rows: [block * STEP, Math.min(n, (block + 1) * STEP)],
});

export interface Guess {
  /** As the tokenizer has it. */
  readonly token: string;
  readonly label: TokenLabel;
  readonly probability: number;
}

/** A layer at a position; row 0 is the embeddings. */
export interface Cell {
  readonly guesses: readonly Guess[];
  /** Rank of the token that stands there, or follows; 0 where none does. */
  readonly rank: number;
  /** Bits. */
  readonly entropy: number;
  readonly divergence: number;
}

/** Some positions of every layer. */
export interface Block {
  /** Embeddings included. */
  readonly layers: number;
  readonly names: ReadonlyMap<number, string>;
  /** Names that may only begin a word. */
  readonly beginnings: readonly string[];
  /** The likeliest token. */
  best(row: number, position: number): { readonly id: number; readonly probability: number };
  /** Name of the likeliest token. */
  label(row: number, position: number, scheme: TokenScheme): TokenLabel;
  cell(row: number, position: number, scheme: TokenScheme): Cell;
  /** The row from which on the last layer's choice is the likeliest. */
  settled(position: number): number;
}

export function slicedBlock(slice: Slice, block: number): Block {
  const {
    ids: listed,
    names: texts,
    beginnings = [],
  } = slice.data as { ids: number[]; names: string[]; beginnings?: string[] };
  const names = new Map(listed.map((id, i) => [id, itemAt(texts, i)]));
  const { data: ids, shape } = arrayOf(slice, "ids");
  const [layers = 0, width = 0, k = 0] = shape;
  const data = (name: string): TypedArray => arrayOf(slice, name).data;
  const probabilities = data("probabilities");
  const [ranks, entropies, divergences] = [data("ranks"), data("entropies"), data("divergences")];
  const place = (row: number, position: number): number => row * width + position - block * STEP;
  const best: Block["best"] = (row, position) => {
    const at = k * place(row, position);
    return { id: itemAt(ids, at), probability: itemAt(probabilities, at) };
  };
  let labels: { readonly scheme: TokenScheme; readonly of: Map<number, TokenLabel> } | null = null;
  function labelOf(id: number, scheme: TokenScheme): TokenLabel {
    if (labels?.scheme !== scheme) labels = { scheme, of: new Map() };
    const label = labels.of.get(id) ?? tokenLabel(names.get(id) ?? "", scheme);
    labels.of.set(id, label);
    return label;
  }
  const settled = Array.from({ length: width }, (_, i) => {
    const position = block * STEP + i;
    const { id } = best(layers - 1, position);
    let row = layers - 1;
    while (row > 0 && best(row - 1, position).id === id) row--;
    return row;
  });
  return {
    layers,
    names,
    beginnings,
    best,
    label: (row, position, scheme) => labelOf(best(row, position).id, scheme),
    cell(row, position, scheme) {
      const at = place(row, position);
      return {
        guesses: Array.from({ length: k }, (_, i) => {
          const id = itemAt(ids, k * at + i);
          const probability = itemAt(probabilities, k * at + i);
          return { token: names.get(id) ?? "", label: labelOf(id, scheme), probability };
        }),
        rank: itemAt(ranks, at),
        entropy: itemAt(entropies, at),
        divergence: itemAt(divergences, at),
      };
    },
    settled: (position) => itemAt(settled, position - block * STEP),
  };
}

/** `embedding`, `L0`, `L1`: the layers of a lens by row. */
export const layerName = (row: number): string => (row === 0 ? "embedding" : `L${row - 1}`);

/** Rows as `Lens.to_records()` has them, of the positions that have been read. */
export function lensTable(
  positions: readonly number[],
  blocks: ReadonlyMap<number, Block>,
  { text }: Pick<TokenColumns, "text">,
  scheme: TokenScheme,
): Table {
  const known = positions.flatMap((position) => {
    const block = blocks.get(blockOf(position));
    return block === undefined ? [] : [{ position, block }];
  });
  const layers = known[0]?.block.layers ?? 0;
  return {
    columns: [
      ...["layer", "position", "token", "rank", "prediction", "probability"],
      ...["token_rank", "entropy", "divergence"],
    ],
    rows: Array.from({ length: layers }, (_, layer) =>
      known.flatMap(({ position, block }) => {
        const { guesses, rank, entropy, divergence } = block.cell(layer, position, scheme);
        return guesses.map(({ token, probability }, i) => [
          ...[layer, position, itemAt(text, position), i + 1, token, probability],
          ...[rank, entropy, divergence],
        ]);
      }),
    ).flat(),
  };
}
