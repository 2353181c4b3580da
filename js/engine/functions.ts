/** GELU, LayerNorm and softmax. */

import { F32, pair, storePair, sum, sum64 } from "./lanes";

/** Added to scores of keys outside the mask: far below any score, and finite. */
const MASKED: f32 = -1e30;

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
export function softmax(row: usize, n: i32, mask: usize): void {
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
