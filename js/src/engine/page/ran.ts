/** A text that the engine has run: its first paint, and its tensors whenever they are asked for. */

import { SliceFailure } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { HeadIndex, Meta, NdArray } from "../../protocol/types";
import { LAYER_PARTS, type ModelInput, type Projection } from "../input";
import type { About } from "./about";
import type { Turns } from "./turns";

export type Mode = "as_is" | "masked";

/** Each `[n, its width]`. */
export type LayerParts = Readonly<Record<(typeof LAYER_PARTS)[number], Float32Array>>;

export class Ran {
  #parts: { readonly layer: number; readonly found: Promise<LayerParts> } | null = null;

  constructor(
    readonly meta: Meta,
    readonly arrays: ReadonlyMap<string, NdArray>,
    readonly turns: Turns,
    readonly about: About,
    readonly input: ModelInput,
    /** The tokens that stand in the text, also where the model read the mask token. */
    readonly originals: readonly number[],
    /** `[L, H, n, n]`. */
    readonly attention: Float32Array,
  ) {}

  get n(): number {
    return this.originals.length;
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
    const at = (one: number): number => (layer * heads + one) * size;
    if (head !== "mean") {
      within("head", head, heads);
      return this.attention.subarray(at(head), at(head) + size);
    }
    const sum = new Float64Array(size);
    for (let one = 0; one < heads; one++)
      for (let i = 0; i < size; i++)
        sum[i] = (sum[i] as number) + (this.attention[at(one) + i] as number);
    return Float32Array.from(sum, (value) => value / heads);
  }

  /** Columns of a head, `[n, head_dim]`. */
  async projection(which: Projection, layer: number, head: number): Promise<Float32Array> {
    const { head_dim, hidden_size } = this.meta.model;
    const [layers, heads] = this.shape;
    within("layer", layer, layers);
    within("head", head, heads);
    const whole = await this.turns.of(this.input, (engine) => engine.projection(which, layer));
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
    return this.turns.of(this.input, (engine) => engine.hidden(layer));
  }

  /** Parts of a layer besides attention and hidden states; the last layer that was asked for is kept. */
  layerParts(layer: number): Promise<LayerParts> {
    within("layer", layer, this.meta.model.n_layers);
    if (this.#parts?.layer !== layer) this.#parts = { layer, found: this.#layerParts(layer) };
    return this.#parts.found;
  }

  async #layerParts(layer: number): Promise<LayerParts> {
    const all = await this.turns.of(this.input, (engine) => engine.layerParts(layer));
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
    return this.turns.of(input, (engine) => engine.hidden(layer));
  }

  /** Logits of one position, `[vocabulary]`. */
  row(position: number, mode: Mode): Promise<Float32Array> {
    within("position", position, this.n);
    let input = this.input;
    if (mode === "masked") {
      const ids = Array.from(input.ids);
      ids[position] = this.about.ids.mask;
      input = { ...input, ids };
    }
    return this.turns.of(input, (engine) => engine.logits([position]));
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
