/** A layer's attention block and what tokens carry through it, in float64: attn_widget/figures/mixing.py. */

import type { EngineRun } from "../../engine-run";

/** Vectors are rows of a flat array. */
export interface Block {
  readonly n: number;
  readonly heads: number;
  /** Width of a hidden state. */
  readonly width: number;
  /** `[H, n, n]`; zeros where a head is off. */
  readonly weights: Float32Array;
  /** `v_j^h W_O^h`, `[H, n, width]`. */
  readonly carried: Float64Array;
  readonly bias: Float32Array;
  readonly residual: Float32Array;
  readonly gain: Float32Array;
  readonly shift: Float32Array;
  readonly eps: number;
}

/** The block of a layer with everything that its figures need. */
export async function blockOf(run: EngineRun, layer: number): Promise<Block> {
  const { n } = run;
  const [, heads] = run.shape;
  const { hidden_size: width, head_dim: size } = run.meta.model;
  const residual = await run.hidden(layer);
  const { values, parameters, eps } = await run.queue.of(run.input, async (engine) => ({
    values: await engine.projection("value", layer),
    parameters: await engine.attentionParameters(layer),
    eps: (await engine.header()).eps,
  }));
  const matrix = parameters.subarray(0, width * width);
  const [bias, gain, shift] = [0, 1, 2].map((part) =>
    parameters.slice((width + part) * width, (width + part + 1) * width),
  ) as [Float32Array, Float32Array, Float32Array];
  const carried = new Float64Array(heads * n * width);
  for (let head = 0; head < heads; head++)
    for (let j = 0; j < n; j++) {
      const at = (head * n + j) * width;
      for (let k = head * size; k < (head + 1) * size; k++) {
        const value = values[j * width + k] as number;
        for (let d = 0; d < width; d++)
          carried[at + d] = (carried[at + d] as number) + value * (matrix[k * width + d] as number);
      }
    }
  const square = n * n;
  const weights = run.attention.slice(layer * heads * square, (layer + 1) * heads * square);
  for (const [off, head] of run.meta.heads_off ?? [])
    if (off === layer) weights.fill(0, head * square, (head + 1) * square);
  return { n, heads, width, weights, carried, bias, residual, gain, shift, eps };
}

export function lengthOf(vector: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < vector.length; i++) sum += (vector[i] as number) ** 2;
  return Math.sqrt(sum);
}

/** Rows `gain * (u - mean(u))`: the norm without its division. */
export function centered({ width, gain }: Block, rows: ArrayLike<number>): Float64Array {
  const lengths = new Float64Array(rows.length);
  for (let from = 0; from < rows.length; from += width) {
    let mean = 0;
    for (let d = 0; d < width; d++) mean += rows[from + d] as number;
    mean /= width;
    for (let d = 0; d < width; d++)
      lengths[from + d] = ((rows[from + d] as number) - mean) * (gain[d] as number);
  }
  return lengths;
}

/** `‖sum_h A^h_ij t_j^h‖`, `[n, n]`, by the products of the heads' vectors of each key. */
export function summedNorms(
  { n, heads, width, weights }: Block,
  carried: Float64Array,
): Float64Array {
  const inner = new Float64Array(n * n);
  const products = new Float64Array(heads * heads);
  for (let j = 0; j < n; j++) {
    for (let a = 0; a < heads; a++)
      for (let b = 0; b <= a; b++) {
        const [fromA, fromB] = [(a * n + j) * width, (b * n + j) * width];
        let sum = 0;
        for (let d = 0; d < width; d++)
          sum += (carried[fromA + d] as number) * (carried[fromB + d] as number);
        products[a * heads + b] = products[b * heads + a] = sum;
      }
    for (let i = 0; i < n; i++) {
      let sum = 0;
      for (let a = 0; a < heads; a++) {
        const share = weights[(a * n + i) * n + j] as number;
        for (let b = 0; b < heads; b++)
          sum +=
            share * (weights[(b * n + i) * n + j] as number) * (products[a * heads + b] as number);
      }
      inner[i * n + j] = Math.sqrt(Math.max(sum, 0));
    }
  }
  return inner;
}

/** The vector that key `j` gives query `i`, `sum_h A^h_ij t_j^h`, added to `out`. */
export function give(
  { n, heads, width, weights }: Block,
  carried: Float64Array,
  i: number,
  j: number,
  out: Float64Array,
): Float64Array {
  for (let head = 0; head < heads; head++) {
    const share = weights[(head * n + i) * n + j] as number;
    const at = (head * n + j) * width;
    for (let d = 0; d < width; d++)
      out[d] = (out[d] as number) + share * (carried[at + d] as number);
  }
  return out;
}

/** The block's figures that several quantities share. */
interface Shared {
  /** The centered `carried`. */
  readonly carried: Float64Array;
  /** The centered `z_ii`, `[n, width]`: what a position keeps of itself. */
  readonly own: Float64Array;
  /** The centered sums without the bias, `[n, width]`. */
  readonly sums: Float64Array;
  /** The standard deviation that the norm divides by, `[n]`. */
  readonly spread: Float64Array;
  /** The block's output `y`, `[n, width]`. */
  readonly outputs: Float64Array;
}

export function sharedOf(block: Block): Shared {
  const { n, width, residual, bias, shift, eps } = block;
  const sums = Float64Array.from(residual);
  for (let i = 0; i < n; i++) {
    const row = sums.subarray(i * width, (i + 1) * width);
    for (let j = 0; j < n; j++) give(block, block.carried, i, j, row);
  }
  const whole = sums.map((value, at) => value + (bias[at % width] as number));
  const spread = Float64Array.from({ length: n }, (_, i) => {
    const row = whole.subarray(i * width, (i + 1) * width);
    const mean = row.reduce((a, b) => a + b, 0) / width;
    return Math.sqrt(row.reduce((a, b) => a + (b - mean) ** 2, 0) / width + eps);
  });
  const carried = centered(block, block.carried);
  const own = centered(block, residual);
  for (let i = 0; i < n; i++) give(block, carried, i, i, own.subarray(i * width, (i + 1) * width));
  const outputs = centered(block, whole).map(
    (value, at) =>
      value / (spread[Math.floor(at / width)] as number) + (shift[at % width] as number),
  );
  return { carried, own, sums: centered(block, sums), spread, outputs };
}
