/** The linearized network: fixed factors of a run, and its norms as linear maps (docs/similarity.md, "Three sums"). */

/** Fixed factors of one layer of a run. */
export interface LayerConstants {
  /** `act(z) / z` `[token][intermediate]`; 0 where z is 0. */
  readonly ratios: Float32Array;
  /** 1 over the standard deviation of each token in the norm after attention, and in that after the layer. */
  readonly attentionNorm: Float64Array;
  readonly outputNorm: Float64Array;
}

/** 1 over the standard deviation of each row of `x + residual`, as LayerNorm divides by it. */
export function inverses(
  x: Float32Array,
  residual: Float32Array,
  n: number,
  eps: number,
): Float64Array {
  return Float64Array.from({ length: x.length / n }, (_, row) => {
    const at = row * n;
    let mean = 0;
    for (let i = at; i < at + n; i++) mean += (x[i] as number) + (residual[i] as number);
    mean /= n;
    let squares = 0;
    for (let i = at; i < at + n; i++)
      squares += ((x[i] as number) + (residual[i] as number) - mean) ** 2;
    return 1 / Math.sqrt(squares / n + eps);
  });
}

export const ratiosOf = (before: Float32Array, after: Float32Array): Float32Array =>
  before.map((value, i) => (value === 0 ? 0 : (after[i] as number) / value));

/** Multiply the rows of each source, `[source][rows][n]`, by factors `[token][n]`; rows beyond the text's stay. */
export function scale(x: Float32Array, factors: Float32Array, rows: number, n: number): void {
  for (let source = 0; source < x.length; source += rows * n)
    for (let i = 0; i < factors.length; i++)
      x[source + i] = (x[source + i] as number) * (factors[i] as number);
}

/**
 * `x = gain * (x + residual - mean) * inverse`, plus `shift` where it is given, `[source][rows][n]`; rows beyond the
 * text's become 0.
 */
export function linearNorm(
  x: Float32Array,
  residual: Float32Array,
  rows: number,
  gain: Float32Array,
  inverse: Float64Array,
  shift: Float32Array | null,
): void {
  const n = gain.length;
  for (let at = 0, row = 0; at < x.length; at += n, row++) {
    const factor = inverse[row % rows];
    if (factor === undefined) {
      x.fill(0, at, at + n);
      continue;
    }
    let mean = 0;
    for (let i = 0; i < n; i++) mean += (x[at + i] as number) + (residual[at + i] as number);
    mean /= n;
    for (let i = 0; i < n; i++) {
      const centered = (x[at + i] as number) + (residual[at + i] as number) - mean;
      x[at + i] =
        (gain[i] as number) * centered * factor + (shift === null ? 0 : (shift[i] as number));
    }
  }
}

/** The weighted sum of each source's rows, `[source][n]`. */
export function pooled(
  x: Float32Array,
  weights: ArrayLike<number>,
  rows: number,
  n: number,
): Float32Array<ArrayBuffer> {
  const count = x.length / (rows * n);
  const sums = new Float64Array(count * n);
  for (let source = 0; source < count; source++)
    for (let row = 0; row < weights.length; row++) {
      const weight = weights[row] as number;
      if (weight === 0) continue;
      const at = (source * rows + row) * n;
      for (let i = 0; i < n; i++)
        sums[source * n + i] = (sums[source * n + i] as number) + weight * (x[at + i] as number);
    }
  return Float32Array.from(sums);
}
