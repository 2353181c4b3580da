/** Answers of a saved page about a long text's attention; recorded ones are given before. */

import { SliceFailure } from "../failure";
import { arrayOf, itemAt } from "../required";
import { rolloutStep } from "../rollout";
import { pauses } from "../saved/pauses";
import { needsKernel } from "../token-row";
import type { HeadIndex, NdArray, Slice, SliceRequest } from "../types";
import { type Cells, wholeCells } from "./cells";
import { linksOf, pyramidOf, tileOf } from "./detail";
import { LongMatrices, type LongRun } from "./matrices";
import { type LongPart, longDrill, longMatrix } from "./sentences";

/** A rollout multiplies whole matrices, one for every layer (`ROLLOUT_TOKENS`, attn_widget/analysis/long/detail.py). */
const ROLLOUT_TOKENS = 2048;

type LongRequest = SliceRequest<"pyramid" | "tile" | "links">;

export interface LongMeta extends Omit<LongRun, "nHeads"> {
  readonly model: { readonly n_layers: number; readonly n_heads: number };
  readonly scaling: readonly (number | null)[];
  /** Whether the text was read in windows. */
  readonly windowed: boolean;
  /** The sentences of an aggregation, as recorded for the whole run. */
  readonly sentences: (aggregation: "mass" | "max") => Slice["data"] | null;
}

export class LongAttention {
  readonly #meta: LongMeta;
  readonly #n: number;
  readonly #matrices: LongMatrices;
  /** The rollout that was asked for last: one of a layer further starts from it. */
  #rolled: { readonly layer: number; readonly matrix: Promise<Float64Array> } | null = null;

  constructor(meta: LongMeta) {
    this.#meta = meta;
    this.#n = meta.special.length;
    this.#matrices = new LongMatrices({ ...meta, nHeads: meta.model.n_heads });
  }

  prefetch(layer: number, head: HeadIndex): void {
    this.#matrices.prefetch(layer, head);
  }

  /** Undefined for what has nothing to do with attention. */
  has(request: SliceRequest): boolean | undefined {
    switch (request.kind) {
      case "weights":
      case "scores":
        return this.#matrices.has(request.kind, request.layer, request.head);
      case "pyramid":
      case "tile":
      case "links": {
        const { quantity = "weights", layer, head } = request;
        return quantity === "rollout" || this.#matrices.has(quantity, layer, head);
      }
      default:
        return undefined;
    }
  }

  /** Undefined for what has nothing to do with attention. */
  slice(request: SliceRequest, signal?: AbortSignal): Promise<Slice> | undefined {
    switch (request.kind) {
      case "weights":
      case "scores":
        return this.#matrices.rows(request.kind, request, signal);
      case "rollout":
        return this.#rolloutRows(request);
      case "pyramid":
      case "tile":
      case "links":
        return this.#detail(request, signal);
      case "qkv":
        return this.#scaling(request.layer);
      case "sentences":
      case "drill":
        return this.#sentences(request, signal);
      default:
        return undefined;
    }
  }

  async #detail(request: LongRequest, signal?: AbortSignal): Promise<Slice> {
    const { quantity = "weights", layer, head } = request;
    if (quantity !== "rollout") {
      if (request.kind === "pyramid") return this.#matrices.pyramid(quantity, layer, head);
      if (request.kind === "tile") return this.#matrices.tile(quantity, request, signal);
      return this.#matrices.links(quantity, request, signal);
    }
    const { special } = this.#meta;
    const cells = await this.#rollout(layer);
    const pause = pauses(signal);
    if (request.kind === "tile") {
      const found = await tileOf(cells, request, pause);
      return { data: {}, arrays: new Map([["tile", found[request.pooling]]]) };
    }
    const top = await pyramidOf(cells, special, pause);
    if (request.kind === "pyramid") return top;
    return linksOf(cells, arrayOf(top, "max").data as Float32Array, special, request, pause);
  }

  /** For a head without recorded vectors: only the scale, from which `q · k` follows. */
  async #scaling(layer: number): Promise<Slice> {
    const scaling = this.#meta.scaling[this.#meta.layers.indexOf(layer)] ?? null;
    if (scaling === null || this.#meta.code !== "qk") throw needsKernel("What a head computes");
    return { data: { scaling }, arrays: new Map() };
  }

  async #rollout(layer: number): Promise<Cells> {
    const n = this.#n;
    if (this.#meta.windowed) {
      throw new SliceFailure("Rollout would join windows that the model has read separately.");
    }
    if (n > ROLLOUT_TOKENS) {
      throw new SliceFailure(
        `Rollout multiplies ${n} x ${n} matrices, one per layer, so it is N/A for texts of more than ${ROLLOUT_TOKENS} tokens.`,
        "Choose weights, or a shorter text.",
      );
    }
    if (this.#rolled?.layer !== layer) {
      const before = this.#rolled !== null && this.#rolled.layer < layer ? this.#rolled : null;
      const matrix = this.#rolledFrom(before, layer);
      const rolled = { layer, matrix };
      this.#rolled = rolled;
      matrix.catch(() => {
        if (this.#rolled === rolled) this.#rolled = null;
      });
    }
    return wholeCells(await this.#rolled.matrix, n);
  }

  async #rolledFrom(
    known: { readonly layer: number; readonly matrix: Promise<Float64Array> } | null,
    layer: number,
  ): Promise<Float64Array> {
    let found = known === null ? null : await known.matrix;
    for (let one = known === null ? 0 : known.layer + 1; one <= layer; one++) {
      const mean = await this.#matrices.rows("weights", { layer: one, head: "mean" });
      found = rolloutStep(arrayOf(mean, "weights").data as Float32Array, found, this.#n);
    }
    return found ?? new Float64Array(0);
  }

  async #rolloutRows({ layer, rows }: SliceRequest<"rollout">): Promise<Slice> {
    const n = this.#n;
    const [start, stop] = rows ?? [0, n];
    const data = (await this.#rollout(layer)).read([start, stop], [0, n]) as Float32Array;
    const array: NdArray = { data, shape: [stop - start, n] };
    return { data: {}, arrays: new Map([["weights", array]]) };
  }

  async #sentences(
    request: SliceRequest<"sentences" | "drill">,
    signal?: AbortSignal,
  ): Promise<Slice> {
    const { aggregation } = request;
    const about = this.#meta.sentences(aggregation);
    if (about === null) throw needsKernel("Attention between so many sentences");
    const { texts, tokens, note } = about;
    const sentences = tokens as readonly (readonly number[])[];
    const parts = this.#parts(request);
    const pause = pauses(signal);
    if (request.kind === "sentences") {
      return longMatrix(aggregation, parts, sentences, this.#n, { texts, tokens, note }, pause);
    }
    const [queries, keys] = [itemAt(sentences, request.a), itemAt(sentences, request.b)];
    return longDrill(aggregation, parts, queries, keys, pause);
  }

  /** The heads that an aggregation goes over; all of them must have been saved. */
  #parts({ layer, head }: SliceRequest<"sentences" | "drill">): LongPart[] {
    const { n_layers, n_heads } = this.#meta.model;
    const range = (size: number): number[] => Array.from({ length: size }, (_, i) => i);
    return (layer == null ? range(n_layers) : [layer]).flatMap((one) =>
      (head == null ? range(n_heads) : [head]).map((each) => {
        if (!this.#matrices.has("weights", one, each))
          throw needsKernel(`Layer ${one}, head ${each}`);
        return {
          layer: one,
          head: each,
          open: () => this.#matrices.cells("weights", one, each),
        };
      }),
    );
  }
}
