/** Panels of weights: decoded whole, or a column of them. */

import { COLUMNS, F32, HALF_STEP, high, low, STEP } from "./lanes";

/** Bytes of one input's weights in a panel of int8, and of the scales before them. */
const BYTE_STEP = 8;
const SCALES = 32;

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
export function decodeBytes(from: usize, n: i32, to: usize): void {
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
export function panelBytes(n: i32, bits: i32): usize {
  return bits == 8 ? SCALES + <usize>n * BYTE_STEP : <usize>n * HALF_STEP;
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
