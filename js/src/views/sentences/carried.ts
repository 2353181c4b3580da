/** Quantities other than weights between sentences: gathered here, from the matrix of a layer. */

import { errorsOf, matrixRequest } from "../../figures/matrix";
import { placeName } from "../../figures/names";
import { hasHead, measureOf } from "../../figures/quantities";
import { arrayOf } from "../../protocol/required";
import { rowsNormalized } from "../../protocol/rollout";
import { drill, type Gathered, matrix } from "../../protocol/sentences";
import type { HeadIndex, Slice, SliceRequest, Source } from "../../protocol/types";
import type { Selection } from "../../state/selection";
import type { Aggregation, Asked, Carried } from "./data";

/** The selection's quantity where it is another one than attention weights. */
export function carriedOf({ quantity }: Pick<Selection, "quantity">): Carried | null {
  const measure = measureOf(quantity);
  return measure === "weights" ? null : measure;
}

/** Which matrix is gathered: of a layer, or for norms of a head. */
export const askedOf = (
  aggregation: Aggregation,
  quantity: Carried,
  { layer, head }: { readonly layer: number; readonly head: HeadIndex },
): Asked => ({
  aggregation,
  layer,
  head: hasHead(quantity) && head !== "mean" ? head : null,
  quantity,
});

export const carriedRequest = ({ layer, head, quantity }: Asked): SliceRequest =>
  matrixRequest({ layer: layer ?? 0, head: head ?? "mean", quantity: quantity ?? "weights" });

/** `ALTI · L3`, `norms · L3 · H5`, `rollout of ALTI to L3`. */
export const carriedName = ({ layer, head, quantity }: Asked): string =>
  placeName({ layer: layer ?? 0, head: head ?? "mean", quantity: quantity ?? "weights" });

export interface CarriedAnswer {
  /** Answers as the kernel gives them for weights. */
  readonly matrix: Slice;
  drill(a: number, b: number): Slice;
  /** How far a value, or a sum of `terms` entries, may be off. */
  error(value: number, terms?: number): number;
}

/**
 * Mass: entries divided by their row's sum, summed over the keys of a sentence, mean over its queries.
 * Max: the largest entry as it is. `about` names the sentences and their tokens.
 */
export function gatherCarried(
  of: Asked,
  found: Slice,
  about: Slice,
  source: Source,
): CarriedAnswer {
  const n = source.meta.tokens.text.length;
  const raw = arrayOf(found, "weights").data as Float32Array;
  const shares = of.aggregation === "mass";
  const gathered: Gathered = {
    start: 0,
    n,
    weights: shares ? rowsNormalized(raw, n) : raw,
    layers: new Int32Array(n * n).fill(of.layer ?? 0),
    heads: new Int32Array(n * n).fill(of.head ?? 0),
  };
  const sentences = about.data.tokens as readonly (readonly number[])[];
  const { arrays } = matrix(of.aggregation, gathered, sentences, about.data);
  // A maximum of a layer was made by no head.
  const kept = [...arrays].filter(([name]) => of.head !== null || !name.startsWith("witness_"));
  const { quantity, head } = of;
  const { error: off = () => 0 } = errorsOf(
    source,
    quantity ?? "weights",
    [],
    head ?? "mean",
    found.data.longest,
  );
  const least = shares ? leastSum(raw, n) : 1;
  return {
    matrix: { data: about.data, arrays: new Map(kept) },
    drill: (a, b) => drill(gathered, sentences[a] ?? [], sentences[b] ?? []),
    // A share is off by its own entries, and by those of the sum that it is divided by.
    error: (value, terms = 1) =>
      shares ? (off(value, 1) * (terms + value * n)) / (least || 1) : off(value, terms),
  };
}

/** The smallest sum of a row. */
function leastSum(matrix: Float32Array, n: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < n; i++) {
    least = Math.min(
      least,
      matrix.subarray(i * n, (i + 1) * n).reduce((sum, value) => sum + value, 0),
    );
  }
  return least;
}
