/**
 * Attention of a long text in a saved page: heads are inflated one by one, matrices are read where they are looked at, and
 * none is ever whole (docs/protocol.md, "Saved pages").
 */

import { ByteCache } from "../cache";
import { unpack } from "../pack";
import { arrayOf } from "../required";
import { inflate } from "../saved/inflate";
import { type Pause, pauses } from "../saved/pauses";
import { f32 } from "../snapshot-tensors";
import { needsKernel } from "../token-row";
import type { HeadIndex, NdArray, Slice, SliceRequest, Window } from "../types";
import {
  type Cells,
  codedCells,
  type Factors,
  factorsOf,
  maskOf,
  meanCells,
  scoreCells,
  weightCells,
} from "./cells";
import { coarsestOf, largestAt, linksOf, type Pooled, pyramidOf, tileOf } from "./detail";

/** Queries and keys of heads that are kept: 18 of 8,192 tokens. */
const HEADS_BYTES = 40e6;
/** Inflated chunks of coded weights: 24 of one byte a cell at 8,192 tokens, one of each head of a layer. */
const CHUNKS_BYTES = 50e6;
/** Tiles in both poolings, half a megabyte each. */
const TILES_BYTES = 16e6;

type Quantity = "weights" | "scores";

export interface LongRun {
  readonly special: readonly boolean[];
  readonly code: string | null;
  readonly layers: readonly number[];
  readonly heads: readonly number[];
  readonly nHeads: number;
  readonly chunks: (name: string) => string | null | Promise<string | null>;
}

/** A head's chunk without its queries and keys. */
interface Chunk {
  readonly data: Slice["data"];
  readonly arrays: ReadonlyMap<string, NdArray>;
}

interface Head {
  /** Level of detail, where it was saved. */
  readonly chunk: Chunk;
  readonly factors: Factors | null;
}

/** A matrix with its level of detail, which is computed until another one is shown. */
interface Shown {
  readonly key: string;
  readonly cells: Promise<Cells>;
  readonly pyramid: Promise<Slice>;
  readonly ended: AbortController;
}

const FACTORS = ["low", "high", "top", "rank", "step", "shift", "log_total"];

const keyOf = (quantity: Quantity, layer: number, head: HeadIndex): string =>
  `${quantity} ${layer} ${head}`;

export class LongMatrices {
  readonly #run: LongRun;
  readonly #n: number;
  readonly #heads = new ByteCache<Head>(HEADS_BYTES);
  readonly #chunks = new ByteCache<Chunk>(CHUNKS_BYTES);
  readonly #tiles = new ByteCache<Pooled>(TILES_BYTES);
  /** Chunks that are being inflated. */
  readonly #pending = new Map<string, Promise<unknown>>();
  /** The matrix that is shown. */
  #current: Shown | null = null;

  constructor(run: LongRun) {
    this.#run = run;
    this.#n = run.special.length;
  }

  /** Whether the page has this matrix. */
  has(quantity: Quantity, layer: number, head: HeadIndex): boolean {
    const { code, layers, heads, nHeads } = this.#run;
    if (!layers.includes(layer)) return false;
    if (head === "mean") return quantity === "weights" && heads.length === nHeads;
    return heads.includes(head) && (quantity === "weights" || code === "qk");
  }

  /** Inflates what the first picture needs, beside what draws the rest of the page. */
  prefetch(layer: number, head: HeadIndex): void {
    this.#head(layer, head).catch(() => undefined);
  }

  async #inflated(name: string, what: string): Promise<Chunk> {
    const text = await this.#run.chunks(name);
    if (text === null) throw needsKernel(what);
    const { meta, arrays } = unpack(await inflate(text));
    return { data: meta as Slice["data"], arrays };
  }

  /** From the cache, or made once, however many ask for it meanwhile. */
  async #kept<V>(
    cache: ByteCache<V>,
    key: string,
    make: () => Promise<readonly [value: V, bytes: number]>,
  ): Promise<V> {
    const known = cache.get(key);
    if (known !== undefined) return known;
    const pending = this.#pending.get(key) as Promise<V> | undefined;
    if (pending !== undefined) return pending;
    const made = make().then(([value, bytes]) => {
      cache.set(key, value, bytes);
      return value;
    });
    this.#pending.set(key, made);
    const done = () => this.#pending.delete(key);
    made.then(done, done);
    return made;
  }

  #head(layer: number, head: HeadIndex): Promise<Head> {
    const name = `head-${layer}-${head}`;
    return this.#kept(this.#heads, name, async () => {
      const { data, arrays } = await this.#inflated(
        name,
        head === "mean" ? "The mean head" : `Layer ${layer}, head ${head}`,
      );
      const factors = arrays.has("rank") ? factorsOf(arrays, this.#n) : null;
      // Copies: the bytes of the factors are let go.
      const rest = [...arrays]
        .filter(([each]) => !FACTORS.includes(each))
        .map(([each, { data: of, shape }]) => [each, { data: of.slice(), shape }] as const);
      const bytes = rest.reduce((sum, [, { data: of }]) => sum + of.byteLength, 256);
      return [{ chunk: { data, arrays: new Map(rest) }, factors }, bytes + (factors?.bytes ?? 0)];
    });
  }

  #rows(layer: number, head: number, number: number): Promise<ReadonlyMap<string, NdArray>> {
    const name = `rows-${layer}-${head}-${number}`;
    return this.#kept(this.#chunks, name, async () => {
      const chunk = await this.#inflated(name, `Layer ${layer}, head ${head}`);
      const bytes = [...chunk.arrays.values()].reduce(
        (sum, { data }) => sum + data.byteLength,
        256,
      );
      return [chunk, bytes];
    }).then(({ arrays }) => arrays);
  }

  async #opened(quantity: Quantity, layer: number, head: HeadIndex): Promise<Cells> {
    if (head === "mean") {
      if (!this.has(quantity, layer, head)) throw needsKernel("The mean head");
      const heads = this.#run.heads.map((each) => this.#opened("weights", layer, each));
      return meanCells(await Promise.all(heads));
    }
    const { chunk, factors } = await this.#head(layer, head);
    if (factors !== null) return quantity === "scores" ? scoreCells(factors) : weightCells(factors);
    if (quantity === "scores") throw needsKernel("A score");
    const { largest_code: largest, levels } = chunk.data as Record<string, number>;
    return codedCells(
      this.#n,
      maskOf(chunk.arrays, this.#n),
      { largest: Number(largest), levels: Number(levels) },
      (number) => this.#rows(layer, head, number),
    );
  }

  /** The matrix to read from; that which is shown stays open. */
  cells(quantity: Quantity, layer: number, head: HeadIndex): Promise<Cells> {
    const shown = this.#current;
    return shown?.key === keyOf(quantity, layer, head)
      ? shown.cells
      : this.#opened(quantity, layer, head);
  }

  /** Rows of weights or scores, with 0 or -Infinity where the mask forbids. */
  async rows(
    quantity: Quantity,
    { layer, head, rows }: { layer: number; head: HeadIndex; rows?: Window | null },
    signal?: AbortSignal,
  ): Promise<Slice> {
    const n = this.#n;
    const cells = await this.cells(quantity, layer, head);
    const [start, stop] = rows ?? [0, n];
    const values = new Float32Array((stop - start) * n);
    const pause = pauses(signal);
    for (let row = start; row < stop; row++) {
      const read = cells.read([row, row + 1], [0, n]);
      values.set(read instanceof Float32Array ? read : await read, (row - start) * n);
      await pause();
    }
    const arrays = new Map<string, NdArray>();
    if (cells.mask !== null) {
      const allowed = new Uint8Array(values.length);
      const none = quantity === "scores" ? Number.NEGATIVE_INFINITY : 0;
      for (let i = 0; i < values.length; i++) {
        if (Number.isNaN(values[i] as number)) values[i] = none;
        else allowed[i] = 1;
      }
      if (quantity === "weights")
        arrays.set("allowed", { data: allowed, shape: [stop - start, n] });
    }
    arrays.set(quantity, f32(values, stop - start, n));
    return { data: {}, arrays };
  }

  /** Level of detail of a matrix as it was saved, or out of a walk over its cells. */
  pyramid(quantity: Quantity, layer: number, head: HeadIndex): Promise<Slice> {
    const key = keyOf(quantity, layer, head);
    if (this.#current?.key === key) return this.#current.pyramid;
    this.#current?.ended.abort();
    const ended = new AbortController();
    const cells = this.#opened(quantity, layer, head);
    const pyramid = this.#pyramid(quantity, layer, head, cells, pauses(ended.signal));
    const shown = { key, cells, pyramid, ended };
    this.#current = shown;
    pyramid.catch(() => {
      if (this.#current === shown) this.#current = null;
    });
    return pyramid;
  }

  async #pyramid(
    quantity: Quantity,
    layer: number,
    head: HeadIndex,
    opened: Promise<Cells>,
    pause: Pause,
  ): Promise<Slice> {
    const [cells, saved] = await Promise.all([
      opened,
      quantity === "weights" ? this.#head(layer, head) : null,
    ]);
    const known = saved?.chunk;
    if (!known?.arrays.has("mean")) return pyramidOf(cells, this.#run.special, pause);
    const { arrays, data } = known;
    const [low, high] = [arrays.get("places"), arrays.get("places_high")];
    const max =
      low === undefined || high === undefined
        ? arrayOf(known, "max")
        : await largestAt(
            cells,
            Uint16Array.from(low.data, (one, i) => one + 256 * (high.data[i] as number)),
            pause,
          );
    return {
      data,
      arrays: new Map([
        ["max", max],
        ["mean", arrayOf(known, "mean")],
        ["received", arrayOf(known, "received")],
      ]),
    };
  }

  async tile(
    quantity: Quantity,
    { layer, head, level, row, col, pooling }: SliceRequest<"tile">,
    signal?: AbortSignal,
  ): Promise<Slice> {
    const answer = (found: Pooled): Slice => ({
      data: {},
      arrays: new Map([["tile", found[pooling]]]),
    });
    if (level === coarsestOf(this.#n)) {
      const top = await this.pyramid(quantity, layer, head);
      return { data: {}, arrays: new Map([["tile", arrayOf(top, pooling)]]) };
    }
    const key = [quantity, layer, head, level, row, col].join(" ");
    const known = this.#tiles.get(key);
    if (known !== undefined) return answer(known);
    const cells = await this.cells(quantity, layer, head);
    const made = await tileOf(cells, { level, row, col }, pauses(signal));
    this.#tiles.set(key, made, made.max.data.byteLength + made.mean.data.byteLength);
    return answer(made);
  }

  async links(
    quantity: Quantity,
    request: SliceRequest<"links">,
    signal?: AbortSignal,
  ): Promise<Slice> {
    const { layer, head } = request;
    const [cells, top] = await Promise.all([
      this.cells(quantity, layer, head),
      this.pyramid(quantity, layer, head),
    ]);
    const tops = arrayOf(top, "max").data as Float32Array;
    return linksOf(cells, tops, this.#run.special, request, pauses(signal));
  }
}
