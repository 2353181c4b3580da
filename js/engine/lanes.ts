/** Vectors of four float32 and two float64, and what a panel of weights measures. */

export const ROWS = 4;
export const COLUMNS = 8;
export const F32 = 4;
/** Bytes of one input's weights in a panel: float16, and decoded. */
export const HALF_STEP = 16;
export const STEP = 32;

/** Four float16 as float32: the low half of a vector. The multiplication moves the exponent; finite values only. */
// @ts-ignore: decorator
@inline
export function low(halves: v128): v128 {
  return widen(i32x4.extend_low_i16x8_s(halves));
}

// @ts-ignore: decorator
@inline
export function high(halves: v128): v128 {
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
export function fused(sum: v128, v: v128, w: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return v128.relaxed_madd<f32>(v, w, sum);
  return f32x4.add(sum, f32x4.mul(v, w));
}

// @ts-ignore: decorator
@inline
export function fused64(sum: v128, v: v128, w: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return v128.relaxed_madd<f64>(v, w, sum);
  return f64x2.add(sum, f64x2.mul(v, w));
}

/** Two float32 of memory as float64. */
// @ts-ignore: decorator
@inline
export function pair(from: usize): v128 {
  return f64x2.promote_low_f32x4(v128.load64_zero(from));
}

/** Store two float64 as float32. */
// @ts-ignore: decorator
@inline
export function storePair(to: usize, v: v128): void {
  v128.store64_lane(to, f32x4.demote_f64x2_zero(v), 0);
}

// @ts-ignore: decorator
@inline
export function sum(v: v128): f32 {
  return (
    f32x4.extract_lane(v, 0) +
    f32x4.extract_lane(v, 1) +
    (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3))
  );
}

// @ts-ignore: decorator
@inline
export function sum64(a: v128, b: v128): f64 {
  const both = f64x2.add(a, b);
  return f64x2.extract_lane(both, 0) + f64x2.extract_lane(both, 1);
}
