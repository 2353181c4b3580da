/** Rollout (Abnar & Zuidema 2020), as `attn_widget/figures` has it. */

import { ByteCache } from "../cache";

/** Matrices that are kept, bytes: a rollout through one more layer starts from the one before. */
const CACHE_BYTES = 64e6;

/** Rows divided by their sums; a row of zeros stays. */
export function rowsNormalized(matrix: Float32Array, n: number): Float32Array {
  const result = new Float32Array(n * n);
  for (let i = 0; i < n; i++) {
    let total = 0;
    for (let j = 0; j < n; j++) total += matrix[i * n + j] as number;
    for (let j = 0; j < n; j++) result[i * n + j] = (matrix[i * n + j] as number) / (total || 1);
  }
  return result;
}

/** One step: attention, `residual` of it the residual stream, rows rescaled to 1, times what came before. */
export function rolloutStep(
  mean: Float32Array,
  before: Float64Array | null,
  n: number,
  residual = 0.5,
): Float64Array {
  const step = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    let total = 0;
    for (let j = 0; j < n; j++) {
      const value =
        (1 - residual) *
        (Number.isNaN(mean[i * n + j] as number) ? 0 : (mean[i * n + j] as number));
      step[i * n + j] = value + (i === j ? residual : 0);
      total += step[i * n + j] as number;
    }
    for (let j = 0; j < n; j++) step[i * n + j] = (step[i * n + j] as number) / (total || 1);
  }
  if (before === null) return step;
  const result = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < n; k++) {
      const share = step[i * n + k] as number;
      if (share === 0) continue;
      for (let j = 0; j < n; j++) {
        result[i * n + j] = (result[i * n + j] as number) + share * (before[k * n + j] as number);
      }
    }
  }
  return result;
}

/** Rollouts of a run, which build on each other. */
export class Rollouts {
  readonly #cache = new ByteCache<Float64Array>(CACHE_BYTES);

  constructor(readonly n: number) {}

  /** Through the layers up to `layer`; `matrix` gives each layer's, and `quantity` names them. */
  through(
    quantity: string,
    layer: number,
    matrix: (layer: number) => Promise<Float32Array>,
    residual = 0.5,
  ): Promise<Float64Array> {
    const make = async (): Promise<Float64Array> => {
      const before = layer === 0 ? null : await this.through(quantity, layer - 1, matrix, residual);
      return rolloutStep(await matrix(layer), before, this.n, residual);
    };
    return this.#cache.kept(`${quantity} ${layer}`, make, ({ byteLength }) => byteLength);
  }
}
