/** Calls that an engine answers, whose arguments and results can cross to a worker. */

import type { Header } from "./file";
import type { ModelInput, Projection } from "./input";
import type { Model } from "./model";
import type { Encoded, Tokenizer } from "./tokenizer";

/** Every array is the caller's own: a copy of what the model has in memory. */
export class Session {
  readonly #model: Model;
  readonly #tokenizer: Tokenizer;

  constructor(model: Model, tokenizer: Tokenizer) {
    this.#model = model;
    this.#tokenizer = tokenizer;
  }

  header(): Header {
    return this.#model.header;
  }

  /** Ids, and the tokens that they name: one call, as each waits for a worker's turn. */
  encode(text: string, pair?: string): Encoded & { readonly names: readonly string[] } {
    const encoded = this.#tokenizer.encode(text, pair);
    return { ...encoded, names: this.tokens(encoded.ids) };
  }

  /** Tokens of some ids. */
  tokens(ids: readonly number[]): string[] {
    return ids.map((id) => this.#tokenizer.vocabulary[id] ?? `[${id}]`);
  }

  /** Run a text; all figures below are those of the last run. */
  run(input: ModelInput): number {
    this.#model.run(input);
    return this.#model.length;
  }

  /** Attention weights `[query][key]` of a head, or `[layer][head][query][key]`. */
  attention(layer?: number, head?: number): Float32Array<ArrayBuffer> {
    return new Float32Array(this.#model.attention(layer, head));
  }

  /** Queries, keys or values `[token][hidden]` of a layer. */
  projection(which: Projection, layer: number): Float32Array<ArrayBuffer> {
    return new Float32Array(this.#model.projection(which, layer));
  }

  /** Hidden states `[token][hidden]`: 0 are the embeddings. */
  hidden(layer: number): Float32Array<ArrayBuffer> {
    return new Float32Array(this.#model.hidden(layer));
  }

  /** Masked-LM logits `[position][vocabulary]`. */
  logits(positions: readonly number[]): Float32Array<ArrayBuffer> {
    return new Float32Array(this.#model.logits(positions));
  }

  /** Parts of a layer: see `Model.layerParts`. */
  layerParts(layer: number): Float32Array<ArrayBuffer> {
    return this.#model.layerParts(layer);
  }

  /** Parameters of a layer's attention output: see `Model.attentionParameters`. */
  attentionParameters(layer: number): Float32Array<ArrayBuffer> {
    return this.#model.attentionParameters(layer);
  }

  /** Output `[token][hidden]` of a layer in which one token's values are zeros. */
  withoutToken(layer: number, token: number): Float32Array<ArrayBuffer> {
    return new Float32Array(this.#model.withoutToken(layer, token));
  }

  /** Embeddings of tokens, positions and segments, each `[token][hidden]`. */
  embeddings(): Float32Array<ArrayBuffer> {
    return this.#model.embeddings();
  }

  positionTable(): Float32Array<ArrayBuffer> {
    return this.#model.positionTable();
  }

  /** Parts of a weighted sum of the last hidden states that come from some input tokens: see `Model.carried`. */
  carried(from: number, to: number, weights: readonly number[]): Float32Array<ArrayBuffer> {
    return this.#model.carried(from, to, weights);
  }

  /** The part that comes from all biases: see `Model.carriedBiases`. */
  carriedBiases(weights: readonly number[]): Float32Array<ArrayBuffer> {
    return this.#model.carriedBiases(weights);
  }

  /** Queries and keys of a layer by what comes from some input tokens: see `Model.carriedProjections`. */
  carriedProjections(layer: number, from: number, to: number): Float32Array<ArrayBuffer> {
    return this.#model.carriedProjections(layer, from, to);
  }

  nextSentence(): Float32Array<ArrayBuffer> {
    return new Float32Array(this.#model.nextSentence());
  }
}

type Calls = {
  [Name in keyof Session]: Session[Name];
};

/** The same calls, answered later. */
export type Remote = {
  [Name in keyof Calls]: (...values: Parameters<Calls[Name]>) => Promise<ReturnType<Calls[Name]>>;
};

export const CALLS = [
  "header",
  "encode",
  "tokens",
  "run",
  "attention",
  "projection",
  "hidden",
  "logits",
  "nextSentence",
  "layerParts",
  "embeddings",
  "positionTable",
  "attentionParameters",
  "withoutToken",
  "carried",
  "carriedBiases",
  "carriedProjections",
] as const satisfies readonly (keyof Calls)[];
