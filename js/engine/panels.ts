/** Panels of weights: decoded whole, or a column of them. */

import { COLUMNS, F32, HALF_STEP, high, low, STEP } from "./lanes";

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

/** Column `index` of a panelled matrix (one token's embedding), added to out [n]. */
export function gather(matrix: usize, index: i32, n: i32, out: usize): void {
  const column: usize = index % COLUMNS;
  const panel = matrix + <usize>(index / COLUMNS) * <usize>n * HALF_STEP;
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
