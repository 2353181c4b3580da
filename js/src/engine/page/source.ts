/** Answers about a text that the engine ran in the page: the same slices as a kernel's, as far as a page can. */

import { ByteCache } from "../../protocol/cache";
import { SliceFailure } from "../../protocol/failure";
import { requestKey } from "../../protocol/kernel";
import { itemAt } from "../../protocol/required";
import { rolloutStep } from "../../protocol/rollout";
import { f32, product, rowsOf, windowOf } from "../../protocol/snapshot-tensors";
import { NEEDS_KERNEL } from "../../protocol/token-row";
import type {
  HeadIndex,
  Meta,
  NdArray,
  Slice,
  SliceOptions,
  SliceRequest,
  Source,
} from "../../protocol/types";
import { EngineError } from "../errors";
import type { ModelInput, Projection } from "../model";
import { type About, columnsOf, savedViews, type Text, UNKNOWN } from "./about";
import { best, PredictionTable, rankOf, sumOf } from "./logits";
import { METRIC_KEYS, metricArrays, metricScale } from "./metrics";
import { described, type Mode, readAsIs } from "./read";
import { survey } from "./survey";
import type { Turn, Turns } from "./turns";

const TAU = 0.01;
const TOP_K = 5;
const MOST_PREDICTIONS = 100;
const OPENED = 20;
const LAST_LAYERS = 6;
const CACHE_BYTES = 64e6;

const refused = (what: string): SliceFailure =>
  new SliceFailure(`${what} is more than this page can compute.`, NEEDS_KERNEL);

/** The engine's own sentence, as the failure of a slice. */
function asFailure(error: unknown): unknown {
  return error instanceof EngineError ? new SliceFailure(error.message) : error;
}

const canceled = (): DOMException => new DOMException("This request was canceled.", "AbortError");

export class EngineSource implements Source {
  readonly live = true;
  readonly meta: Meta;
  readonly arrays: ReadonlyMap<string, NdArray>;
  readonly #turns: Turns;
  readonly #about: About;
  readonly #input: ModelInput;
  /** `[L, H, n, n]`. */
  readonly #attention: Float32Array;
  readonly #cache = new ByteCache<Slice>(CACHE_BYTES);

  /**
   * Run a text.
   *
   * @throws SliceFailure with a sentence for the reader: no text, or too many tokens
   */
  static async open(turns: Turns, about: About, { text, text_pair }: Text): Promise<EngineSource> {
    if (text.trim() === "") throw new SliceFailure("text is empty.", "Give at least one word.");
    const pair = text_pair || null;
    try {
      return await turns.take((turn) => EngineSource.#run(turns, turn, about, text, pair));
    } catch (error) {
      throw asFailure(error);
    }
  }

  static async #run(
    turns: Turns,
    turn: Turn,
    about: About,
    text: string,
    pair: string | null,
  ): Promise<EngineSource> {
    const encoded = await turn.engine.encode(text, ...(pair === null ? [] : [pair]));
    const names = await turn.engine.tokens(encoded.ids);
    const { ids, typeIds } = encoded;
    const input: ModelInput = { ids, typeIds };
    await turn.run(input);
    const attention = await turn.engine.attention();
    const tokens = columnsOf(encoded, names, [text, pair ?? ""]);
    const table = await readAsIs(turn, input, TOP_K, [0, ids.length]);
    const shape = [about.model.n_layers, about.model.n_heads] as const;
    const n = ids.length;
    const own = ids.filter((_, i) => !tokens.special[i]);
    const count = own.filter((id) => id === about.ids.unknown).length;
    const mostly = 2 * count > own.length;
    const meta: Meta = {
      version: 1,
      model: about.model,
      text,
      text_pair: pair,
      truncated: null,
      tokens,
      masked: [],
      heads_off: [],
      unknown: mostly ? { count, tokens: own.length, text: UNKNOWN } : null,
      profile: null,
      ...savedViews(about),
      metrics: { keys: METRIC_KEYS, tau: TAU, scale: metricScale(n, TAU) },
      thumb: Math.min(n, 24),
      predictions: { ...(await described(turn, table, "as_is", TOP_K)), opens: "as_is" },
      selected: null,
      versions: about.versions,
    };
    const arrays = new Map([
      ...survey(attention, shape, tokens.special),
      ...metricArrays(attention, shape, n, TAU),
      ...table.arrays,
    ]);
    return new EngineSource(meta, arrays, turns, about, input, attention);
  }

  private constructor(
    meta: Meta,
    arrays: ReadonlyMap<string, NdArray>,
    turns: Turns,
    about: About,
    input: ModelInput,
    attention: Float32Array,
  ) {
    this.meta = meta;
    this.arrays = arrays;
    this.#turns = turns;
    this.#about = about;
    this.#input = input;
    this.#attention = attention;
  }

  async slice(request: SliceRequest, options: SliceOptions = {}): Promise<Slice> {
    const key = requestKey(request);
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    let made: Slice;
    try {
      made = await this.#compute(request, options);
    } catch (error) {
      throw asFailure(error);
    }
    if (options.signal?.aborted) throw canceled();
    const bytes = [...made.arrays.values()].reduce((sum, { data }) => sum + data.byteLength, 256);
    this.#cache.set(key, made, bytes);
    return made;
  }

  get #n(): number {
    return this.meta.tokens.text.length;
  }

  async #compute(request: SliceRequest, options: SliceOptions): Promise<Slice> {
    const n = this.#n;
    const square = (name: string, data: Float32Array): Slice =>
      rowsOf({ data: {}, arrays: new Map([[name, f32(data, n, n)]]) }, request, n);
    switch (request.kind) {
      case "weights":
        return square("weights", this.#weights(request.layer, request.head));
      case "scores":
        return square("scores", await this.#scores(request.layer, request.head));
      case "qkv":
        return this.#qkv(request);
      case "rollout":
        return square("weights", Float32Array.from(this.#rollout(request.layer)));
      case "metrics":
        return this.#metrics(request.tau);
      case "patterns":
        return this.#patterns();
      case "first_token":
        return this.#firstToken(request.head);
      case "tensor":
        return this.#tensor(request);
      case "predictions":
        return this.#predictions(request, options);
      case "softmax":
        return this.#softmax(request);
      case "next_sentence":
        return this.#nextSentence();
      default:
        throw refused(`"${request.kind}"`);
    }
  }

  /** A head's matrix, a view; the mean of all heads, a new one. */
  #weights(layer: number, head: HeadIndex): Float32Array {
    const { n_layers, n_heads } = this.meta.model;
    const size = this.#n ** 2;
    within("layer", layer, n_layers);
    const at = (one: number): number => (layer * n_heads + one) * size;
    if (head !== "mean") {
      within("head", head, n_heads);
      return this.#attention.subarray(at(head), at(head) + size);
    }
    const sum = new Float64Array(size);
    for (let one = 0; one < n_heads; one++)
      for (let i = 0; i < size; i++)
        sum[i] = (sum[i] as number) + (this.#attention[at(one) + i] as number);
    return Float32Array.from(sum, (value) => value / n_heads);
  }

  /** Columns of a head, `[n, head_dim]`. */
  async #projection(which: Projection, layer: number, head: number): Promise<Float32Array> {
    const { n_layers, n_heads, head_dim, hidden_size } = this.meta.model;
    within("layer", layer, n_layers);
    within("head", head, n_heads);
    const whole = await this.#turns.of(this.#input, (engine) => engine.projection(which, layer));
    const part = new Float32Array(this.#n * head_dim);
    for (let i = 0; i < this.#n; i++) {
      const from = i * hidden_size + head * head_dim;
      part.set(whole.subarray(from, from + head_dim), i * head_dim);
    }
    return part;
  }

  get #scaling(): number {
    return 1 / Math.sqrt(this.meta.model.head_dim);
  }

  async #scores(layer: number, head: number): Promise<Float32Array> {
    const n = this.#n;
    const width = this.meta.model.head_dim;
    const queries = await this.#projection("query", layer, head);
    const keys = await this.#projection("key", layer, head);
    const scores = new Float32Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let d = 0; d < width; d++)
          sum += (queries[i * width + d] as number) * (keys[j * width + d] as number);
        scores[i * n + j] = sum * this.#scaling;
      }
    }
    return scores;
  }

  async #qkv({ layer, head, rows }: SliceRequest<"qkv">): Promise<Slice> {
    const width = this.meta.model.head_dim;
    const [start, stop] = rows ?? [0, this.#n];
    const arrays = new Map<string, NdArray>();
    for (const which of ["query", "key", "value"] as const) {
      const part = await this.#projection(which, layer, head);
      const cut = part.slice(start * width, stop * width);
      arrays.set(which.charAt(0), f32(cut, stop - start, width));
    }
    return { data: { scaling: this.#scaling }, arrays };
  }

  #rollout(layer: number): Float64Array {
    within("layer", layer, this.meta.model.n_layers);
    let found: Float64Array | null = null;
    for (let one = 0; one <= layer; one++)
      found = rolloutStep(this.#weights(one, "mean"), found, this.#n);
    return found as Float64Array;
  }

  #metrics(tau: number | "uniform"): Slice {
    const { n_layers, n_heads } = this.meta.model;
    const arrays = metricArrays(this.#attention, [n_layers, n_heads], this.#n, tau);
    return { data: { keys: METRIC_KEYS, tau, scale: metricScale(this.#n, tau) }, arrays };
  }

  /** Mean weight on the token before, and on the token after: attn_widget/figures/patterns.py. */
  #patterns(): Slice {
    const n = this.#n;
    const { n_layers, n_heads } = this.meta.model;
    const shape = [n_layers, n_heads];
    const mean = (offset: -1 | 1): Float32Array =>
      Float32Array.from({ length: n_layers * n_heads }, (_, head) => {
        let sum = 0;
        for (let i = 0; i + 1 < n; i++) {
          const query = offset < 0 ? i + 1 : i;
          sum += this.#attention[head * n * n + query * n + query + offset] as number;
        }
        return sum / (n - 1);
      });
    const arrays = new Map<string, NdArray>([
      ["pattern:previous", { data: mean(-1), shape }],
      ["pattern:next", { data: mean(1), shape }],
    ]);
    return { data: { keys: ["previous", "next"], chance: 1 / n }, arrays };
  }

  #firstToken(head: HeadIndex): Slice {
    const n = this.#n;
    const { n_layers } = this.meta.model;
    const layers = Array.from({ length: n_layers }, (_, i) => i).slice(-LAST_LAYERS);
    const weights = new Float32Array(layers.length * n);
    layers.forEach((layer, row) => {
      weights.set(this.#weights(layer, head).subarray(0, n), row * n);
    });
    return { data: { layers }, arrays: new Map([["weights", f32(weights, layers.length, n)]]) };
  }

  async #tensor(request: SliceRequest<"tensor">): Promise<Slice> {
    const { name, layer, head } = request;
    const n = this.#n;
    const { hidden_size, head_dim } = this.meta.model;
    if (name === "hidden" && layer != null) {
      const state = await this.#turns.of(this.#input, (engine) => engine.hidden(layer));
      return windowOf(f32(state, n, hidden_size), request);
    }
    if (layer == null || head == null) throw refused("This tensor");
    if (name === "query" || name === "key" || name === "value") {
      return windowOf(f32(await this.#projection(name, layer, head), n, head_dim), request);
    }
    if (name !== "head_output") throw refused("This tensor");
    const values = await this.#projection("value", layer, head);
    const output = product(this.#weights(layer, head), values, n, head_dim);
    return windowOf(f32(output, n, head_dim), request);
  }

  async #predictions(
    { mode = "as_is", top_k = TOP_K, rows }: SliceRequest<"predictions">,
    { signal, progress }: SliceOptions,
  ): Promise<Slice> {
    within("top_k", top_k - 1, MOST_PREDICTIONS);
    const [start, stop] = rows ?? [0, this.#n];
    if (mode === "as_is") {
      return this.#turns.take(async (turn) => {
        const table = await readAsIs(turn, this.#input, top_k, [start, stop]);
        return { data: await described(turn, table, mode, top_k), arrays: table.arrays };
      });
    }
    // A pass for every position, one turn each: a text that is typed meanwhile need not wait for all.
    const table = new PredictionTable(stop - start, top_k);
    for (let position = start; position < stop; position++) {
      if (signal?.aborted) throw canceled();
      table.fill(position - start, await this.#row(position, mode), this.#idAt(position));
      progress?.(position - start + 1, stop - start);
    }
    const data = await this.#turns.take((turn) => described(turn, table, mode, top_k));
    return { data, arrays: table.arrays };
  }

  #idAt(position: number): number {
    return itemAt(this.#input.ids, position);
  }

  /** Logits of one position, `[vocabulary]`. */
  #row(position: number, mode: Mode): Promise<Float32Array> {
    within("position", position, this.#n);
    let input = this.#input;
    if (mode === "masked") {
      const ids = Array.from(input.ids);
      ids[position] = this.#about.ids.mask;
      input = { ...input, ids };
    }
    return this.#turns.of(input, (engine) => engine.logits([position]));
  }

  async #softmax({ position, mode = "as_is", token_ids }: SliceRequest<"softmax">): Promise<Slice> {
    const row = await this.#row(position, mode);
    const { largest, sum } = sumOf(row);
    const ids = token_ids ?? best(row, OPENED);
    for (const id of ids) within("token_ids", id, row.length);
    const names = await this.#turns.take(({ engine }) => engine.tokens(ids));
    const entries = ids.map((id, i) => {
      const logit = itemAt(row, id);
      const exp = Math.exp(logit - largest);
      return { id, token: names[i], logit, exp, probability: exp / sum, rank: rankOf(row, id) };
    });
    const opened = {
      position,
      logit_max: largest,
      sum_exp: sum,
      log_sum_exp: largest + Math.log(sum),
      vocab_size: row.length,
      entries,
    };
    return { data: opened, arrays: new Map() };
  }

  async #nextSentence(): Promise<Slice> {
    if (this.meta.text_pair === null) {
      throw new SliceFailure(
        "There is one text, and the next-sentence head compares two.",
        "Give text_pair.",
      );
    }
    const logits = await this.#turns.of(this.#input, (engine) => engine.nextSentence());
    const { largest, sum } = sumOf(logits);
    const exponentials = logits.map((logit) => Math.exp(logit - largest));
    const shares = exponentials.map((one) => one / sum);
    const data = { labels: ["is next", "is not next"] };
    const arrays = new Map<string, NdArray>([
      ["logits", f32(logits, 1, 2)],
      ["exp", f32(exponentials, 1, 2)],
      ["sum", { data: Float64Array.of(sum), shape: [1] }],
      ["probabilities", f32(shares, 1, 2)],
    ]);
    return { data, arrays };
  }
}

function within(name: string, value: number, size: number): void {
  if (!Number.isInteger(value) || value < 0 || value >= size)
    throw new SliceFailure(`${name} ${value} is not in 0 to ${size - 1}.`);
}
