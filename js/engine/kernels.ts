/**
 * The kernels of the model, compiled to WebAssembly SIMD by AssemblyScript.
 *
 * They know addresses and sizes alone: js/src/engine/ lays out the memory and calls them. Nothing is allocated here.
 * Activations are float32, row-major, in buffers whose number of rows is a multiple of 4 (ROWS). Weight matrices are
 * float16 in panels of 8 outputs (COLUMNS): a panel holds [input][8], and the last one is filled with zeros. Matrices of
 * 8 bits have panels of int8 after the 8 float32 scales of their outputs.
 */

const ROWS = 4;
const COLUMNS = 8;
const F32 = 4;
/** Products that are summed before they join the total: short sums round less, the more so without fused ones. */
const BLOCK = ASC_FEATURE_RELAXED_SIMD ? 128 : 64;
/** Rows up to which products are summed in float64: see wideTile. */
const SHORT = 8;
/** Bytes of one input's weights in a panel: float16, and decoded. */
const HALF_STEP = 16;
const STEP = 32;
/** The same of int8; and the bytes of a panel's scales. */
const BYTE_STEP = 8;
const SCALES = 32;
/** Added to scores of keys outside the mask: far below any score, and finite. */
const MASKED: f32 = -1e30;

/** Four float16 as float32: the low half of a vector. The multiplication moves the exponent; finite values only. */
// @ts-ignore: decorator
@inline
function low(halves: v128): v128 {
  return widen(i32x4.extend_low_i16x8_s(halves));
}

// @ts-ignore: decorator
@inline
function high(halves: v128): v128 {
  return widen(i32x4.extend_high_i16x8_s(halves));
}

// @ts-ignore: decorator
@inline
function widen(bits: v128): v128 {
  const moved = v128.and(i32x4.shl(bits, 13), i32x4.splat(0x8fffe000));
  return f32x4.mul(moved, f32x4.splat(5.192296858534828e33)); // 2^112
}

/** sum + v w, rounded once where the relaxed instructions are compiled and the machine has a fused one. */
// @ts-ignore: decorator
@inline
function fused(sum: v128, v: v128, w: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return v128.relaxed_madd<f32>(v, w, sum);
  return f32x4.add(sum, f32x4.mul(v, w));
}

// @ts-ignore: decorator
@inline
function fused64(sum: v128, v: v128, w: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return v128.relaxed_madd<f64>(v, w, sum);
  return f64x2.add(sum, f64x2.mul(v, w));
}

/** Two float32 of memory as float64. */
// @ts-ignore: decorator
@inline
function pair(from: usize): v128 {
  return f64x2.promote_low_f32x4(v128.load64_zero(from));
}

/** Store two float64 as float32. */
// @ts-ignore: decorator
@inline
function storePair(to: usize, v: v128): void {
  v128.store64_lane(to, f32x4.demote_f64x2_zero(v), 0);
}

/** Decode groups of eight float16. */
export function decode(from: usize, groups: i32, to: usize): void {
  for (let i = 0; i < groups; i++) {
    const halves = v128.load(from);
    v128.store(to, low(halves));
    v128.store(to, high(halves), 16);
    from += HALF_STEP;
    to += STEP;
  }
}

/** Decode a panel of int8: n groups of eight after their scales. */
function decodeBytes(from: usize, n: i32, to: usize): void {
  const s0 = v128.load(from);
  const s1 = v128.load(from, 16);
  from += SCALES;
  for (let i = 0; i < n; i++) {
    const wide = v128.load8x8_s(from);
    v128.store(to, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(wide)), s0));
    v128.store(to, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(wide)), s1), 16);
    from += BYTE_STEP;
    to += STEP;
  }
}

/** Bytes of a panel with n inputs, whose weights have 16 or 8 bits. */
// @ts-ignore: decorator
@inline
function panelBytes(n: i32, bits: i32): usize {
  return bits == 8 ? SCALES + <usize>n * BYTE_STEP : <usize>n * HALF_STEP;
}

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
function product(
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
  bits: i32,
): void {
  const outStride: usize = panels * COLUMNS * F32;
  for (let panel = 0; panel < panels; panel++) {
    if (bits == 8) decodeBytes(matrix, n, scratch);
    else decode(matrix, n, scratch);
    const sums = scratch + <usize>n * STEP;
    if (rows <= SHORT) wideProduct(x, n * F32, rows, scratch, n, 1, bias, out, outStride);
    else for (let row = 0; row < rows; row += ROWS) {
      const from = x + <usize>row * n * F32;
      longTile(from, n * F32, scratch, n, bias, out + <usize>row * outStride, outStride, sums);
    }
    matrix += panelBytes(n, bits);
    bias += COLUMNS * F32;
    out += COLUMNS * F32;
  }
}

/** e^x of four values, to 2e-7 relative (Cephes' expf); below -87 as at -87. */
// @ts-ignore: decorator
@inline
function exp(x: v128): v128 {
  x = f32x4.max(x, f32x4.splat(-87));
  const magic = f32x4.splat(12582912); // 1.5 * 2^23: adding it rounds to an integer, in the low bits
  const shifted = f32x4.add(f32x4.mul(x, f32x4.splat(1.44269504)), magic);
  const whole = f32x4.sub(shifted, magic);
  const power = i32x4.shl(i32x4.add(i32x4.sub(shifted, magic), i32x4.splat(127)), 23);
  x = f32x4.sub(x, f32x4.mul(whole, f32x4.splat(0.693359375)));
  x = f32x4.add(x, f32x4.mul(whole, f32x4.splat(2.1219444e-4)));
  let y = f32x4.splat(1.98756915e-4);
  y = f32x4.add(f32x4.mul(y, x), f32x4.splat(1.3981999507e-3));
  y = f32x4.add(f32x4.mul(y, x), f32x4.splat(8.3334519073e-3));
  y = f32x4.add(f32x4.mul(y, x), f32x4.splat(4.1665795894e-2));
  y = f32x4.add(f32x4.mul(y, x), f32x4.splat(1.6666665459e-1));
  y = f32x4.add(f32x4.mul(y, x), f32x4.splat(5.0000001201e-1));
  y = f32x4.add(f32x4.add(f32x4.mul(y, f32x4.mul(x, x)), x), f32x4.splat(1));
  return f32x4.mul(y, power);
}

/** 1 - erf(z) of four values not below 0: Cephes' erff and erfcf, by three ranges of z. */
// @ts-ignore: decorator
@inline
function erfc(z: v128): v128 {
  const one = f32x4.splat(1);
  const square = f32x4.mul(z, z);
  let near = f32x4.splat(7.853861353153693e-5);
  near = f32x4.add(f32x4.mul(near, square), f32x4.splat(-8.010193625184903e-4));
  near = f32x4.add(f32x4.mul(near, square), f32x4.splat(5.188327685732524e-3));
  near = f32x4.add(f32x4.mul(near, square), f32x4.splat(-2.685381193529856e-2));
  near = f32x4.add(f32x4.mul(near, square), f32x4.splat(1.128358514861418e-1));
  near = f32x4.add(f32x4.mul(near, square), f32x4.splat(-3.7612625824233e-1));
  near = f32x4.add(f32x4.mul(near, square), f32x4.splat(1.12837916572671));
  near = f32x4.sub(one, f32x4.mul(near, z));
  const inverse = f32x4.div(one, f32x4.max(z, one));
  const q = f32x4.mul(inverse, inverse);
  let middle = f32x4.splat(2.326819970068386e-2);
  middle = f32x4.add(f32x4.mul(middle, q), f32x4.splat(-1.387039388740657e-1));
  middle = f32x4.add(f32x4.mul(middle, q), f32x4.splat(3.687424674597105e-1));
  middle = f32x4.add(f32x4.mul(middle, q), f32x4.splat(-5.824733027278666e-1));
  middle = f32x4.add(f32x4.mul(middle, q), f32x4.splat(6.210004621745983e-1));
  middle = f32x4.add(f32x4.mul(middle, q), f32x4.splat(-4.944515323274145e-1));
  middle = f32x4.add(f32x4.mul(middle, q), f32x4.splat(3.404879937665872e-1));
  middle = f32x4.add(f32x4.mul(middle, q), f32x4.splat(-2.741127028184656e-1));
  middle = f32x4.add(f32x4.mul(middle, q), f32x4.splat(5.638259427386472e-1));
  let far = f32x4.splat(-1.047766399936249e1);
  far = f32x4.add(f32x4.mul(far, q), f32x4.splat(1.297719955372516e1));
  far = f32x4.add(f32x4.mul(far, q), f32x4.splat(-7.495518717768503));
  far = f32x4.add(f32x4.mul(far, q), f32x4.splat(2.921019019210786));
  far = f32x4.add(f32x4.mul(far, q), f32x4.splat(-1.0152652792027));
  far = f32x4.add(f32x4.mul(far, q), f32x4.splat(4.218463358204948e-1));
  far = f32x4.add(f32x4.mul(far, q), f32x4.splat(-2.820767439740514e-1));
  far = f32x4.add(f32x4.mul(far, q), f32x4.splat(5.641895067754075e-1));
  const tail = v128.bitselect(far, middle, f32x4.gt(z, f32x4.splat(2)));
  const beyond = f32x4.mul(f32x4.mul(exp(f32x4.neg(square)), inverse), tail);
  return v128.bitselect(near, beyond, f32x4.lt(z, one));
}

/** GELU in place, the exact one: x (1 + erf(x / sqrt 2)) / 2. */
export function gelu(x: usize, count: i32): void {
  const end = x + <usize>count * F32;
  for (; x < end; x += 16) {
    const value = v128.load(x);
    const z = f32x4.abs(f32x4.mul(value, f32x4.splat(0.7071067811865476)));
    const away = f32x4.mul(f32x4.mul(value, f32x4.splat(0.5)), erfc(z));
    const negative = f32x4.lt(value, f32x4.splat(0));
    v128.store(x, v128.bitselect(away, f32x4.sub(value, away), negative));
  }
}

// @ts-ignore: decorator
@inline
function sum(v: v128): f32 {
  return (
    f32x4.extract_lane(v, 0) +
    f32x4.extract_lane(v, 1) +
    (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3))
  );
}

// @ts-ignore: decorator
@inline
function sum64(a: v128, b: v128): f64 {
  const both = f64x2.add(a, b);
  return f64x2.extract_lane(both, 0) + f64x2.extract_lane(both, 1);
}

/**
 * out = LayerNorm(x + residual); without a residual where it is 0. n is a multiple of 4.
 *
 * In float64, rounded once: rounding here is what some short texts amplify most. `scratch` has room for a row of float64.
 */
export function norm(
  x: usize,
  residual: usize,
  rows: i32,
  n: i32,
  weight: usize,
  bias: usize,
  eps: f64,
  out: usize,
  scratch: usize,
): void {
  const bytes: usize = n * F32;
  for (let row = 0; row < rows; row++) {
    let t0 = f64x2.splat(0);
    let t1 = t0;
    for (let i: usize = 0; i < bytes; i += 16) {
      let v0 = pair(x + i);
      let v1 = pair(x + i + 8);
      if (residual) {
        v0 = f64x2.add(v0, pair(residual + i));
        v1 = f64x2.add(v1, pair(residual + i + 8));
      }
      v128.store(scratch + 2 * i, v0);
      v128.store(scratch + 2 * i, v1, 16);
      t0 = f64x2.add(t0, v0);
      t1 = f64x2.add(t1, v1);
    }
    const mean = f64x2.splat(sum64(t0, t1) / n);
    t0 = f64x2.splat(0);
    t1 = t0;
    for (let i: usize = 0; i < 2 * bytes; i += 32) {
      const v0 = f64x2.sub(v128.load(scratch + i), mean);
      const v1 = f64x2.sub(v128.load(scratch + i, 16), mean);
      t0 = f64x2.add(t0, f64x2.mul(v0, v0));
      t1 = f64x2.add(t1, f64x2.mul(v1, v1));
    }
    const factor = f64x2.splat(1 / sqrt<f64>(sum64(t0, t1) / n + eps));
    for (let i: usize = 0; i < bytes; i += 8) {
      const v = f64x2.mul(f64x2.sub(v128.load(scratch + 2 * i), mean), factor);
      const y = f64x2.add(f64x2.mul(v, pair(weight + i)), pair(bias + i));
      storePair(out + i, y);
    }
    x += bytes;
    out += bytes;
    if (residual) residual += bytes;
  }
}

/** Softmax of one row in place. `mask` holds 1 or 0 for each column; n is a multiple of 4. */
function softmax(row: usize, n: i32, mask: usize): void {
  const bytes: usize = n * F32;
  const one = f32x4.splat(1);
  const away = f32x4.splat(-MASKED);
  let most = f32x4.splat(MASKED);
  for (let i: usize = 0; i < bytes; i += 16) {
    const v = f32x4.add(v128.load(row + i), f32x4.mul(f32x4.sub(v128.load(mask + i), one), away));
    v128.store(row + i, v);
    most = f32x4.max(most, v);
  }
  const top = f32x4.splat(
    max(
      max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
      max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
    ),
  );
  let total = f32x4.splat(0);
  for (let i: usize = 0; i < bytes; i += 16) {
    const v = f32x4.mul(exp(f32x4.sub(v128.load(row + i), top)), v128.load(mask + i));
    v128.store(row + i, v);
    total = f32x4.add(total, v);
  }
  const whole = f32x4.splat(sum(total));
  for (let i: usize = 0; i < bytes; i += 16)
    v128.store(row + i, f32x4.div(v128.load(row + i), whole));
}

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

/** Column `index` of a panelled matrix (one token's embedding), added to out [n]. */
export function gather(matrix: usize, index: i32, n: i32, out: usize, bits: i32): void {
  const column: usize = index % COLUMNS;
  const panel = matrix + <usize>(index / COLUMNS) * panelBytes(n, bits);
  if (bits == 8) {
    const scale = f32.load(panel + column * F32);
    let at = panel + SCALES + column;
    for (let i = 0; i < n; i++) {
      f32.store(out, f32.load(out) + <f32>load<i8>(at) * scale);
      at += BYTE_STEP;
      out += F32;
    }
    return;
  }
  let from = panel + column * 2;
  for (let i = 0; i < n; i++) {
    const moved = ((<i32>load<i16>(from)) << 13) & 0x8fffe000;
    const value = reinterpret<f32>(moved) * <f32>5.192296858534828e33;
    f32.store(out, f32.load(out) + value);
    from += HALF_STEP;
    out += F32;
  }
}

/** A row of float16 (n a multiple of 8), added to out [n]. */
export function addRow(row: usize, n: i32, out: usize): void {
  for (let i = 0; i < n; i += COLUMNS) {
    const halves = v128.load(row);
    v128.store(out, f32x4.add(v128.load(out), low(halves)));
    v128.store(out, f32x4.add(v128.load(out, 16), high(halves)), 16);
    row += HALF_STEP;
    out += STEP;
  }
}

/** CRC-32 (that of zlib) of some bytes. `table` has room for 256 words, filled here. */
export function crc32(from: usize, bytes: usize, table: usize): u32 {
  for (let i: u32 = 0; i < 256; i++) {
    let word = i;
    for (let bit = 0; bit < 8; bit++) word = word & 1 ? (word >>> 1) ^ 0xedb88320 : word >>> 1;
    store<u32>(table + <usize>(i << 2), word);
  }
  let state: u32 = 0xffffffff;
  const end = from + bytes;
  for (; from < end; from++) {
    const at = (state ^ load<u8>(from)) & 0xff;
    state = load<u32>(table + <usize>(at << 2)) ^ (state >>> 8);
  }
  return ~state;
}
