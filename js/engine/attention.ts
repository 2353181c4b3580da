/** Attention of a head. */

import { softmax } from "./functions";
import { COLUMNS, F32, ROWS, STEP } from "./lanes";
import { product } from "./product";

/**
 * Attention of one head.
 *
 * q, k, v and context point to the head's first column in rows of `stride` bytes. `weights` receives [length][length].
 * `scores` holds [rows of 4][columns of 8], `panel` one panel of max(size, columns) steps; `mask` has a float a column.
 */
export function head(
  q: usize,
  k: usize,
  v: usize,
  context: usize,
  stride: usize,
  length: i32,
  size: i32,
  scale: f64,
  mask: usize,
  scores: usize,
  panel: usize,
  weights: usize,
): void {
  const rows = (length + ROWS - 1) & ~(ROWS - 1);
  const columns = (length + COLUMNS - 1) & ~(COLUMNS - 1);
  const scoreStride: usize = columns * F32;
  for (let first = 0; first < columns; first += COLUMNS) {
    for (let key = 0; key < COLUMNS; key++) {
      const from = k + <usize>(first + key) * stride;
      const to = panel + <usize>key * F32;
      const known = first + key < length;
      for (let i = 0; i < size; i++)
        f32.store(to + <usize>i * STEP, known ? f32.load(from + <usize>i * F32) : 0);
    }
    product(q, stride, rows, panel, size, scale, 0, scores + <usize>first * F32, scoreStride);
  }
  for (let row = 0; row < length; row++) {
    const at = scores + <usize>row * scoreStride;
    softmax(at, columns, mask);
    memory.copy(weights + <usize>(row * length) * F32, at, length * F32);
  }
  mix(scores, v, context, stride, length, size, panel);
}

/** context = scores x v for one head; rows beyond the text's are filled as well. */
// @ts-ignore: decorator
@inline
function mix(
  scores: usize,
  v: usize,
  context: usize,
  stride: usize,
  length: i32,
  size: i32,
  panel: usize,
): void {
  const rows = (length + ROWS - 1) & ~(ROWS - 1);
  const columns = (length + COLUMNS - 1) & ~(COLUMNS - 1);
  const scoreStride: usize = columns * F32;
  for (let first = 0; first < size; first += COLUMNS) {
    for (let key = 0; key < columns; key++) {
      const from = v + <usize>key * stride + <usize>first * F32;
      const to = panel + <usize>key * STEP;
      const known = key < length;
      v128.store(to, known ? v128.load(from) : f32x4.splat(0));
      v128.store(to, known ? v128.load(from, 16) : f32x4.splat(0), 16);
    }
    const to = context + <usize>first * F32;
    product(scores, scoreStride, rows, panel, columns, 1, 0, to, stride);
  }
}

/**
 * Mix the values of several sources by the same weights of one head: `weights` holds [length][length], v and context
 * [sources][rows of 4] in rows of `stride` bytes; `scores` and `panel` as in `head`.
 */
export function carry(
  weights: usize,
  v: usize,
  context: usize,
  stride: usize,
  length: i32,
  size: i32,
  sources: i32,
  scores: usize,
  panel: usize,
): void {
  const rows = (length + ROWS - 1) & ~(ROWS - 1);
  const columns = (length + COLUMNS - 1) & ~(COLUMNS - 1);
  const scoreStride: usize = columns * F32;
  memory.fill(scores, 0, <usize>rows * scoreStride);
  for (let row = 0; row < length; row++)
    memory.copy(
      scores + <usize>row * scoreStride,
      weights + <usize>(row * length) * F32,
      length * F32,
    );
  for (let source = 0; source < sources; source++) {
    mix(scores, v, context, stride, length, size, panel);
    v += <usize>rows * stride;
    context += <usize>rows * stride;
  }
}
