/** Input of the model, checked, and names of its parts. */

import { EngineError } from "./errors";
import type { Header } from "./file";

/** Heads as `[layer, head]`. */
export type HeadsOff = readonly (readonly [layer: number, head: number])[];

/** One text as the model reads it: arrays of the same length, and the heads that give nothing. */
export interface ModelInput {
  readonly ids: ArrayLike<number>;
  /** Segment of each token; zeros where left out. */
  readonly typeIds?: ArrayLike<number>;
  /** 1 for tokens that may be attended to, 0 for others; ones where left out. */
  readonly mask?: ArrayLike<number>;
  readonly off?: HeadsOff;
}

/** Parts of a layer that a run does not keep; `ffn_activation` is `intermediate` wide. */
export const LAYER_PARTS = [
  "attention_output",
  "attention_norm",
  "ffn_activation",
  "ffn_output",
] as const;
export type LayerPart = (typeof LAYER_PARTS)[number];

/** Which projection of a layer. */
export type Projection = "query" | "key" | "value";

/** Throws an `EngineError` with a sentence for the page. */
export function checkInput(
  { ids, typeIds, mask, off = [] }: ModelInput,
  { positions, vocabulary, types, layers, heads }: Header,
): void {
  const length = ids.length;
  if (length > positions)
    throw new EngineError(
      "too-long",
      `The text has ${length.toLocaleString("en-US")} tokens; the model reads at most ${positions}. Shorten it.`,
    );
  if (length === 0) throw new EngineError("input", "The text has no tokens.");
  for (const [name, other] of Object.entries({ typeIds, mask }))
    if (other !== undefined && other.length !== length)
      throw new EngineError("input", `${name} has ${other.length} entries for ${length} tokens.`);
  for (let i = 0; i < length; i++) {
    within("id", ids[i] ?? -1, vocabulary);
    within("type id", typeIds?.[i] ?? 0, Math.max(types, 2)); // DistilBERT reads both texts alike
  }
  for (const [layer, head] of off) {
    within("layer", layer, layers);
    within("head", head, heads);
  }
  if (mask !== undefined && Array.from(mask).every((keep) => keep === 0))
    throw new EngineError("input", "The mask leaves no token to attend to.");
}

export function within(name: string, value: number, count: number): void {
  if (!Number.isInteger(value) || value < 0 || value >= count)
    throw new EngineError("input", `${name} ${value} is not in 0 to ${count - 1}.`);
}
