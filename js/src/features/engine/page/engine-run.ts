/** A text that the engine has run: its first paint, and its tensors whenever they are asked for. */

import { upTo } from "../../../protocol/arrays";
import { type Cells, wholeCells } from "../../../protocol/cells";
import { SliceFailure } from "../../../protocol/failure";
import { itemAt } from "../../../protocol/required";
import type { HeadQuantity } from "../../../protocol/slices/attention";
import { Rollouts } from "../../../protocol/slices/rollout";
import type { SentenceRun } from "../../../protocol/slices/sentences";
import type { HeadIndex, Meta, NdArray } from "../../../protocol/types";
import { LAYER_PARTS, type ModelInput, type Projection } from "../input";
import type { Metadata } from "./metadata";
import type { RequestQueue, Turns } from "./request-queue";

export type Mode = "as_is" | "masked";

/** Each `[n, its width]`. */
type LayerParts = Readonly<Record<(typeof LAYER_PARTS)[number], Float32Array>>;

export class EngineRun implements SentenceRun {
  readonly coded = false;
  readonly readsMeans = true;
  readonly rollouts: Rollouts;
  readonly queue: Turns;
  /** False once nobody waits for an answer about this run. */
  wanted = (): boolean => true;
  #parts: { readonly layer: number; readonly found: Promise<LayerParts> } | null = null;

  constructor(
    readonly meta: Meta,
    readonly arrays: ReadonlyMap<string, NdArray>,
    queue: RequestQueue,
    readonly metadata: Metadata,
    readonly input: ModelInput,
    /** The tokens that stand in the text, also where the model read the mask token. */
    readonly originals: readonly number[],
    /** `[L, H, n, n]`. */
    readonly attention: Float32Array,
  ) {
    this.rollouts = new Rollouts(originals.length);
    this.queue = queue.during(() => this.wanted());
  }

  get n(): number {
    return this.originals.length;
  }

  get layers(): readonly number[] {
    return upTo(this.meta.model.n_layers);
  }

  /** Layers and heads. */
  get shape(): readonly [number, number] {
    return [this.meta.model.n_layers, this.meta.model.n_heads];
  }

  /** Factor of the scalar product of query and key. */
  get scaling(): number {
    return 1 / Math.sqrt(this.meta.model.head_dim);
  }

  /** A head's matrix, a view; the mean of all heads, a new one. */
  weights(layer: number, head: HeadIndex): Float32Array {
    const [layers, heads] = this.shape;
    const size = this.n ** 2;
    within("layer", layer, layers);
    const at = (index: number): number => (layer * heads + index) * size;
    if (head !== "mean") {
      within("head", head, heads);
      return this.attention.subarray(at(head), at(head) + size);
    }
    const sum = new Float64Array(size);
    for (let index = 0; index < heads; index++)
      for (let i = 0; i < size; i++)
        sum[i] = (sum[i] as number) + (this.attention[at(index) + i] as number);
    return Float32Array.from(sum, (value) => value / heads);
  }

  async cells(quantity: HeadQuantity, layer: number, head: HeadIndex): Promise<Cells> {
    const scored = quantity === "scores" && head !== "mean";
    const matrix = scored ? await this.scores(layer, head) : this.weights(layer, head);
    return wholeCells(matrix, this.n);
  }

  /** Scaled scores of a head, `[n, n]`. */
  async scores(layer: number, head: number): Promise<Float32Array> {
    const { n, scaling } = this;
    const width = this.meta.model.head_dim;
    const queries = await this.projection("query", layer, head);
    const keys = await this.projection("key", layer, head);
    const scores = new Float32Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let d = 0; d < width; d++)
          sum += (queries[i * width + d] as number) * (keys[j * width + d] as number);
        scores[i * n + j] = sum * scaling;
      }
    }
    return scores;
  }

  /** Columns of a head, `[n, head_dim]`. */
  async projection(which: Projection, layer: number, head: number): Promise<Float32Array> {
    const { head_dim, hidden_size } = this.meta.model;
    const [layers, heads] = this.shape;
    within("layer", layer, layers);
    within("head", head, heads);
    const whole = await this.queue.of(this.input, (engine) => engine.projection(which, layer));
    const part = new Float32Array(this.n * head_dim);
    for (let i = 0; i < this.n; i++) {
      const from = i * hidden_size + head * head_dim;
      part.set(whole.subarray(from, from + head_dim), i * head_dim);
    }
    return part;
  }

  /** Hidden states `[n, hidden_size]`; layer 0 are the embeddings. */
  hidden(layer: number): Promise<Float32Array> {
    within("layer", layer, this.meta.model.n_layers + 1);
    return this.queue.of(this.input, (engine) => engine.hidden(layer));
  }

  /** Parts of a layer besides attention and hidden states; the last layer that was asked for is kept. */
  layerParts(layer: number): Promise<LayerParts> {
    within("layer", layer, this.meta.model.n_layers);
    if (this.#parts?.layer !== layer) {
      const parts = { layer, found: this.#layerParts(layer) };
      this.#parts = parts;
      parts.found.catch(() => {
        if (this.#parts === parts) this.#parts = null;
      });
    }
    return this.#parts.found;
  }

  async #layerParts(layer: number): Promise<LayerParts> {
    const all = await this.queue.of(this.input, (engine) => engine.layerParts(layer));
    const size = this.n * this.meta.model.hidden_size;
    const inner = all.length - 3 * size;
    let from = 0;
    const parts = LAYER_PARTS.map((name) => {
      const start = from;
      from += name === "ffn_activation" ? inner : size;
      return [name, all.subarray(start, from)];
    });
    return Object.fromEntries(parts) as LayerParts;
  }

  /** Hidden states of the text as it stands, with all heads. */
  intactHidden(layer: number): Promise<Float32Array> {
    const { masked, heads_off = [] } = this.meta;
    if (masked.length === 0 && heads_off.length === 0) return this.hidden(layer);
    const input = { ...this.input, ids: this.originals, off: [] };
    return this.queue.of(input, (engine) => engine.hidden(layer));
  }

  /** Logits of one position, `[vocabulary]`. */
  row(position: number, mode: Mode): Promise<Float32Array> {
    within("position", position, this.n);
    let input = this.input;
    if (mode === "masked") {
      const ids = Array.from(input.ids);
      ids[position] = this.metadata.ids.mask;
      input = { ...input, ids };
    }
    return this.queue.of(input, (engine) => engine.logits([position]));
  }

  /** The token that stands in the text. */
  originalOf(position: number): number {
    return itemAt(this.originals, position);
  }
}

/** Throws a `SliceFailure` for an index out of range. */
export function within(name: string, value: number, size: number): void {
  if (!Number.isInteger(value) || value < 0 || value >= size)
    throw new SliceFailure(`${name} ${value} is not in 0 to ${size - 1}.`);
}
