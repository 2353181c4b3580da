/** Thumbnails and the largest weights of all heads, as `attn_widget/protocol/initial_payload.py` makes them. */

import type { NdArray } from "../../../../protocol/types";

/** Cells on a side of a thumbnail, and bytes of all of them (attn_widget/protocol/head_scan.py). */
const THUMB = { least: 18, most: 24, bytes: 47_000 } as const;

export function thumbSide(n: number, heads: number): number {
  const fits = Math.floor(Math.sqrt(Math.floor(THUMB.bytes / heads)));
  return Math.min(n, Math.max(THUMB.least, Math.min(THUMB.most, fits)));
}

/** `thumbs`, `head_max` and `word_max` out of `attention` `[L, H, n, n]`. */
export function survey(
  attention: Float32Array,
  [layers, heads]: readonly [number, number],
  special: readonly boolean[],
): Map<string, NdArray> {
  const n = special.length;
  const side = thumbSide(n, layers * heads);
  const cell = new Int32Array(n);
  for (let band = 0; band < side; band++) cell.fill(band, Math.floor((band * n) / side));
  const thumbs = new Uint8Array(layers * heads * side * side);
  const headMax = new Float32Array(layers * heads);
  const wordMax = new Float32Array(layers * heads);
  const pooled = new Float32Array(side * side);
  for (let head = 0; head < layers * heads; head++) {
    const start = head * n * n;
    let [most, between] = [0, 0];
    pooled.fill(0);
    for (let i = 0; i < n; i++) {
      const row = (cell[i] as number) * side;
      for (let j = 0; j < n; j++) {
        const weight = attention[start + i * n + j] as number;
        const at = row + (cell[j] as number);
        if (weight > (pooled[at] as number)) pooled[at] = weight;
        if (weight > most) most = weight;
        if (weight > between && !special[i] && !special[j]) between = weight;
      }
    }
    headMax[head] = most;
    wordMax[head] = special.filter((is) => !is).length < 2 ? 0 : between;
    const safe = most > 0 ? most : 1;
    for (let i = 0; i < pooled.length; i++) {
      const share = Math.fround(Math.sqrt(Math.fround((pooled[i] as number) / safe)));
      thumbs[head * pooled.length + i] = Math.min(255, Math.ceil(Math.fround(share * 255)));
    }
  }
  return new Map<string, NdArray>([
    ["thumbs", { data: thumbs, shape: [layers, heads, side, side] }],
    ["head_max", { data: headMax, shape: [layers, heads] }],
    ["word_max", { data: wordMax, shape: [layers, heads] }],
  ]);
}
