/** Rows times a matrix: a decoded panel at a time, four rows at a time. */

import { COLUMNS, F32, fused, fused64, HALF_STEP, pair, ROWS, STEP, storePair } from "./lanes";
import { decode } from "./panels";

/** Products that are summed before they join the total: short sums round less, the more so without fused ones. */
const BLOCK = ASC_FEATURE_RELAXED_SIMD ? 128 : 64;
/** Rows up to which products are summed in float64: see wideTile. */
const SHORT = 8;

/**
 * Four rows of x times one decoded panel [n][8], plus bias; times scale. n is a multiple of 4.
 * Twelve vectors are live at once: a fifth row would spill.
 */
// @ts-ignore: decorator
@inline
function tile(
  x: usize,
  stride: usize,
  panel: usize,
  n: i32,
  scale: f32,
  bias: usize,
  out: usize,
  outStride: usize,
): void {
  let x1 = x + stride;
  let x2 = x1 + stride;
  let x3 = x2 + stride;
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let b0 = a0;
  let b1 = a0;
  let c0 = a0;
  let c1 = a0;
  let d0 = a0;
  let d1 = a0;
  const end = panel + <usize>n * STEP;
  while (panel < end) {
    let w0 = v128.load(panel);
    let w1 = v128.load(panel, 16);
    let v = v128.load32_splat(x);
    a0 = fused(a0, v, w0);
    a1 = fused(a1, v, w1);
    v = v128.load32_splat(x1);
    b0 = fused(b0, v, w0);
    b1 = fused(b1, v, w1);
    v = v128.load32_splat(x2);
    c0 = fused(c0, v, w0);
    c1 = fused(c1, v, w1);
    v = v128.load32_splat(x3);
    d0 = fused(d0, v, w0);
    d1 = fused(d1, v, w1);

    w0 = v128.load(panel, 32);
    w1 = v128.load(panel, 48);
    v = v128.load32_splat(x, 4);
    a0 = fused(a0, v, w0);
    a1 = fused(a1, v, w1);
    v = v128.load32_splat(x1, 4);
    b0 = fused(b0, v, w0);
    b1 = fused(b1, v, w1);
    v = v128.load32_splat(x2, 4);
    c0 = fused(c0, v, w0);
    c1 = fused(c1, v, w1);
    v = v128.load32_splat(x3, 4);
    d0 = fused(d0, v, w0);
    d1 = fused(d1, v, w1);

    w0 = v128.load(panel, 64);
    w1 = v128.load(panel, 80);
    v = v128.load32_splat(x, 8);
    a0 = fused(a0, v, w0);
    a1 = fused(a1, v, w1);
    v = v128.load32_splat(x1, 8);
    b0 = fused(b0, v, w0);
    b1 = fused(b1, v, w1);
    v = v128.load32_splat(x2, 8);
    c0 = fused(c0, v, w0);
    c1 = fused(c1, v, w1);
    v = v128.load32_splat(x3, 8);
    d0 = fused(d0, v, w0);
    d1 = fused(d1, v, w1);

    w0 = v128.load(panel, 96);
    w1 = v128.load(panel, 112);
    v = v128.load32_splat(x, 12);
    a0 = fused(a0, v, w0);
    a1 = fused(a1, v, w1);
    v = v128.load32_splat(x1, 12);
    b0 = fused(b0, v, w0);
    b1 = fused(b1, v, w1);
    v = v128.load32_splat(x2, 12);
    c0 = fused(c0, v, w0);
    c1 = fused(c1, v, w1);
    v = v128.load32_splat(x3, 12);
    d0 = fused(d0, v, w0);
    d1 = fused(d1, v, w1);

    panel += 4 * STEP;
    x += 16;
    x1 += 16;
    x2 += 16;
    x3 += 16;
  }
  let p0 = f32x4.splat(0);
  let p1 = p0;
  if (bias) {
    p0 = v128.load(bias);
    p1 = v128.load(bias, 16);
  }
  const s = f32x4.splat(scale);
  v128.store(out, f32x4.mul(f32x4.add(a0, p0), s));
  v128.store(out, f32x4.mul(f32x4.add(a1, p1), s), 16);
  out += outStride;
  v128.store(out, f32x4.mul(f32x4.add(b0, p0), s));
  v128.store(out, f32x4.mul(f32x4.add(b1, p1), s), 16);
  out += outStride;
  v128.store(out, f32x4.mul(f32x4.add(c0, p0), s));
  v128.store(out, f32x4.mul(f32x4.add(c1, p1), s), 16);
  out += outStride;
  v128.store(out, f32x4.mul(f32x4.add(d0, p0), s));
  v128.store(out, f32x4.mul(f32x4.add(d1, p1), s), 16);
}

/** As `tile`, but in blocks of inputs, whose sums are added to the bias. `sums` has room for one tile. */
// @ts-ignore: decorator
@inline
function longTile(
  x: usize,
  stride: usize,
  panel: usize,
  n: i32,
  bias: usize,
  out: usize,
  outStride: usize,
  sums: usize,
): void {
  for (let row: usize = 0; row < <usize>ROWS; row++) {
    v128.store(out + row * outStride, v128.load(bias));
    v128.store(out + row * outStride, v128.load(bias, 16), 16);
  }
  for (let first = 0; first < n; first += BLOCK) {
    tile(x, stride, panel, min(BLOCK, n - first), 1, 0, sums, STEP);
    for (let row: usize = 0; row < <usize>ROWS; row++) {
      const to = out + row * outStride;
      const from = sums + row * STEP;
      v128.store(to, f32x4.add(v128.load(to), v128.load(from)));
      v128.store(to, f32x4.add(v128.load(to, 16), v128.load(from, 16)), 16);
    }
    x += BLOCK * F32;
    panel += BLOCK * STEP;
  }
}

/**
 * Two rows of x times one decoded panel, plus bias, times scale, all in float64 and rounded once. For texts of few
 * tokens, some of which amplify the rounding of float32 a hundredfold.
 */
function wideTile(
  x: usize,
  stride: usize,
  panel: usize,
  n: i32,
  scale: f64,
  bias: usize,
  out: usize,
  outStride: usize,
): void {
  let x1 = x + stride;
  let a0 = f64x2.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  let b0 = a0;
  let b1 = a0;
  let b2 = a0;
  let b3 = a0;
  if (bias) {
    b0 = a0 = pair(bias);
    b1 = a1 = pair(bias + 8);
    b2 = a2 = pair(bias + 16);
    b3 = a3 = pair(bias + 24);
  }
  const end = panel + <usize>n * STEP;
  for (; panel < end; panel += STEP) {
    const w0 = pair(panel);
    const w1 = pair(panel + 8);
    const w2 = pair(panel + 16);
    const w3 = pair(panel + 24);
    let v = f64x2.splat(<f64>f32.load(x));
    a0 = fused64(a0, v, w0);
    a1 = fused64(a1, v, w1);
    a2 = fused64(a2, v, w2);
    a3 = fused64(a3, v, w3);
    v = f64x2.splat(<f64>f32.load(x1));
    b0 = fused64(b0, v, w0);
    b1 = fused64(b1, v, w1);
    b2 = fused64(b2, v, w2);
    b3 = fused64(b3, v, w3);
    x += F32;
    x1 += F32;
  }
  const s = f64x2.splat(scale);
  storePair(out, f64x2.mul(a0, s));
  storePair(out + 8, f64x2.mul(a1, s));
  storePair(out + 16, f64x2.mul(a2, s));
  storePair(out + 24, f64x2.mul(a3, s));
  out += outStride;
  storePair(out, f64x2.mul(b0, s));
  storePair(out + 8, f64x2.mul(b1, s));
  storePair(out + 16, f64x2.mul(b2, s));
  storePair(out + 24, f64x2.mul(b3, s));
}

/** All rows of a short text times one decoded panel. */
function wideProduct(
  x: usize,
  stride: usize,
  rows: i32,
  panel: usize,
  n: i32,
  scale: f64,
  bias: usize,
  out: usize,
  outStride: usize,
): void {
  for (let row = 0; row < rows; row += 2) {
    wideTile(x, stride, panel, n, scale, bias, out, outStride);
    x += 2 * stride;
    out += 2 * outStride;
  }
}

/** All rows times one decoded panel. */
export function product(
  x: usize,
  stride: usize,
  rows: i32,
  panel: usize,
  n: i32,
  scale: f64,
  bias: usize,
  out: usize,
  outStride: usize,
): void {
  if (rows <= SHORT) {
    wideProduct(x, stride, rows, panel, n, scale, bias, out, outStride);
    return;
  }
  for (let row = 0; row < rows; row += ROWS) {
    tile(x, stride, panel, n, <f32>scale, bias, out, outStride);
    x += ROWS * stride;
    out += ROWS * outStride;
  }
}

/** out [rows][8 panels] = x [rows][n] times the matrix, plus bias. The scratch holds one decoded panel and a tile. */
export function linear(
  x: usize,
  rows: i32,
  n: i32,
  matrix: usize,
  panels: i32,
  bias: usize,
  out: usize,
  scratch: usize,
): void {
  const outStride: usize = panels * COLUMNS * F32;
  for (let panel = 0; panel < panels; panel++) {
    decode(matrix, n, scratch);
    const sums = scratch + <usize>n * STEP;
    if (rows <= SHORT) wideProduct(x, n * F32, rows, scratch, n, 1, bias, out, outStride);
    else for (let row = 0; row < rows; row += ROWS) {
      const from = x + <usize>row * n * F32;
      longTile(from, n * F32, scratch, n, bias, out + <usize>row * outStride, outStride, sums);
    }
    matrix += <usize>n * HALF_STEP;
    bias += COLUMNS * F32;
    out += COLUMNS * F32;
  }
}
