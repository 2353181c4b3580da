/** Products of queries and keys in whole steps, out of the codes of a saved page (attn_widget/page/encodings/factors.py). */

import { spread } from "../cells";
import { arrayOf } from "../required";
import type { Arrays, TypedArray } from "../slice";

/** Directions that are added at once, and queries that share what is read of a key. */
export const AT_ONCE = 4;

type Side = Int16Array | Float32Array;

/** `count` numbers from place `start` in the planes of bytes, into `into`. */
function wholeNumbers<T extends Side | Float64Array>(
  arrays: Arrays,
  start: number,
  count: number,
  into: T,
): T {
  const [low, high] = ["low", "high"].map((name) => arrayOf({ arrays }, name).data) as [
    TypedArray,
    TypedArray,
  ];
  const top = arrays.get("top")?.data;
  for (let i = 0; i < count; i++) {
    const zigzag =
      (low[start + i] as number) +
      256 * (high[start + i] as number) +
      65_536 * (top === undefined ? 0 : (top[start + i] as number));
    into[i] = zigzag & 1 ? -(zigzag + 1) / 2 : zigzag / 2;
  }
  return into;
}

/** Products that are stored themselves, key by key, as far as the mask allows them: `count` from place `start` on. */
export function storedProducts(
  arrays: Arrays,
  n: number,
  start: number,
  count: number,
): Pick<Products, "add"> {
  const stored = wholeNumbers(arrays, start, count, new Float64Array(count));
  const cells = spread(stored, arrays.get("allowed")?.data, n, new Float64Array(n * n), true);
  return {
    add: (query, rows, from, width) =>
      Array.from({ length: rows }, (_, i) => {
        const at = (query + i) * n + from;
        return cells.subarray(at, at + width);
      }),
  };
}

export interface Products {
  readonly bytes: number;
  /**
   * Sums over all directions, of one query or of `AT_ONCE`, with the keys `[from, from + width)`: a row each, good until
   * the next call.
   */
  add(query: number, count: number, from: number, width: number): readonly Float64Array[];
}

/** The factors of a head that begin at `start` in the planes of bytes: `rank` rows of queries, then of keys. */
export function productsOf(arrays: Arrays, rank: number, n: number, start: number): Products {
  const side = (from: number): Side => {
    const size = wideOf(rank) * n;
    const values = arrays.has("top") ? new Float32Array(size) : new Int16Array(size);
    return wholeNumbers(arrays, from, rank * n, values);
  };
  return productsOfSides(side(start), side(start + rank * n), n);
}

/** Directions of zero fill the last four. */
const wideOf = (rank: number): number => Math.ceil(rank / AT_ONCE) * AT_ONCE;

function productsOfSides(queries: Side, keys: Side, n: number): Products {
  const wide = queries.length / n;
  const four = Array.from({ length: AT_ONCE }, () => new Float64Array(n));
  const single = four.slice(0, 1);
  return {
    bytes: queries.byteLength + keys.byteLength,
    add(query, count, from, width) {
      const sums = count === AT_ONCE ? four : single;
      for (const row of sums) row.fill(0, 0, width);
      if (count === AT_ONCE) addFour(queries, keys, n, wide, query, from, width, four);
      else addOne(queries, keys, n, wide, query, from, width, single[0] as Float64Array);
      return sums;
    },
  };
}

/** A byte that passes over as many cells, none of them corrected. */
const SKIP = 255;

/** Products of the head at `place`, where heads may share keys, not every token has numbers, and single cells are corrected. */
export function correctedProducts(arrays: Arrays, n: number, place: number): Pick<Products, "add"> {
  const get = (name: string): TypedArray => arrayOf({ arrays }, name).data;
  const of = (name: string, head: number): number => get(name)[head] as number;
  const tokens = (name: string, head: number): number[] =>
    Array.from(get(name).subarray(head * n, (head + 1) * n)).flatMap((has, i) => (has ? [i] : []));
  const owner = of("keys_of", place);
  let [at, direction, gap, queries, keys] = [0, 0, 0, 0, 0];
  let gaps = get("gaps").subarray(0, 0);
  for (let head = 0; head <= place; head++) {
    const rank = of("rank", head);
    queries = at;
    at += rank * tokens("has_query", head).length;
    if (head === owner) keys = at;
    if (of("keys_of", head) === head) at += rank * tokens("has_key", head).length;
    gaps = get("gaps").subarray(gap, gap + of("gap_bytes", head));
    gap += gaps.length;
    if (head < place) {
      at += gaps.filter((bytes) => bytes !== SKIP).length;
      direction += rank;
    }
  }
  const rank = of("rank", place);
  const side = (from: number, has: readonly number[], unit: (r: number) => number): Side => {
    const stored = wholeNumbers(arrays, from, rank * has.length, new Float32Array(rank * n));
    const values = new Float32Array(wideOf(rank) * n);
    for (let r = 0, i = 0; r < rank; r++) {
      const factor = unit(r);
      for (const token of has) values[r * n + token] = (stored[i++] as number) * factor;
    }
    return values;
  };
  const exponents = get("exponents").subarray(direction, direction + rank);
  const products = productsOfSides(
    side(queries, tokens("has_query", place), () => 1),
    side(keys, tokens("has_key", place), (r) => 2 ** (exponents[r] as number)),
    n,
  );
  const cells = cellsOf(gaps, get("allowed"));
  const values = wholeNumbers(arrays, at, cells.length, new Float64Array(cells.length));
  const starts = new Uint32Array(n + 1);
  for (const cell of cells) {
    const next = Math.floor(cell / n) + 1;
    starts[next] = (starts[next] as number) + 1;
  }
  for (let query = 0; query < n; query++) {
    starts[query + 1] = (starts[query + 1] as number) + (starts[query] as number);
  }
  const every = of("every", place);
  return {
    add(query, count, from, width) {
      const rows = products.add(query, count, from, width);
      for (const [i, row] of rows.entries()) {
        for (let c = starts[query + i] as number; c < (starts[query + i + 1] as number); c++) {
          const key = (cells[c] as number) % n;
          if (key < from || key >= from + width) continue;
          row[key - from] = (row[key - from] as number) + every * (values[c] as number);
        }
      }
      return rows;
    },
  };
}

/** Corrected cells in their order: `gaps` counts those that the mask allows between them. */
function cellsOf(gaps: TypedArray, allowed: TypedArray): Uint32Array {
  const corrected: number[] = [];
  let cell = -1;
  const pass = (count: number): void => {
    for (let left = count; left > 0; ) if (allowed[++cell] !== 0) left--;
  };
  for (const gap of gaps) {
    pass(gap === SKIP ? SKIP : gap + 1);
    if (gap !== SKIP) corrected.push(cell);
  }
  return Uint32Array.from(corrected);
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
