/** Scaled scores of the tree's edges: of one head, between single tokens; elsewhere the reason why not. */

import { type Matrix, scoresAbsent } from "../../figures/matrix";
import { isRolled, NOT_OF_WEIGHTS } from "../../figures/quantities";
import { explain, isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../contract";

export interface EdgeScores {
  /** Fetch those of a matrix, if it has any; resolves once `of` and `absent` know. */
  load(matrix: Matrix): Promise<void>;
  /** Score of the edge between two units; null if there is none, or not yet. */
  of(matrix: Matrix, query: number, key: number): number | null;
  /** Why a matrix has no scores; null while it has, or may have. */
  absent(matrix: Matrix): string | null;
}

/** Why this matrix has no scores, whatever the source. */
function impossible(matrix: Matrix, { source }: ViewContext): string | null {
  if (isRolled(matrix.quantity)) return "rollout mixes heads and layers";
  if (matrix.quantity !== "weights") return NOT_OF_WEIGHTS;
  const words = matrix.units.some(({ token, end }) => end - token > 1);
  return scoresAbsent({ head: matrix.head, words }, source.meta);
}

export function createEdgeScores(stage: ViewContext): EdgeScores {
  const { source, signal, matrix: store } = stage;
  const n = source.meta.tokens.text.length;
  let known: { key: string; values: Float32Array | null; failure: string | null } | null = null;
  const keyOf = ({ layer, head }: Matrix): string => `${layer} ${head}`;
  const here = (matrix: Matrix) => (known?.key === keyOf(matrix) ? known : null);

  return {
    async load(matrix) {
      if (impossible(matrix, stage) !== null || here(matrix)?.values) return;
      const { layer, head } = matrix;
      if (head === "mean") return;
      const key = keyOf(matrix);
      try {
        const answer = await source.slice({ kind: "scores", layer, head }, { signal });
        // Answers may overtake each other: those for a head that was left since are not kept.
        if (store.get() !== matrix) return;
        const values = answer.arrays.get("scores")?.data as Float32Array | undefined;
        known = { key, values: values ?? null, failure: null };
      } catch (error) {
        if (isAbort(error) || store.get() !== matrix) return;
        known = { key, values: null, failure: explain(error).message.replace(/\.$/, "") };
      }
    },
    of(matrix, query, key) {
      const values = here(matrix)?.values ?? null;
      if (values === null || impossible(matrix, stage) !== null) return null;
      const { units } = matrix;
      return values[itemAt(units, query).token * n + itemAt(units, key).token] ?? null;
    },
    absent: (matrix) => impossible(matrix, stage) ?? here(matrix)?.failure ?? null,
  };
}
