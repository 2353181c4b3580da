/** Similarities of texts that are typed in a page, by an embedder that runs there (docs/similarity.md). */

import { CachedSource } from "../../../protocol/cached-source";
import { SliceFailure } from "../../../protocol/failure";
import { itemAt } from "../../../protocol/required";
import type {
  Arrays,
  Meta,
  NdArray,
  Slice,
  SliceOptions,
  SliceRequest,
  Source,
} from "../../../protocol/types";
import type { ModelInput } from "../input";
import { partsOfText } from "./answers/words";
import { columnsOf, type Metadata, precisionOf } from "./metadata";
import { asFailure } from "./open";
import type { RequestQueue } from "./request-queue";

/** The head of an embedder and how it is given texts: attn_widget/features/engine/embedder.py. */
export interface Embedder {
  readonly kind: "cosine" | "dot";
  readonly pooling: "mean" | "cls" | "last" | "weighted" | "mean_sqrt";
  /** True if embeddings are divided by their lengths. */
  readonly unit: boolean;
  readonly prompts: readonly [string, string];
  readonly lowercase: boolean;
  /** Most tokens of a text. */
  readonly longest: number;
  readonly notes: readonly string[];
  /** Difference that rounding the matrices makes to the score of the saved texts, and to an entry of `input`. */
  readonly rounding: { readonly score: number; readonly entry: number };
}

type Texts = readonly [string, string];
const NAMES = ["a", "b"] as const;
/** Texts whose runs are kept. */
const KEPT = 4;
const CACHE_BYTES = 16e6;
/** Rows of a source and a position that are carried through the network at once: 6 MB for 384 units. */
const ROWS_AT_ONCE = 512;
/** Rows of both texts up to which `input` is computed unasked: some seconds. */
const ROWS_UNASKED = 5000;

/** A text that was read, and its parts. */
class ReadText {
  #carried: Promise<void> | null = null;
  /** Parts that come from each token and, last, from the biases: `[n + 1][hidden]`. */
  readonly vectors: Float32Array;
  #done = 0;

  constructor(
    readonly text: string,
    readonly tokens: Meta["tokens"],
    readonly input: ModelInput,
    /** Last hidden states `[token][hidden]`. */
    readonly states: Float32Array,
    readonly weights: readonly number[],
  ) {
    this.vectors = new Float32Array((this.n + 1) * this.hidden);
  }

  get n(): number {
    return this.weights.length;
  }

  get hidden(): number {
    return this.states.length / this.n;
  }

  /** The embedding, before its length is divided by. */
  get embedding(): Float64Array {
    return Float64Array.from({ length: this.hidden }, (_, i) =>
      this.weights.reduce(
        (sum, weight, row) => sum + weight * at(this.states, row * this.hidden + i),
        0,
      ),
    );
  }

  /** Find the vectors; work that was stopped goes on from what is there. */
  async carry(
    queue: RequestQueue,
    signal: AbortSignal,
    progress: (rows: number) => void,
  ): Promise<void> {
    // Two askers share the work, of whom either may leave.
    while (this.#carried !== null) await this.#carried.catch(() => undefined);
    signal.throwIfAborted();
    this.#carried = this.#carry(queue, signal, progress).finally(() => {
      this.#carried = null;
    });
    return this.#carried;
  }

  async #carry(
    queue: RequestQueue,
    signal: AbortSignal,
    progress: (rows: number) => void,
  ): Promise<void> {
    const { n, hidden, input, weights } = this;
    const size = Math.max(1, Math.floor(ROWS_AT_ONCE / n));
    while (this.#done <= n) {
      signal.throwIfAborted();
      const from = this.#done;
      const to = Math.min(from + size, n);
      const found = await queue.of(input, (engine) =>
        from === n ? engine.carriedBiases(weights) : engine.carried(from, to, weights),
      );
      this.vectors.set(found, from * hidden);
      this.#done = from === n ? n + 1 : to;
      progress((this.#done - from) * n);
    }
  }
}

const at = (values: ArrayLike<number>, i: number): number => values[i] as number;

function dot(a: ArrayLike<number>, i: number, b: ArrayLike<number>, j: number, n: number): number {
  let sum = 0;
  for (let k = 0; k < n; k++) sum += at(a, i + k) * at(b, j + k);
  return sum;
}

/** Weights with which positions are pooled; they are those of `EmbeddingHead.weights`. */
function poolingWeights(pooling: Embedder["pooling"], n: number): number[] {
  const each = (weight: (i: number) => number) => Array.from({ length: n }, (_, i) => weight(i));
  switch (pooling) {
    case "mean":
      return each(() => 1 / n);
    case "mean_sqrt":
      return each(() => 1 / Math.sqrt(n));
    case "cls":
      return each((i) => (i === 0 ? 1 : 0));
    case "last":
      return each((i) => (i === n - 1 ? 1 : 0));
    case "weighted":
      return each((i) => (2 * (i + 1)) / (n * (n + 1)));
  }
}

/** Answers about a saved similarity as its page has them, and about any two texts by the model. */
export class SimilarSource extends CachedSource {
  readonly live = false;
  override readonly precision;
  readonly #read = new Map<string, Promise<ReadText>>();
  #meta: Meta;

  constructor(
    readonly saved: Source,
    readonly queue: RequestQueue,
    readonly metadata: Metadata,
    readonly embedder: Embedder,
  ) {
    super(CACHE_BYTES);
    this.#meta = saved.meta;
    const { score, entry } = embedder.rounding;
    const moved =
      score === 0 && entry === 0
        ? ""
        : ` Its matrices are rounded: on the saved texts this moves the score by ${score.toPrecision(1)} and a pair by at most ${entry.toPrecision(1)}.`;
    this.precision = {
      ...(saved.precision ?? precisionOf(metadata)),
      note: `saved numbers have all digits; what is typed runs here, with the model's own parameters.${moved} Masking tests and heads need a kernel`,
    };
  }

  /** With the texts that are shown, for exports. */
  get meta(): Meta {
    return this.#meta;
  }

  get arrays(): Arrays {
    return this.saved.arrays;
  }

  has(request: SliceRequest): boolean {
    if (!("texts" in request) || request.texts === undefined)
      return this.saved.has?.(request) ?? true;
    return (
      request.kind === "similar" || (request.kind === "similar_matrix" && request.of !== "maxsim")
    );
  }

  /** An answer that is kept from before is shown as well, and exports name its texts. */
  override async ask(request: SliceRequest, options?: SliceOptions): Promise<Slice> {
    const slice = await super.ask(request, options);
    if (request.kind === "similar" && request.texts !== undefined) {
      const [text, text_pair] = request.texts;
      this.#meta = { ...this.saved.meta, text, text_pair };
    }
    return slice;
  }

  protected async answer(request: SliceRequest, options: Required<SliceOptions>): Promise<Slice> {
    if (!("texts" in request) || request.texts === undefined)
      return this.saved.ask(request, options);
    try {
      const [a, b] = await this.#readBoth(request.texts);
      options.signal.throwIfAborted();
      if (request.kind === "similar") return this.#similar(a, b);
      if (request.kind === "similar_matrix" && request.of === "output") return this.#output(a, b);
      if (request.kind === "similar_matrix" && request.of === "input")
        return await this.#input(a, b, options);
    } catch (error) {
      throw asFailure(error);
    }
    throw new SliceFailure(
      "This page has no such figure of typed texts.",
      "Use a kernel: similarity(a, b).",
    );
  }

  #readBoth(texts: Texts): Promise<[ReadText, ReadText]> {
    const [a, b] = texts.map((text, side) => {
      const prompt = itemAt(this.embedder.prompts, side);
      const key = JSON.stringify([prompt, text, prompt === "" || side]);
      const found = this.#read.get(key) ?? this.#readText(text, prompt, itemAt(NAMES, side));
      this.#read.delete(key);
      this.#read.set(key, found);
      found.catch(() => this.#read.delete(key));
      for (const old of this.#read.keys()) if (this.#read.size > KEPT) this.#read.delete(old);
      return found;
    }) as [Promise<ReadText>, Promise<ReadText>];
    return Promise.all([a, b]);
  }

  async #readText(given: string, prompt: string, name: string): Promise<ReadText> {
    if (given.trim() === "")
      throw new SliceFailure(`Text ${name} is empty.`, "Give at least one word.");
    const { lowercase, longest, pooling } = this.embedder;
    const text = lowercase ? (prompt + given).toLowerCase() : prompt + given;
    return this.queue.take(async (turn) => {
      const encoded = await turn.engine.encode(text);
      const n = encoded.ids.length;
      if (n > longest)
        throw new SliceFailure(
          `Text ${name} is too long: ${n} tokens, and the model reads at most ${longest}.`,
          "Shorten it.",
        );
      const input: ModelInput = { ids: encoded.ids };
      await turn.run(input);
      const states = await turn.engine.hidden(this.metadata.model.n_layers);
      const tokens = columnsOf(encoded, encoded.names, [text, ""]);
      return new ReadText(text, tokens, input, states, poolingWeights(pooling, n));
    });
  }

  /** Divisor of the products of vectors. */
  #lengths(a: ReadText, b: ReadText): number {
    const { kind, unit } = this.embedder;
    if (kind === "dot" && !unit) return 1;
    const [e, f] = [a.embedding, b.embedding];
    const lengths = Math.sqrt(dot(e, 0, e, 0, e.length) * dot(f, 0, f, 0, f.length));
    if (!(lengths > 0))
      throw new SliceFailure("An embedding has length 0, so it has no direction and no cosine.");
    return lengths;
  }

  #similar(a: ReadText, b: ReadText): Slice {
    const { kind, notes } = this.embedder;
    const [e, f] = [a.embedding, b.embedding];
    const lengths = this.#lengths(a, b);
    const part = (own: ReadText, other: Float64Array) =>
      Float32Array.from(
        own.weights,
        (weight, i) => (weight * dot(own.states, i * own.hidden, other, 0, own.hidden)) / lengths,
      );
    const quick = a.n ** 2 + b.n ** 2 <= ROWS_UNASKED;
    const data = {
      score: dot(e, 0, f, 0, e.length) / lengths,
      kind,
      probability: null,
      notes,
      matrices: quick ? ["input", "output"] : ["output", "input"],
      by: "output",
      gap: 0,
      a: sideOf(a),
      b: sideOf(b),
    };
    return {
      data,
      arrays: new Map([
        ["a", column(part(a, f))],
        ["b", column(part(b, e))],
      ]),
    };
  }

  #output(a: ReadText, b: ReadText): Slice {
    const lengths = this.#lengths(a, b);
    const pairs = new Float32Array(a.n * b.n);
    for (let i = 0; i < a.n; i++)
      for (let j = 0; j < b.n; j++)
        pairs[i * b.n + j] =
          (at(a.weights, i) *
            at(b.weights, j) *
            dot(a.states, i * a.hidden, b.states, j * b.hidden, a.hidden)) /
          lengths;
    return matrixOf(a, b, pairs, new Float32Array(a.n), new Float32Array(b.n), 0);
  }

  async #input(
    a: ReadText,
    b: ReadText,
    { signal, progress }: Required<SliceOptions>,
  ): Promise<Slice> {
    const total = a === b ? (a.n + 1) * a.n : (a.n + 1) * a.n + (b.n + 1) * b.n;
    let done = 0;
    for (const text of new Set([a, b]))
      await text.carry(this.queue, signal, (rows) => {
        done += rows;
        progress(Math.min(done, total), total);
      });
    const lengths = this.#lengths(a, b);
    const { hidden } = a;
    const entry = (i: number, j: number) =>
      dot(a.vectors, i * hidden, b.vectors, j * hidden, hidden) / lengths;
    const pairs = Float32Array.from({ length: a.n * b.n }, (_, k) =>
      entry(Math.floor(k / b.n), k % b.n),
    );
    const biasesA = Float32Array.from({ length: a.n }, (_, i) => entry(i, b.n));
    const biasesB = Float32Array.from({ length: b.n }, (_, j) => entry(a.n, j));
    return matrixOf(a, b, pairs, biasesA, biasesB, entry(a.n, b.n));
  }
}

const column = (data: Float32Array): NdArray => ({ data, shape: [data.length] });

function matrixOf(
  a: ReadText,
  b: ReadText,
  pairs: Float32Array,
  biasesA: Float32Array,
  biasesB: Float32Array,
  both: number,
): Slice {
  return {
    data: { both },
    arrays: new Map<string, NdArray>([
      ["pairs", { data: pairs, shape: [a.n, b.n] }],
      ["biases_a", column(biasesA)],
      ["biases_b", column(biasesB)],
    ]),
  };
}

/** Tokens by column and their words, as `attn_widget/features/similarity/source.py` has them. */
function sideOf({ text, tokens }: ReadText) {
  const { token_word } = partsOfText({ tokens, text, text_pair: null });
  const characters = Array.from(text);
  const groups = new Map<string, number[]>();
  tokens.text.forEach((_, i) => {
    const found = tokens.special[i] ? null : token_word[i];
    const key = found == null ? `token ${i}` : `word ${found}`;
    groups.set(key, [...(groups.get(key) ?? []), i]);
  });
  const members = [...groups.values()];
  const word = tokens.text.map(() => 0);
  members.forEach((group, k) => {
    for (const i of group) word[i] = k;
  });
  const names = members.map((group) => {
    const [first, last] = [itemAt(group, 0), itemAt(group, group.length - 1)];
    return tokens.special[first]
      ? itemAt(tokens.text, first)
      : characters.slice(tokens.start[first], tokens.end[last]).join("");
  });
  const { text: texts, surface, before, special } = tokens;
  return {
    text: texts,
    surface,
    before,
    special,
    position: texts.map((_, i) => i),
    word,
    names,
    bias: 0,
  };
}
