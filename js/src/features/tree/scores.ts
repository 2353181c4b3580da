/** Scaled scores of the tree's edges: of one head, between single tokens; elsewhere the reason why not. */

import { type Matrix, scoresAbsent } from "../../figures/matrix";
import { isRolled, NOT_OF_WEIGHTS } from "../../figures/quantities";
import { asking } from "../../protocol/asking";
import { explain, isAbort } from "../../protocol/failure";
import { isLong, keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import type { ViewContext } from "../../views/contract";

export interface EdgeScores {
  /** Fetch those of a matrix, if it has any; resolves once `of` and `absent` know. */
  load(matrix: Matrix): Promise<void>;
  /** Score of the edge between two units; null if there is none, or not yet. */
  of(matrix: Matrix, query: number, key: number): number | null;
  /** Why a matrix has no scores; null while it has, or may have. */
  absent(matrix: Matrix): string | null;
}

/** Why this matrix has no scores, whatever the source. */
function impossible({ quantity, queries, keys, head }: Matrix, meta: Meta): string | null {
  if (isRolled(quantity)) return "rollout mixes heads and layers";
  if (quantity !== "weights") return NOT_OF_WEIGHTS;
  const words = [...queries, ...keys].some(({ token, end }) => end - token > 1);
  // The scores of a whole head are as large as its weights.
  const long = isLong(meta) ? "in a long text, scores are shown only for the pinned pair" : null;
  return scoresAbsent({ head, words }, meta) ?? long;
}

/** Scores of the matrix that was loaded last, held as signals. */
export function createEdgeScores({ source, signal: until }: ViewContext): EdgeScores {
  const { meta } = source;
  const m = keysOf(meta).text.length;
  const { answer, ask } = asking<{
    readonly of: string;
    readonly values: Float32Array | null;
    readonly failure: string | null;
  }>(until);
  const keyOf = ({ layer, head }: Matrix): string => `${layer} ${head}`;
  const here = (matrix: Matrix) => (answer.value?.of === keyOf(matrix) ? answer.value : null);

  return {
    async load(matrix) {
      const { layer, head } = matrix;
      const of = keyOf(matrix);
      const latest = answer.peek();
      if (head === "mean" || impossible(matrix, meta) !== null) return;
      if (latest?.of === of && latest.values !== null) return;
      await ask(async (signal) => {
        try {
          const { arrays } = await source.ask({ kind: "scores", layer, head }, { signal });
          const values = arrays.get("scores")?.data as Float32Array | undefined;
          return { of, values: values ?? null, failure: null };
        } catch (error) {
          if (isAbort(error)) throw error;
          return { of, values: null, failure: explain(error).message.replace(/\.$/, "") };
        }
      });
    },
    of(matrix, query, key) {
      const values = here(matrix)?.values ?? null;
      if (values === null || impossible(matrix, meta) !== null) return null;
      const { queries, keys } = matrix;
      return values[itemAt(queries, query).token * m + itemAt(keys, key).token] ?? null;
    },
    absent: (matrix) => impossible(matrix, meta) ?? here(matrix)?.failure ?? null,
  };
}
