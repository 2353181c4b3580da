/** One link in full: weight, share, scaled score and raw product, out of the source's own numbers. */

import { isAbort } from "../protocol/failure";
import { keysOf } from "../protocol/meta";
import { itemAt } from "../protocol/required";
import type { Meta, Slice, Source } from "../protocol/types";
import { dot, rankOf, rowOf, softmax } from "./derive/matrix";
import { errorOf, type Matrix, scoresAbsent } from "./matrix";
import { isRolled, NOT_OF_WEIGHTS } from "./quantities";

export interface Link {
  readonly weight: number;
  /** Share of what this row gives to the visible units, 0..1. */
  readonly share: number;
  /** Place of the weight in its row, 1 = largest. */
  readonly rank: number;
  /** Null for a word, for the mean head, for what is no weight, or where the model does not give it. */
  readonly score: number | null;
  /** `q . k`, before scaling. */
  readonly product: number | null;
  readonly scaling: number | null;
  /** `c` of a model whose scores `s` become `c tanh(s / c)`. */
  readonly cap?: number | undefined;
  /** The largest score of the row. */
  readonly rowMax: number | null;
  /** `exp(score - rowMax)` and its sum over the row, and over a learned sink: their ratio is the weight. */
  readonly exponential: number | null;
  readonly sum: number | null;
  /** The query's and the key's vector, `[head_dim]`. */
  readonly q: Float32Array | null;
  readonly k: Float32Array | null;
  /** Largest errors of the weight, its share, a score and the raw product; 0 where they are exact. */
  readonly errors: {
    readonly weight: number;
    readonly share: number;
    readonly score: number;
    readonly product: number;
  };
  /** Why something above is N/A; null when nothing is. */
  readonly absent: string | null;
  /** Numbers are on their way. */
  readonly pending: boolean;
}

export interface PairNumbers {
  /** Numbers of one cell of the matrix on screen; scores only once they have arrived. */
  of(matrix: Matrix, row: number, column: number): Link;
  /** Fetch scores, queries and keys of the matrix's head; resolves when `of` knows more. */
  load(matrix: Matrix): Promise<void>;
}

/** The sum of the exponentials of a row; with a learned sink, which is no key, it follows from the weight. */
export const sumOf = (
  sum: number | null,
  exponential: number | null,
  weight: number,
  { rest }: Pick<Meta, "rest">,
): number | null => (rest && exponential !== null && weight > 0 ? exponential / weight : sum);

export function createPairNumbers(source: Source, signal: AbortSignal): PairNumbers {
  const m = keysOf(source.meta).text.length;
  const { has, head_dim } = source.meta.model;
  let latest: {
    layer: number;
    head: number | "mean";
    scores: Slice | null;
    qkv: Slice | null;
    /** Everything that the model has is here; what failed is asked for again. */
    complete: boolean;
  } | null = null;
  let wanted = "";

  function noScores({ head, quantity }: Matrix, single: boolean): string | null {
    if (isRolled(quantity)) {
      return "rollout mixes the heads of all layers so far and has no scores of its own";
    }
    return quantity !== "weights"
      ? NOT_OF_WEIGHTS
      : scoresAbsent({ head, words: !single }, source.meta);
  }
  /** Values that a saved page lacks; a kernel is asked again. */
  const missingOf = ({ scores, qkv }: { scores: Slice | null; qkv: Slice | null }) => {
    if (source.live) return null;
    if (scores === null && has.scores)
      return "scores are not in this saved page; a kernel has them";
    const vectors = qkv?.arrays.has("q") ?? false;
    return vectors ? null : "the query's and the key's vectors are not in this saved page";
  };
  const noProducts = has.qkv ? null : "this run holds no queries and keys: q · k is not known";

  return {
    of(matrix, row, column) {
      const { weights, queries, keys } = matrix;
      const line = rowOf(weights, row, keys.length);
      const weight = itemAt(line, column);
      const total = line.reduce((sum, value) => sum + value, 0);
      const query = itemAt(queries, row);
      const key = itemAt(keys, column);
      const single = query.end - query.token === 1 && key.end - key.token === 1;
      const same = latest?.layer === matrix.layer && latest.head === matrix.head;
      const here = same && single && matrix.quantity === "weights" ? latest : null;
      const array = (slice: Slice | null | undefined, name: string): Float32Array | null =>
        (slice?.arrays.get(name)?.data as Float32Array | undefined) ?? null;
      const vector = (name: string, token: number): Float32Array | null => {
        const all = array(here?.qkv, name);
        return all === null ? null : rowOf(all, token, head_dim);
      };
      const [q, k] = [vector("q", query.token), vector("k", key.token)];
      const scores = array(here?.scores, "scores");
      const scoreRow = scores === null ? null : rowOf(scores, query.token, m);
      const opened = scoreRow === null ? null : softmax(scoreRow);
      const score = scoreRow === null ? null : itemAt(scoreRow, key.token);
      const unscored = noScores(matrix, single);
      const scaling = (here?.qkv?.data.scaling as number | undefined) ?? null;
      const scoreError = matrix.scoreError ?? 0;
      // A saved page may have the scores without the vectors that made them.
      const derived =
        score !== null && scaling !== null && Number.isFinite(score) ? score / scaling : null;
      const whole = q !== null && k !== null;
      const exponential = opened === null || score === null ? null : Math.exp(score - opened.max);
      return {
        weight,
        share: total > 0 ? weight / total : 0,
        rank: rankOf(line, column),
        score,
        product: whole ? dot(q, k) : derived,
        scaling,
        cap: here?.qkv?.data.cap as number | undefined,
        rowMax: opened?.max ?? null,
        exponential,
        sum: sumOf(opened?.sum ?? null, exponential, weight, source.meta),
        q,
        k,
        errors: {
          weight: errorOf(matrix, weight),
          // A row that sums to 1 by definition has no error in its sum.
          share: total > 0 ? errorOf(matrix, weight) / total : 0,
          score: scoreError,
          product: whole || scaling === null ? 0 : scoreError / scaling,
        },
        absent: unscored ?? noProducts ?? (here === null ? null : missingOf(here)),
        pending: unscored === null && here === null,
      };
    },
    async load(matrix) {
      const { layer, head } = matrix;
      wanted = `${layer}.${head}`;
      const here = latest?.layer === layer && latest.head === head && latest.complete;
      if (head === "mean" || matrix.quantity !== "weights" || here) return;
      const ask = async (kind: "scores" | "qkv", available: boolean): Promise<Slice | null> => {
        if (!available) return null;
        try {
          return await source.ask({ kind, layer, head }, { signal });
        } catch (error) {
          // A dash stands for an unavailable value; the weights remain.
          if (!isAbort(error)) console.debug("attn-widget:", error);
          return null;
        }
      };
      const [scores, qkv] = await Promise.all([ask("scores", has.scores), ask("qkv", has.qkv)]);
      // Answers may overtake each other: those for a head that was left since are not kept.
      if (wanted !== `${layer}.${head}`) return;
      const complete = (!has.scores || scores !== null) && (!has.qkv || qkv !== null);
      latest = { layer, head, scores, qkv, complete };
    },
  };
}
