/** Matrices of a long text in a saved page: a chunk for each head, read where it is looked at (docs/protocol.md, "Saved pages"). */

import { bytesOf } from "../arrays";
import { ByteCache } from "../cache";
import { type Cells, maskOf, meanCells } from "../cells";
import { needsKernel } from "../failure";
import type { Arrays, HeadIndex, Slice } from "../slice";
import type { HeadQuantity } from "../slices/attention";
import { codedCells, type Factors, factorsOf, scoreCells, weightCells } from "./codes";
import type { Layout, Matrices } from "./layers";

/** Queries and keys of heads that are kept: 18 of 8,192 tokens. */
const HEADS_BYTES = 40e6;
/** Inflated chunks of coded weights: 24 of one byte a cell at 8,192 tokens, one of each head of a layer. */
const CHUNKS_BYTES = 50e6;

const FACTORS = ["low", "high", "top", "rank", "step", "shift", "log_total"];

interface Head {
  /** The chunk without its queries and keys. */
  readonly chunk: Slice;
  readonly factors: Factors | null;
}

export class HeadMatrices implements Matrices {
  readonly #layout: Layout;
  readonly #heads = new ByteCache<Head>(HEADS_BYTES);
  readonly #chunks = new ByteCache<Slice>(CHUNKS_BYTES);

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  has(quantity: HeadQuantity, layer: number, head: HeadIndex): boolean {
    const { code, layers, heads, nHeads } = this.#layout;
    if (!layers.includes(layer)) return false;
    if (head === "mean") return quantity === "weights" && heads.length === nHeads;
    return heads.includes(head) && (quantity === "weights" || code === "qk");
  }

  prefetch(layer: number, head: HeadIndex): void {
    this.#head(layer, head).catch(() => undefined);
  }

  /** Level of detail of a head's weights, where it was saved. */
  async detail(layer: number, head: HeadIndex): Promise<Slice> {
    return (await this.#head(layer, head)).chunk;
  }

  async cells(quantity: HeadQuantity, layer: number, head: HeadIndex): Promise<Cells> {
    const { n, heads } = this.#layout;
    if (head === "mean") {
      if (!this.has(quantity, layer, head)) throw needsKernel("The mean head");
      return meanCells(await Promise.all(heads.map((each) => this.cells("weights", layer, each))));
    }
    const { chunk, factors } = await this.#head(layer, head);
    if (factors !== null) return quantity === "scores" ? scoreCells(factors) : weightCells(factors);
    if (quantity === "scores") throw needsKernel("A score");
    const { largest_code: largest, levels } = chunk.data;
    const code = { largest: Number(largest), levels: Number(levels) };
    return codedCells(n, maskOf(chunk.arrays, n), code, (number) =>
      this.#rows(layer, head, number),
    );
  }

  #head(layer: number, head: HeadIndex): Promise<Head> {
    const name = `head-${layer}-${head}`;
    const make = async (): Promise<Head> => {
      const { data, arrays } = await this.#inflated(
        name,
        head === "mean" ? "The mean head" : `Layer ${layer}, head ${head}`,
      );
      const factors = arrays.has("rank") ? factorsOf(arrays, this.#layout.n) : null;
      // Copies: the bytes of the factors are freed.
      const rest = [...arrays]
        .filter(([each]) => !FACTORS.includes(each))
        .map(([each, { data: of, shape }]) => [each, { data: of.slice(), shape }] as const);
      return { chunk: { data, arrays: new Map(rest) }, factors };
    };
    return this.#heads.kept(
      name,
      make,
      ({ chunk, factors }) => bytesOf(chunk) + (factors?.bytes ?? 0),
    );
  }

  async #rows(layer: number, head: number, number: number): Promise<Arrays> {
    const name = `rows-${layer}-${head}-${number}`;
    const make = () => this.#inflated(name, `Layer ${layer}, head ${head}`);
    return (await this.#chunks.kept(name, make, bytesOf)).arrays;
  }

  async #inflated(name: string, what: string): Promise<Slice> {
    const { meta, arrays } = await this.#layout.chunk(name, what);
    return { data: meta as Slice["data"], arrays };
  }
}
