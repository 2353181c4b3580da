/** Matrices of a saved page: products of them, and the part that a request names. */

import { windowIn } from "./kernel";
import type { NdArray, Slice, SliceRequest } from "./types";

export const f32 = (data: Float32Array, ...shape: number[]): NdArray => ({ data, shape });

/** `weights [n, n] @ values [n, width]`. */
export function product(
  weights: ArrayLike<number>,
  values: ArrayLike<number>,
  n: number,
  width: number,
): Float32Array {
  const sums = new Float64Array(n * width);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const weight = weights[i * n + j] as number;
      for (let d = 0; d < width; d++) {
        const at = i * width + d;
        sums[at] = (sums[at] as number) + weight * (values[j * width + d] as number);
      }
    }
  }
  return Float32Array.from(sums);
}

/** The rows that a request names, or all of them. */
export function rowsOf(slice: Slice, request: SliceRequest, n: number): Slice {
  const { rows } = windowIn(request);
  if (!rows) return slice;
  const [start, stop] = rows;
  const cut = [...slice.arrays].map(([name, { data }]): [string, NdArray] => [
    name,
    { data: data.slice(start * n, stop * n), shape: [stop - start, n] },
  ]);
  return { data: slice.data, arrays: new Map(cut) };
}

/** The rows and columns of a tensor `[n, width]` that a request names, or all of them. */
export function windowOf({ data, shape }: NdArray, request: SliceRequest): Slice {
  const [n, width] = shape as [number, number];
  const { rows, cols } = windowIn(request);
  const [top, bottom] = rows ?? [0, n];
  const [left, right] = [cols?.[0] ?? 0, Math.min(cols?.[1] ?? width, width)];
  const part = new Float32Array((bottom - top) * (right - left));
  for (let row = top; row < bottom; row++) {
    part.set(data.subarray(row * width + left, row * width + right), (row - top) * (right - left));
  }
  const tensor = f32(part, bottom - top, right - left);
  return { data: { shape: [n, width] }, arrays: new Map([["tensor", tensor]]) };
}

/** Tensors of a head, each by the one of its recorded vectors that it is or is made of. */
export const VECTORS: Readonly<Record<string, string>> = {
  query: "q",
  key: "k",
  value: "v",
  head_output: "v",
};
