/** Matrices of a short text in a saved page: a chunk for each layer, with its saved heads in order. */

import { type Cells, filled, maskOf, meanCells, spread } from "../cells";
import { needsKernel } from "../failure";
import { arrayOf } from "../required";
import type { Arrays, HeadIndex, TypedArray, Window } from "../slice";
import type { HeadQuantity } from "../slices/attention";
import { softmaxRows, squaresOf } from "./codes";
import { AT_ONCE, correctedProducts, type Products, productsOf, storedProducts } from "./products";

/** Rank of a head whose scores themselves are stored. */
const SCORES = -1;

/** Matrices of a saved page. */
export interface Matrices {
  has(quantity: HeadQuantity, layer: number, head: HeadIndex): boolean;
  cells(quantity: HeadQuantity, layer: number, head: HeadIndex): Promise<Cells>;
  /** Inflates what the first picture needs, while the rest of the page is drawn. */
  prefetch(layer: number, head: HeadIndex): void;
}

/** The saved heads, and where their chunks are. */
export interface Layout {
  readonly n: number;
  /** Keys; as many as `n` unless they are tokens of another text, whose matrices are stored as codes of weights. */
  readonly m: number;
  readonly code: "weights" | "qk" | null;
  readonly layers: readonly number[];
  readonly heads: readonly number[];
  /** Heads of the model. */
  readonly nHeads: number;
  /** An inflated chunk; rejects with the message that `what` is not in the page. */
  chunk(name: string, what: string): Promise<{ readonly meta: unknown; readonly arrays: Arrays }>;
}

/** Cells of a matrix that the mask allows. */
function countOf(allowed: TypedArray | undefined, all: number): number {
  if (allowed === undefined) return all;
  let count = 0;
  for (const cell of allowed) if (cell !== 0) count++;
  return count;
}

/** `arrays` with their mask as a byte for every cell, `allowed` [n, n], which a chunk has by rule. */
function withBytes(arrays: Arrays, n: number): Arrays {
  const mask = maskOf(arrays, n);
  if (mask === null) return arrays;
  const allowed = new Uint8Array(n * n);
  for (let query = 0; query < n; query++) {
    mask.runs(query, 0, n, (from, to) => allowed.fill(1, query * n + from, query * n + to));
  }
  return new Map([...arrays, ["allowed", { data: allowed, shape: [n, n] }]]);
}

/** Reads rows of a matrix, `[rows, keys]`; what all rows need has been read before. */
type Reader = (rows: Window) => Float32Array;

export class LayerMatrices implements Matrices {
  readonly #layout: Layout;
  readonly #layers = new Map<number, Promise<Arrays>>();

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  has(quantity: HeadQuantity, layer: number, head: HeadIndex): boolean {
    const { code, layers, heads } = this.#layout;
    if (quantity === "scores" && (code !== "qk" || head === "mean")) return false;
    return layers.includes(layer) && (head === "mean" || heads.includes(head));
  }

  prefetch(layer: number): void {
    this.layer(layer).catch(() => undefined);
  }

  /** The chunk of a layer. */
  layer(layer: number): Promise<Arrays> {
    const cached = this.#layers.get(layer);
    if (cached !== undefined) return cached;
    const fresh = this.#layout
      .chunk(`layer-${layer}`, `Layer ${layer}`)
      .then(({ arrays }) => withBytes(arrays, this.#layout.n));
    this.#layers.set(layer, fresh);
    return fresh;
  }

  async cells(quantity: HeadQuantity, layer: number, head: HeadIndex): Promise<Cells> {
    const { n, m, code, heads } = this.#layout;
    if (quantity === "scores" && code !== "qk") throw needsKernel("A score");
    const arrays = await this.layer(layer);
    const open = (read: Reader): Cells => readCells(read, maskOf(arrays, m), m);
    const weights = (place: number): Reader =>
      arrays.has("codes")
        ? squares(arrays, [n, m], place, "")
        : softmaxed(scores(arrays, n, place), n);
    if (head === "mean") {
      if (arrays.has("mean_codes")) return open(squares(arrays, [n, m], 0, "mean_"));
      return meanCells(heads.map((_, place) => open(weights(place))));
    }
    const place = heads.indexOf(head);
    if (place < 0) throw needsKernel(`Head ${head}`);
    return open(quantity === "scores" ? scores(arrays, n, place) : weights(place));
  }
}

/** Whole rows are read, whatever columns are asked for. */
const readCells = (read: Reader, mask: Cells["mask"], n: number): Cells => ({
  n,
  mask,
  read(rows, columns) {
    const whole = read(rows);
    if (mask === null && columns[0] === 0 && columns[1] === n) return whole;
    return filled(mask, rows, columns, (query, from, to, into) => {
      const at = (query - rows[0]) * n;
      into.set(whole.subarray(at + from, at + to));
    });
  },
});

const softmaxed =
  (read: Reader, n: number): Reader =>
  (rows) =>
    softmaxRows(read(rows), n);

/** `largest * (code / levels)^2`, the codes being those of the heads or, with a prefix, of their mean. */
function squares(
  arrays: Arrays,
  [n, m]: readonly [number, number],
  place: number,
  prefix: "" | "mean_",
): Reader {
  const get = (name: string) => arrayOf({ arrays }, `${prefix}${name}`).data;
  const [largest, levels] = [get("largest")[place], get("levels")[0]];
  const allowed = arrays.get("allowed")?.data;
  const cells = countOf(allowed, n * m);
  const plane = (name: string): TypedArray => {
    const stored = get(name).subarray(place * cells, (place + 1) * cells);
    return allowed === undefined ? stored : spread(stored, allowed, m, new Uint8Array(n * m));
  };
  const codes = plane("codes");
  const fine = arrays.has(`${prefix}fine`) ? plane("fine") : undefined;
  return ([start, stop]) => {
    const [from, to] = [start * m, stop * m];
    const part = codes.subarray(from, to);
    return squaresOf(part, fine?.subarray(from, to), largest as number, levels as number);
  };
}

/** Products of the head at `place`: of its queries and keys, or stored themselves. */
function plainProducts(arrays: Arrays, n: number, place: number): Pick<Products, "add"> {
  const ranks = arrayOf({ arrays }, "rank").data;
  const cells = countOf(arrays.get("allowed")?.data, n * n);
  const numbers = (rank: number): number => (rank === SCORES ? cells : 2 * rank * n);
  let at = 0;
  for (let head = 0; head < place; head++) at += numbers(ranks[head] as number);
  const rank = ranks[place] as number;
  return rank === SCORES ? storedProducts(arrays, n, at, cells) : productsOf(arrays, rank, n, at);
}

/** Scaled scores with mask and bias; -Infinity where impossible. */
function scores(arrays: Arrays, n: number, place: number): Reader {
  const get = (name: string) => arrayOf({ arrays }, name).data;
  const products = arrays.has("keys_of")
    ? correctedProducts(arrays, n, place)
    : plainProducts(arrays, n, place);
  const unit = (get("step")[place] as number) ** 2;
  const shift = get("shift");
  const bias = arrays.get("bias")?.data.subarray(place * n * n, (place + 1) * n * n);
  const allowed = arrays.get("allowed")?.data;
  return ([start, stop]) => {
    const found = new Float32Array((stop - start) * n);
    for (let first = start; first < stop; ) {
      const count = stop - first < AT_ONCE ? 1 : AT_ONCE;
      for (const [i, row] of products.add(first, count, 0, n).entries()) {
        const added = shift[place * n + first + i] as number;
        for (let j = 0, cell = (first + i) * n; j < n; j++, cell++) {
          const possible = allowed === undefined || allowed[cell] !== 0;
          found[cell - start * n] = possible
            ? (row[j] as number) * unit + added + (bias === undefined ? 0 : (bias[cell] as number))
            : -Infinity;
        }
      }
      first += count;
    }
    return found;
  };
}
