/** Products of queries and keys in whole steps, out of the codes of a saved page (attn_widget/page/encodings/factors.py). */

import { arrayOf } from "../required";
import type { NdArray, TypedArray } from "../types";

/** Directions that are added at once, and queries that share what is read of a key. */
export const AT_ONCE = 4;

type Side = Int16Array | Float32Array;

export interface Products {
  readonly bytes: number;
  /**
   * Sums over all directions, of one query or of `AT_ONCE`, with the keys `[from, from + width)`: a row each, good until
   * the next call.
   */
  add(query: number, count: number, from: number, width: number): readonly Float64Array[];
}

/** The factors of a head that begin at `start` in the planes of bytes: `rank` rows of queries, then of keys. */
export function productsOf(
  arrays: ReadonlyMap<string, NdArray>,
  rank: number,
  n: number,
  start: number,
): Products {
  const [low, high] = ["low", "high"].map((name) => arrayOf({ arrays }, name).data) as [
    TypedArray,
    TypedArray,
  ];
  const top = arrays.get("top")?.data;
  // Directions of zero fill the last four.
  const wide = Math.ceil(rank / AT_ONCE) * AT_ONCE;
  const side = (from: number): Side => {
    const values = top === undefined ? new Int16Array(wide * n) : new Float32Array(wide * n);
    for (let i = 0; i < rank * n; i++) {
      const zigzag =
        (low[from + i] as number) +
        256 * (high[from + i] as number) +
        65_536 * (top === undefined ? 0 : (top[from + i] as number));
      values[i] = zigzag & 1 ? -(zigzag + 1) / 2 : zigzag / 2;
    }
    return values;
  };
  const [queries, keys] = [side(start), side(start + rank * n)];
  const four = Array.from({ length: AT_ONCE }, () => new Float64Array(n));
  const one = four.slice(0, 1);
  return {
    bytes: queries.byteLength + keys.byteLength,
    add(query, count, from, width) {
      const sums = count === AT_ONCE ? four : one;
      for (const row of sums) row.fill(0, 0, width);
      if (count === AT_ONCE) addFour(queries, keys, n, wide, query, from, width, four);
      else addOne(queries, keys, n, wide, query, from, width, one[0] as Float64Array);
      return sums;
    },
  };
}

/** Whole numbers: their sums are exact in any order, and four directions at once take half the time of one. */
function addOne(
  queries: Side,
  keys: Side,
  n: number,
  wide: number,
  query: number,
  from: number,
  width: number,
  row: Float64Array,
): void {
  for (let r = 0; r < wide; r += AT_ONCE) {
    const at = r * n;
    const qa = queries[at + query] as number;
    const qb = queries[at + n + query] as number;
    const qc = queries[at + 2 * n + query] as number;
    const qd = queries[at + 3 * n + query] as number;
    if (qa === 0 && qb === 0 && qc === 0 && qd === 0) continue;
    for (let j = 0, a = at + from; j < width; j++, a++) {
      row[j] =
        (row[j] as number) +
        (qa * (keys[a] as number) +
          qb * (keys[a + n] as number) +
          (qc * (keys[a + 2 * n] as number) + qd * (keys[a + 3 * n] as number)));
    }
  }
}

/** Products of four queries with keys: half the time of four of one, because a key is read once. */
function addFour(
  q: Side,
  k: Side,
  n: number,
  wide: number,
  query: number,
  from: number,
  width: number,
  sums: readonly Float64Array[],
): void {
  const [s0, s1, s2, s3] = sums as [Float64Array, Float64Array, Float64Array, Float64Array];
  for (let r = 0; r < wide; r += AT_ONCE) {
    let a = r * n;
    let b = a + n;
    let c = b + n;
    let d = c + n;
    const at = (place: number): number => q[place + query] as number;
    const [a0, a1, a2, a3] = [at(a), at(a + 1), at(a + 2), at(a + 3)] as const;
    const [b0, b1, b2, b3] = [at(b), at(b + 1), at(b + 2), at(b + 3)] as const;
    const [c0, c1, c2, c3] = [at(c), at(c + 1), at(c + 2), at(c + 3)] as const;
    const [d0, d1, d2, d3] = [at(d), at(d + 1), at(d + 2), at(d + 3)] as const;
    a += from;
    b += from;
    c += from;
    d += from;
    for (let j = 0; j < width; j++, a++, b++, c++, d++) {
      const x = k[a] as number;
      const y = k[b] as number;
      const z = k[c] as number;
      const w = k[d] as number;
      s0[j] = (s0[j] as number) + (a0 * x + b0 * y + (c0 * z + d0 * w));
      s1[j] = (s1[j] as number) + (a1 * x + b1 * y + (c1 * z + d1 * w));
      s2[j] = (s2[j] as number) + (a2 * x + b2 * y + (c2 * z + d2 * w));
      s3[j] = (s3[j] as number) + (a3 * x + b3 * y + (c3 * z + d3 * w));
    }
  }
}
