/** Arrays of slices. */

import type { NdArray, Slice } from "./slice";

export const f32 = (data: Float32Array, ...shape: number[]): NdArray<Float32Array> => ({
  data,
  shape,
});

export const bytesOf = ({ arrays }: Pick<Slice, "arrays">): number =>
  [...arrays.values()].reduce((sum, { data }) => sum + data.byteLength, 256);

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
