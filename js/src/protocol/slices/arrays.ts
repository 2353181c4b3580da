/** Products of arrays, and the part of one that a request names. */

import { f32 } from "../arrays";
import type { NdArray, Rows, Slice, Window } from "../slice";

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

/** The rows that a request names, or all of them, of arrays whose first axis are the rows. */
export function rowsOf({ data, arrays }: Slice, { rows }: Rows): Slice {
  if (!rows) return { data, arrays };
  const [start, stop] = rows;
  const cut = [...arrays].map(([name, { data: all, shape }]): [string, NdArray] => {
    const width = all.length / (shape[0] ?? 1);
    const part = all.slice(start * width, stop * width);
    return [name, { data: part, shape: [stop - start, ...shape.slice(1)] }];
  });
  return { data, arrays: new Map(cut) };
}

/** The rows and columns of a tensor `[n, width]` that a request names, or all of them. */
export function windowOf(
  { data, shape }: NdArray,
  { rows, cols }: Rows & { readonly cols?: Window | null },
): Slice {
  const [n, width] = shape as [number, number];
  const [top, bottom] = rows ?? [0, n];
  const [left, right] = [cols?.[0] ?? 0, Math.min(cols?.[1] ?? width, width)];
  const part = new Float32Array((bottom - top) * (right - left));
  for (let row = top; row < bottom; row++) {
    part.set(data.subarray(row * width + left, row * width + right), (row - top) * (right - left));
  }
  const tensor = f32(part, bottom - top, right - left);
  return { data: { shape: [n, width] }, arrays: new Map([["tensor", tensor]]) };
}
