/** Attention rollout (Abnar & Zuidema 2020), as `attn_widget/figures/rollout.py` has it. */

/** One step: half attention, half the residual stream, rows rescaled to 1, times what came before. */
export function rolloutStep(
  mean: Float32Array,
  before: Float64Array | null,
  n: number,
): Float64Array {
  const step = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    let total = 0;
    for (let j = 0; j < n; j++) {
      const value =
        0.5 * (Number.isNaN(mean[i * n + j] as number) ? 0 : (mean[i * n + j] as number));
      step[i * n + j] = value + (i === j ? 0.5 : 0);
      total += step[i * n + j] as number;
    }
    for (let j = 0; j < n; j++) step[i * n + j] = (step[i * n + j] as number) / total;
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
