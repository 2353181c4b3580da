/** One link in full: weight, share, scaled score and raw product, out of the source's own numbers. */

import { dot, rowOf, softmax } from "./derive/matrix";
import type { Matrix } from "./matrix";
import { isAbort } from "./source/failure";
import type { Slice, Source } from "./types";

export interface Link {
  readonly weight: number;
  /** Of what this row gives to the units that are shown, 0..1. */
  readonly share: number;
  /** Null for a word, for the mean head, or where the model does not give it. */
  readonly score: number | null;
  /** `q . k`, before scaling. */
  readonly product: number | null;
  readonly scaling: number | null;
  /** `exp(score - max)` and the sum over the row: their ratio is the weight. */
  readonly exponential: number | null;
  readonly sum: number | null;
}

export interface PairNumbers {
  /** Numbers of one cell of the matrix on screen; scores only once they have arrived. */
  of(matrix: Matrix, row: number, column: number): Link;
  /** Fetch scores, queries and keys of the matrix's head; resolves when `of` knows more. */
  load(matrix: Matrix): Promise<void>;
}

export function createPairNumbers(source: Source, signal: AbortSignal): PairNumbers {
  const n = source.meta.tokens.text.length;
  const { has, head_dim } = source.meta.model;
  let known: {
    layer: number;
    head: number | "mean";
    scores: Slice | null;
    qkv: Slice | null;
    /** Everything that the model has is here; what failed is asked for again. */
    complete: boolean;
  } | null = null;
  let wanted = "";

  return {
    of(matrix, row, column) {
      const { weights, size, units } = matrix;
      const line = rowOf(weights, row, size);
      const weight = line[column]!;
      const total = line.reduce((sum, value) => sum + value, 0);
      const query = units[row]!;
      const key = units[column]!;
      const single = query.end - query.token === 1 && key.end - key.token === 1;
      const here = known?.layer === matrix.layer && known.head === matrix.head ? known : null;
      const scores = single
        ? (here?.scores?.arrays.get("scores")?.data as Float32Array)
        : undefined;
      const q = single ? (here?.qkv?.arrays.get("q")?.data as Float32Array) : undefined;
      const k = here?.qkv?.arrays.get("k")?.data as Float32Array | undefined;
      const scaling = (here?.qkv?.data.scaling as number | undefined) ?? null;
      const scoreRow = scores === undefined ? null : rowOf(scores, query.token, n);
      const opened = scoreRow === null ? null : softmax(scoreRow);
      const score = scoreRow === null ? null : scoreRow[key.token]!;
      return {
        weight,
        share: total > 0 ? weight / total : 0,
        score,
        product:
          q === undefined || k === undefined
            ? null
            : dot(rowOf(q, query.token, head_dim), rowOf(k, key.token, head_dim)),
        scaling,
        exponential: opened === null ? null : Math.exp(score! - opened.max),
        sum: opened?.sum ?? null,
      };
    },
    async load(matrix) {
      const { layer, head } = matrix;
      wanted = `${layer}.${head}`;
      const here = known?.layer === layer && known.head === head;
      if (head === "mean" || (here && known!.complete)) return;
      const ask = async (kind: string, held: boolean): Promise<Slice | null> => {
        if (!held) return null;
        try {
          return await source.slice({ kind, layer, head }, { signal });
        } catch (error) {
          // A dash stands for what cannot be had; the weights remain.
          if (!isAbort(error)) console.debug("attn-widget:", error);
          return null;
        }
      };
      const [scores, qkv] = await Promise.all([ask("scores", has.scores), ask("qkv", has.qkv)]);
      // Answers may overtake each other: those for a head that was left since are not kept.
      if (wanted !== `${layer}.${head}`) return;
      const complete = (!has.scores || scores !== null) && (!has.qkv || qkv !== null);
      known = { layer, head, scores, qkv, complete };
    },
  };
}
