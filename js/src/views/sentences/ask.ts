/** A matrix of sentences with the way to its tokens: from the kernel for weights, gathered here for other quantities. */

import type { SliceOptions, Source } from "../../protocol/types";
import { carriedRequest, gatherCarried } from "./carried";
import {
  type Asked,
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
    source.slice(matrixRequest(of), options),
    masked && source.slice(masked, options),
  ]);
  const matrix = slicedMatrix(of, found, meta, mask, errorIn(found.data, of, precision));
  return {
    matrix,
    async block(a, b, waiting) {
      const drill = await source.slice(drillRequest(of, a, b), waiting);
      return slicedBlock(
        drill,
        matrix,
        meta.tokens.text.length,
        errorIn(drill.data, of, precision),
      );
    },
  };
}

async function askCarried(of: Asked, source: Source, options: SliceOptions): Promise<Answer> {
  const [about, found] = await Promise.all([
    source.slice(
      matrixRequest({ aggregation: "mass", layer: null, head: null, quantity: null }),
      options,
    ),
    source.slice(carriedRequest(of), options),
  ]);
  const gathered = gatherCarried(of, found, about, source);
  const matrix = slicedMatrix(of, gathered.matrix, source.meta, found, gathered.error);
  return {
    matrix,
    async block(a, b) {
      const n = source.meta.tokens.text.length;
      return slicedBlock(gathered.drill(a, b), matrix, n, gathered.error);
    },
  };
}
