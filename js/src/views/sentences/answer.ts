/** A matrix of sentences and the way to its tokens: weights as the source gives them, other quantities gathered here. */

import { errorsOf, matrixRequest as tokenMatrixRequest } from "../../figures/matrix";
import { placeName } from "../../figures/names";
import { hasHead, measureOf } from "../../figures/quantities";
import { wholeCells } from "../../protocol/cells";
import { keysOf } from "../../protocol/meta";
import { pauses } from "../../protocol/pauses";
import { arrayOf } from "../../protocol/required";
import { rowsNormalized } from "../../protocol/slices/rollout";
import { sentenceBlock, sentenceMatrix } from "../../protocol/slices/sentences";
import type { HeadIndex, Slice, SliceOptions, SliceRequest, Source } from "../../protocol/types";
import type { Selection } from "../../state/selection";
import {
  type Aggregation,
  type Asked,
  type Carried,
  drillRequest,
  errorIn,
  maskRequest,
  matrixRequest,
  type SentenceMatrix,
  slicedBlock,
  slicedMatrix,
  type TokenBlock,
} from "./data";

export interface Answer {
  readonly matrix: SentenceMatrix;
  block(a: number, b: number, options: SliceOptions): Promise<TokenBlock>;
}

export const ask = (of: Asked, source: Source, options: SliceOptions): Promise<Answer> =>
  of.quantity === null ? askWeights(of, source, options) : askCarried(of, source, options);

async function askWeights(of: Asked, source: Source, options: SliceOptions): Promise<Answer> {
  const { meta, precision } = source;
  const masked = maskRequest(of, source);
  const [found, mask] = await Promise.all([
    source.ask(matrixRequest(of), options),
    masked && source.ask(masked, options),
  ]);
  const matrix = slicedMatrix(of, found, meta, mask, errorIn(found.data, of, precision));
  return {
    matrix,
    async block(a, b, waiting) {
      const drill = await source.ask(drillRequest(of, a, b), waiting);
      return slicedBlock(
        drill,
        matrix,
        keysOf(meta).text.length,
        errorIn(drill.data, of, precision),
      );
    },
  };
}

async function askCarried(of: Asked, source: Source, options: SliceOptions): Promise<Answer> {
  const [about, found] = await Promise.all([
    source.ask(
      matrixRequest({ aggregation: "mass", layer: null, head: null, quantity: null }),
      options,
    ),
    source.ask(carriedRequest(of), options),
  ]);
  const gathered = await gatherCarried(of, found, about, source);
  const matrix = slicedMatrix(of, gathered.matrix, source.meta, found, gathered.error);
  return {
    matrix,
    async block(a, b) {
      const n = source.meta.tokens.text.length;
      return slicedBlock(await gathered.drill(a, b), matrix, n, gathered.error);
    },
  };
}

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

const carriedRequest = ({ layer, head, quantity }: Asked): SliceRequest =>
  tokenMatrixRequest({ layer: layer ?? 0, head: head ?? "mean", quantity: quantity ?? "weights" });

/** `ALTI · L3`, `norms · L3 · H5`, `rollout of ALTI to L3`. */
export const carriedName = ({ layer, head, quantity }: Asked): string =>
  placeName({ layer: layer ?? 0, head: head ?? "mean", quantity: quantity ?? "weights" });

interface CarriedAnswer {
  /** Answers as the kernel gives them for weights. */
  readonly matrix: Slice;
  drill(a: number, b: number): Promise<Slice>;
  /** Bound of the error of a value, or of a sum of `terms` entries. */
  error(value: number, terms?: number): number;
}

/**
 * Mass: entries divided by their row's sum, summed over the keys of a sentence, mean over its queries.
 * Max: the largest entry as it is. `about` names the sentences and their tokens.
 */
async function gatherCarried(
  of: Asked,
  found: Slice,
  about: Slice,
  source: Source,
): Promise<CarriedAnswer> {
  const n = source.meta.tokens.text.length;
  const raw = arrayOf(found, "weights").data as Float32Array;
  const shares = of.aggregation === "mass";
  const cells = wholeCells(shares ? rowsNormalized(raw, n) : raw, n);
  const parts = [{ layer: of.layer ?? 0, head: of.head ?? 0, open: () => cells }];
  const sentences = about.data.tokens as readonly (readonly number[])[];
  const whole = [of.aggregation, parts] as const;
  const { arrays } = await sentenceMatrix(...whole, sentences, n, about.data, pauses());
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
    drill: (a, b) =>
      sentenceBlock(...whole, [sentences[a] ?? [], sentences[b] ?? []], {}, pauses()),
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
