/** Hidden states through the layers, as `hidden_path` of attn_widget/features/inside/hidden.py. */

import { f32 } from "../../../../../protocol/arrays";
import { itemAt } from "../../../../../protocol/required";
import type { NdArray } from "../../../../../protocol/types";

/** Directions that are iterated together: the two that are wanted converge by the gap to the last one. */
const BLOCK = 10;
const MAX_STEPS = 400;
/** Change of a direction, at which the iteration ends. */
const SETTLED = 1e-11;

/** Norms, cosines to the layer before, and a principal component analysis of all layers and tokens at once. */
export function hiddenPath(states: readonly Float32Array[], n: number): Map<string, NdArray> {
  const width = itemAt(states, 0).length / n;
  const layers = states.length - 1;
  const norms = new Float32Array((layers + 1) * n);
  const cosines = new Float32Array(layers * n);
  states.forEach((state, layer) => {
    for (let token = 0; token < n; token++)
      norms[layer * n + token] = Math.sqrt(dot(state, state, token, width));
  });
  for (let layer = 0; layer < layers; layer++) {
    for (let token = 0; token < n; token++) {
      const [before, after] = [itemAt(states, layer), itemAt(states, layer + 1)];
      const at = layer * n + token;
      const length = (norms[at] as number) * (norms[at + n] as number);
      cosines[at] = length > 0 ? dot(before, after, token, width) / length : Number.NaN;
    }
  }
  const { points, explained } = plane(states, n, width);
  return new Map([
    ["norms", f32(norms, layers + 1, n)],
    ["cosines", f32(cosines, layers, n)],
    ["points", f32(points, layers + 1, n, 2)],
    ["explained", f32(explained, 2)],
  ]);
}

function dot(a: Float32Array, b: Float32Array, row: number, width: number): number {
  let total = 0;
  for (let i = row * width; i < (row + 1) * width; i++)
    total += (a[i] as number) * (b[i] as number);
  return total;
}

/** Projection of all rows on their first two principal directions, and their shares of the variance. */
function plane(states: readonly Float32Array[], n: number, width: number) {
  const rows = states.length * n;
  const centered = new Float64Array(rows * width);
  states.forEach((state, layer) => {
    centered.set(state, layer * n * width);
  });
  for (let d = 0; d < width; d++) {
    let mean = 0;
    for (let row = 0; row < rows; row++) mean += centered[row * width + d] as number;
    mean /= rows;
    for (let row = 0; row < rows; row++)
      centered[row * width + d] = (centered[row * width + d] as number) - mean;
  }
  const scatter = products(centered, rows, width);
  let total = 0;
  for (let d = 0; d < width; d++) total += scatter[d * width + d] as number;
  const components = principal(scatter, width);
  const points = new Float32Array(rows * 2);
  const explained = new Float32Array(2);
  components.forEach(({ direction, value }, which) => {
    explained[which] = total > 0 ? Math.max(value, 0) / total : 0;
    for (let row = 0; row < rows; row++) {
      let at = 0;
      for (let d = 0; d < width; d++)
        at += (centered[row * width + d] as number) * (direction[d] as number);
      points[row * 2 + which] = at;
    }
  });
  return { points, explained };
}

/** x^T x of the rows `[rows, width]`. */
function products(x: Float64Array, rows: number, width: number): Float64Array {
  const scattered = new Float64Array(width * width);
  for (let row = 0; row < rows; row++) {
    const from = row * width;
    for (let i = 0; i < width; i++) {
      const value = x[from + i] as number;
      const to = i * width;
      for (let j = i; j < width; j++)
        scattered[to + j] = (scattered[to + j] as number) + value * (x[from + j] as number);
    }
  }
  for (let i = 0; i < width; i++)
    for (let j = 0; j < i; j++) scattered[i * width + j] = scattered[j * width + i] as number;
  return scattered;
}

interface Principal {
  readonly direction: Float64Array;
  readonly value: number;
}

/** The two directions of most variance; the largest coefficient of each is positive. */
function principal(scatter: Float64Array, width: number): Principal[] {
  const size = Math.min(BLOCK, width);
  // Fixed numbers, so that a page draws one picture of a text.
  let block: Float64Array[] = Array.from({ length: size }, (_, k) =>
    Float64Array.from({ length: width }, (_, d) => Math.sin(1 + d * (k + 1) * 0.7 + k)),
  );
  let before: Float64Array[] = [];
  let values: number[] = [];
  for (let step = 0; step < MAX_STEPS; step++) {
    block = orthonormal(block.map((vector) => applied(scatter, vector, width)));
    // The best directions of the block's span.
    const images = block.map((vector) => applied(scatter, vector, width));
    const small = block.map((vector) => images.map((image) => inner(vector, image)));
    const turned = jacobi(small);
    values = turned.values;
    block = turned.vectors.map((weights) => mixed(block, weights));
    const best = block.slice(0, 2);
    const change = Math.max(
      1 - Math.abs(inner(best[0] as Float64Array, before[0] ?? new Float64Array(width))),
      width > 1
        ? 1 - Math.abs(inner(best[1] as Float64Array, before[1] ?? new Float64Array(width)))
        : 0,
    );
    before = best;
    if (change < SETTLED) break;
  }
  return [0, 1].map((which) => {
    const direction = block[which] ?? new Float64Array(width);
    let strongest = 0;
    direction.forEach((value, d) => {
      if (Math.abs(value) > Math.abs(direction[strongest] as number)) strongest = d;
    });
    const sign = (direction[strongest] as number) < 0 ? -1 : 1;
    return { direction: direction.map((value) => sign * value), value: values[which] ?? 0 };
  });
}

function inner(a: Float64Array, b: Float64Array): number {
  let total = 0;
  for (let i = 0; i < a.length; i++) total += (a[i] as number) * (b[i] as number);
  return total;
}

function applied(matrix: Float64Array, x: Float64Array, width: number): Float64Array {
  const image = new Float64Array(width);
  for (let i = 0; i < width; i++) {
    let total = 0;
    for (let j = 0; j < width; j++) total += (matrix[i * width + j] as number) * (x[j] as number);
    image[i] = total;
  }
  return image;
}

function mixed(block: readonly Float64Array[], weights: readonly number[]): Float64Array {
  const sum = new Float64Array(itemAt(block, 0).length);
  block.forEach((vector, k) => {
    const weight = itemAt(weights, k);
    for (let d = 0; d < sum.length; d++)
      sum[d] = (sum[d] as number) + weight * (vector[d] as number);
  });
  return sum;
}

/** Gram-Schmidt, twice for accuracy; a direction that is left with nothing becomes 0. */
function orthonormal(block: readonly Float64Array[]): Float64Array[] {
  const basis: Float64Array[] = [];
  for (const given of block) {
    const vector = given.slice();
    const length = Math.sqrt(inner(vector, vector));
    for (let pass = 0; pass < 2; pass++) {
      for (const other of basis) {
        const share = inner(vector, other);
        for (let d = 0; d < vector.length; d++)
          vector[d] = (vector[d] as number) - share * (other[d] as number);
      }
    }
    const left = Math.sqrt(inner(vector, vector));
    const factor = left > 1e-12 * length && left > 0 ? 1 / left : 0;
    basis.push(vector.map((value) => value * factor));
  }
  return basis;
}

/** Eigenvalues of a small symmetric matrix, largest first, and their vectors, by Jacobi's rotations. */
function jacobi(given: readonly (readonly number[])[]): { values: number[]; vectors: number[][] } {
  const size = given.length;
  const a = given.map((row) => row.slice());
  const v = given.map((_, i) => given.map((_, j) => (i === j ? 1 : 0)));
  const get = (m: readonly (readonly number[])[], i: number, j: number): number =>
    itemAt(itemAt(m, i), j);
  const rotate = (m: number[][], i: number, p: number, q: number, c: number, s: number): void => {
    const row = itemAt(m, i);
    const [x, y] = [itemAt(row, p), itemAt(row, q)];
    row[p] = c * x - s * y;
    row[q] = s * x + c * y;
  };
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0;
    for (let p = 0; p < size; p++) {
      for (let q = p + 1; q < size; q++) {
        const value = get(a, p, q);
        off = Math.max(
          off,
          Math.abs(value) / (Math.abs(get(a, p, p)) + Math.abs(get(a, q, q)) || 1),
        );
        if (value === 0) continue;
        const theta = (get(a, q, q) - get(a, p, p)) / (2 * value);
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        const s = t * c;
        for (let i = 0; i < size; i++) rotate(a, i, p, q, c, s);
        const [rowP, rowQ] = [itemAt(a, p), itemAt(a, q)];
        for (let j = 0; j < size; j++) {
          const [x, y] = [itemAt(rowP, j), itemAt(rowQ, j)];
          rowP[j] = c * x - s * y;
          rowQ[j] = s * x + c * y;
        }
        for (let i = 0; i < size; i++) rotate(v, i, p, q, c, s);
      }
    }
    if (off < 1e-15) break;
  }
  const order = given.map((_, i) => i).sort((i, j) => get(a, j, j) - get(a, i, i));
  return {
    values: order.map((i) => get(a, i, i)),
    vectors: order.map((i) => v.map((row) => itemAt(row, i))),
  };
}
