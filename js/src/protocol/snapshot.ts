/** Answers out of the page itself: recorded slices, and attention computed from the layers' chunks. */

import { ByteCache } from "./cache";
import {
  decodeMean,
  decodeWeights,
  type LayerChunk,
  meanReader,
  type Reader,
  scoresReader,
  weightsReader,
} from "./decode";
import { SliceFailure } from "./failure";
import { LONG_TOKENS, requestKey, windowIn } from "./kernel";
import { LongAttention } from "./long/attention";
import { PackError, readPack, unpack } from "./pack";
import { precisionOf } from "./precision";
import { arrayOf, itemAt } from "./required";
import { decodeCarried, headNorms, rolloutStep, rowsNormalized } from "./rollout";
import { inflate } from "./saved/inflate";
import { NAMES, nameOf } from "./saved/names";
import { pauses, readWhole } from "./saved/pauses";
import type { Chunks, Recorded, SavedMeta } from "./saved/recorded";
import { drill, gather, matrix, type Part } from "./sentences";
import { shorterList, softmaxOf } from "./snapshot-predictions";
import { f32, product, rowsOf, VECTORS, windowOf } from "./snapshot-tensors";
import { NEEDS_KERNEL, needsKernel, ONE_TOKEN, rowOf } from "./token-row";
import type { HeadIndex, Mixing, NdArray, Precision, Slice, SliceRequest, Source } from "./types";

/** Decoded matrices that are kept (bytes): 60 heads of 512 tokens. */
const CACHE_BYTES = 64e6;

export class SnapshotSource implements Source {
  readonly live = false;
  readonly meta: SavedMeta;
  readonly arrays: ReadonlyMap<string, NdArray>;
  readonly precision: Precision;
  readonly #chunks: Chunks;
  readonly #recorded = new Map<string, Recorded>();
  /** One token's row of the tensors that the page has no room for. */
  readonly #row: Slice | null;
  readonly #layers = new Map<number, Promise<LayerChunk>>();
  readonly #rollouts = new Map<string, Promise<Float64Array>>();
  readonly #cache = new ByteCache<Slice>(CACHE_BYTES);
  /** Attention of a long text, none of whose matrices is ever whole; null of a short one. */
  readonly #long: LongAttention | null;

  /** Read the chunk `paint`; the layers' chunks are inflated on first use. */
  static async open(chunks: Chunks): Promise<SnapshotSource> {
    const text = await chunks("paint");
    if (text === null) throw new PackError("This page holds no run.");
    const { meta, arrays } = readPack(await inflate(text));
    const { snapshot, recorded } = meta as Partial<SavedMeta>;
    if (snapshot === undefined || recorded === undefined) {
      throw new PackError("This run was not packed for a saved page.");
    }
    const source = new SnapshotSource({ ...meta, snapshot, recorded }, arrays, chunks);
    // Inflated beside the main thread, which draws the rest of the page meanwhile.
    const { layer, head } = snapshot.selection as { layer: number; head: HeadIndex };
    if (source.#long !== null) source.#long.prefetch(layer, head);
    else if (snapshot.code !== null) source.#layer(layer).catch(() => undefined);
    return source;
  }

  private constructor(meta: SavedMeta, arrays: ReadonlyMap<string, NdArray>, chunks: Chunks) {
    this.meta = meta;
    this.arrays = arrays;
    this.#chunks = chunks;
    this.precision = precisionOf(meta.snapshot);
    const long = meta.snapshot.code !== null && this.#n > LONG_TOKENS;
    this.#long = long ? this.#longAttention() : null;
    for (const entry of meta.recorded) this.#recorded.set(requestKey(entry.request), entry);
    const row = meta.recorded.find(({ request }) => request.kind === "token_row");
    this.#row = row === undefined ? null : this.#replay(row);
  }

  #longAttention(): LongAttention {
    const { model, snapshot, tokens, windows } = this.meta;
    return new LongAttention({
      ...snapshot,
      model,
      special: tokens.special,
      chunks: this.#chunks,
      windowed: windows !== undefined,
      sentences: (aggregation) => this.#allSentences(aggregation)?.data ?? null,
    });
  }

  has(request: SliceRequest): boolean {
    if (this.#recorded.has(requestKey(request))) return true;
    const known = this.#long?.has(request);
    if (known !== undefined) return known;
    const { code, layers, heads } = this.meta.snapshot;
    const { layer, head } = request as unknown as { layer: number; head: HeadIndex };
    switch (request.kind) {
      case "predictions":
        return request.rows == null && this.#longestList(String(request.mode)) !== null;
      case "weights":
        return layers.includes(layer) && (head === "mean" || heads.includes(head));
      case "scores":
        return code === "qk" && layers.includes(layer) && heads.includes(head as number);
      case "tensor":
        return this.#vectors(request) !== null || this.#rowOf(request) !== null;
      default:
        return false;
    }
  }

  /** The recorded vectors of a head that has one of its own tensors among them. */
  #vectors({
    name,
    layer,
    head,
  }: SliceRequest<"tensor">): { vectors: Recorded; short: string } | null {
    const short = VECTORS[name];
    if (layer == null || head == null) return null;
    const vectors = this.#recorded.get(requestKey({ kind: "qkv", layer, head }));
    return short === undefined || vectors?.arrays[short] === undefined ? null : { vectors, short };
  }

  #rowOf(request: SliceRequest<"tensor">): Slice | null {
    return this.#row && rowOf(this.#row, request, this.#n);
  }

  async slice(request: SliceRequest, options: { signal?: AbortSignal } = {}): Promise<Slice> {
    const recorded = this.#recorded.get(requestKey(request));
    if (recorded !== undefined) return this.#replay(recorded);
    const long = this.#long?.slice(request, options.signal);
    if (long !== undefined) return long;
    const key = requestKey(request);
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const made = await this.#compute(request, options.signal);
    if (options.signal?.aborted) throw new DOMException("This request was canceled.", "AbortError");
    const bytes = [...made.arrays.values()].reduce((sum, { data }) => sum + data.byteLength, 256);
    this.#cache.set(key, made, bytes);
    return made;
  }

  #replay({ data, arrays }: Recorded): Slice {
    const restored = Object.entries(arrays).map(([name, stored]): [string, NdArray] => {
      const array = this.arrays.get(stored);
      if (array === undefined) throw new PackError(`The page lacks the array "${stored}".`);
      return [name, array];
    });
    return { data, arrays: new Map(restored) };
  }

  get #n(): number {
    return this.meta.tokens.text.length;
  }

  async #compute(request: SliceRequest, signal?: AbortSignal): Promise<Slice> {
    const n = this.#n;
    switch (request.kind) {
      case "weights": {
        const { layer, head } = request;
        const chunk = await this.#layer(layer);
        const read = head === "mean" ? meanReader(chunk) : weightsReader(chunk, this.#place(head));
        const arrays = new Map([["weights", await this.#matrix(read, request, signal)]]);
        const allowed = chunk.arrays.get("allowed");
        if (allowed !== undefined) {
          const rows = rowsOf({ data: {}, arrays: new Map([["allowed", allowed]]) }, request, n);
          arrays.set("allowed", arrayOf(rows, "allowed"));
        }
        return { data: {}, arrays };
      }
      case "scores": {
        const { layer, head } = request;
        if (this.meta.snapshot.code !== "qk") throw needsKernel("A score");
        const read = scoresReader(await this.#layer(layer), this.#place(head));
        return {
          data: {},
          arrays: new Map([["scores", await this.#matrix(read, request, signal)]]),
        };
      }
      case "mixing":
        return rowsOf(await this.#mixing(request), request, n);
      case "rollout":
      case "mixing_rollout": {
        if (this.meta.windows !== undefined)
          throw new SliceFailure("Rollout would join windows that the model has read separately.");
        const quantity = request.kind === "rollout" ? null : request.quantity;
        const rolled = await this.#rollout(request.layer, quantity);
        const arrays = new Map([["weights", f32(Float32Array.from(rolled), n, n)]]);
        return rowsOf({ data: {}, arrays }, request, n);
      }
      case "qkv":
        return this.#factors(request);
      case "tensor":
        return this.#tensor(request);
      case "sentences":
      case "drill":
        return this.#sentences(request);
      case "first_token":
        return this.#firstToken(request.head);
      case "predictions":
        return this.#predictions(request);
      case "softmax":
        return this.#softmax(request);
      case "class_gradient":
        throw needsKernel(
          request.head === "mean"
            ? "The gradient of this class"
            : "The effect of one head on a class",
        );
      default:
        throw needsKernel(nameOf(request.kind));
    }
  }

  /** The rows that a request names, or all of them. */
  async #matrix(read: Reader, request: SliceRequest, signal?: AbortSignal): Promise<NdArray> {
    const n = this.#n;
    const { rows } = windowIn(request);
    if (rows) return f32(read(rows), rows[1] - rows[0], n);
    return f32(await readWhole(read, n, pauses(signal)), n, n);
  }

  #place(head: number): number {
    const place = this.meta.snapshot.heads.indexOf(head);
    if (place < 0) throw needsKernel(`Head ${head}`);
    return place;
  }

  #layer(layer: number): Promise<LayerChunk> {
    const known = this.#layers.get(layer);
    if (known !== undefined) return known;
    const made = (async () => {
      const text = await this.#chunks(`layer-${layer}`);
      if (text === null) throw needsKernel(`Layer ${layer}`);
      return { n: this.#n, arrays: unpack(await inflate(text)).arrays };
    })();
    this.#layers.set(layer, made);
    return made;
  }

  /** Rollout of the mean heads, or of a quantity that holds the residual already (all but `norms`). */
  #rollout(layer: number, quantity: Mixing | null): Promise<Float64Array> {
    const key = `${quantity} ${layer}`;
    const known = this.#rollouts.get(key);
    if (known !== undefined) return known;
    const made = (async () => {
      const before = layer === 0 ? null : await this.#rollout(layer - 1, quantity);
      const n = this.#n;
      if (quantity === null) {
        const mean = await readWhole(meanReader(await this.#layer(layer)), n);
        return rolloutStep(mean, before, n);
      }
      const matrix = arrayOf(await this.slice({ kind: "mixing", quantity, layer }), "weights");
      const rows = rowsNormalized(matrix.data as Float32Array, n);
      return rolloutStep(rows, before, n, quantity === "norms" ? 0.5 : 0);
    })();
    this.#rollouts.set(key, made);
    return made;
  }

  /** A layer's matrix from its code; a head's norms are its weights times the lengths of what they carry. */
  async #mixing({ quantity, layer, head }: SliceRequest<"mixing">): Promise<Slice> {
    const n = this.#n;
    const code: SliceRequest =
      head == null ? { kind: "mixing_code", quantity, layer } : { kind: "value_lengths", layer };
    const recorded = this.#recorded.get(requestKey(code));
    if (recorded === undefined) throw needsKernel(NAMES.mixing);
    const coded = this.#replay(recorded);
    if (head != null) {
      const slice = await this.slice({ kind: "weights", layer, head });
      const { norms, longest } = headNorms(arrayOf(slice, "weights").data, coded, head, n);
      const arrays = new Map([...slice.arrays, ["weights", f32(norms, n, n)] as const]);
      return { data: { longest }, arrays };
    }
    const made = new Map<string, NdArray>([["weights", f32(decodeCarried(coded), n, n)]]);
    const masks = (await this.#layer(layer)).arrays;
    for (const name of ["allowed", "ratio"]) {
      const array = masks.get(name) ?? coded.arrays.get(name);
      if (array !== undefined) made.set(name, array);
    }
    return { data: {}, arrays: made };
  }

  /** For a head without recorded vectors: only the scale, from which `q · k` follows. */
  async #factors({ layer }: { layer: number; head: number }): Promise<Slice> {
    const scaling = this.meta.snapshot.scaling[this.meta.snapshot.layers.indexOf(layer)] ?? null;
    const chunk = await this.#layer(layer);
    if (scaling === null || !chunk.arrays.has("rank") || chunk.arrays.has("bias")) {
      throw needsKernel(NAMES.qkv);
    }
    return { data: { scaling }, arrays: new Map() };
  }

  /** A head's own tensors, where its vectors were recorded; else one token's row. */
  async #tensor(request: SliceRequest<"tensor">): Promise<Slice> {
    const { name, layer, head } = request;
    const known = this.#vectors(request);
    if (known === null) {
      const row = this.#rowOf(request);
      if (row !== null) return row;
      const token = this.#row?.data.token as number | undefined;
      const own = token !== undefined && this.#rowOf({ ...request, rows: [token, token + 1] });
      throw own ? new SliceFailure(ONE_TOKEN, NEEDS_KERNEL, true) : needsKernel(NAMES.tensor);
    }
    const vectors = arrayOf(this.#replay(known.vectors), known.short);
    const [n, width] = vectors.shape as [number, number];
    let { data } = vectors;
    if (name === "head_output" && layer != null && head != null) {
      const weights = arrayOf(await this.slice({ kind: "weights", layer, head }), "weights");
      data = product(weights.data, vectors.data, n, width);
    }
    return windowOf(f32(data as Float32Array, n, width), request);
  }

  /** Rows of the matrices that an aggregation goes over; all of them must have been saved. */
  async *#parts(
    { aggregation, layer, head }: SliceRequest<"sentences" | "drill">,
    rows: readonly [number, number],
  ): AsyncGenerator<Part> {
    const { n_layers, n_heads } = this.meta.model;
    const layers = layer == null ? Array.from({ length: n_layers }, (_, l) => l) : [layer];
    const wanted = head == null ? Array.from({ length: n_heads }, (_, h) => h) : [head];
    for (const one of layers) {
      const chunk = await this.#layer(one);
      if (aggregation === "mass" && head == null)
        yield { layer: one, head: null, weights: decodeMean(chunk, rows) };
      else
        for (const each of wanted)
          yield { layer: one, head: each, weights: decodeWeights(chunk, this.#place(each), rows) };
    }
  }

  #allSentences(aggregation: "mass" | "max"): Recorded | undefined {
    return this.#recorded.get(requestKey({ kind: "sentences", aggregation }));
  }

  async #sentences(request: SliceRequest<"sentences" | "drill">): Promise<Slice> {
    const { aggregation } = request;
    const known = this.#allSentences(aggregation);
    if (known === undefined) throw needsKernel("Attention between so many sentences");
    const { texts, tokens, note } = known.data;
    const sentences = tokens as readonly (readonly number[])[];
    const n = this.#n;
    if (request.kind === "sentences") {
      const all = await gather(aggregation, this.#parts(request, [0, n]), n, [0, n]);
      return matrix(aggregation, all, sentences, { texts, tokens, note });
    }
    const [queries, keys] = [itemAt(sentences, request.a), itemAt(sentences, request.b)];
    const rows = [Math.min(...queries), Math.max(...queries) + 1] as const;
    return drill(await gather(aggregation, this.#parts(request, rows), n, rows), queries, keys);
  }

  /** The beginning of a longer list that was recorded. */
  #predictions({ mode = "as_is", top_k, rows }: SliceRequest<"predictions">): Slice {
    const longest = this.#longestList(mode);
    if (longest === null || rows != null || top_k === undefined) {
      throw needsKernel(mode === "masked" ? "Masked prediction" : "This prediction");
    }
    return shorterList(this.#replay(longest), top_k);
  }

  #longestList(mode: string): Recorded | null {
    const lists = [...this.#recorded.values()].flatMap((recorded) => {
      const { request: asked } = recorded;
      if (asked.kind !== "predictions" || (asked.mode ?? "as_is") !== mode) return [];
      return [{ recorded, size: asked.top_k ?? 0 }];
    });
    return lists.sort((a, b) => b.size - a.size)[0]?.recorded ?? null;
  }

  async #firstToken(head: HeadIndex): Promise<Slice> {
    const n = this.#n;
    const last = this.meta.model.n_layers;
    const layers = this.meta.snapshot.layers.filter((layer) => layer >= last - LAST_LAYERS);
    const weights = new Float32Array(layers.length * n);
    for (const [row, layer] of layers.entries()) {
      const slice = await this.slice({ kind: "weights", layer, head, rows: [0, 1] });
      weights.set(arrayOf(slice, "weights").data as Float32Array, row * n);
    }
    const arrays = new Map([["weights", f32(weights, layers.length, n)]]);
    return { data: { layers, coded: true }, arrays };
  }

  #softmax(request: SliceRequest<"softmax">): Slice {
    const { mode = "as_is" } = request;
    const longest = this.#longestList(mode);
    if (longest === null) throw needsKernel("This softmax");
    const opened = softmaxOf(this.#replay(longest), request, this.meta);
    if (opened === null) throw needsKernel("That token's logit");
    return opened;
  }
}

const LAST_LAYERS = 6;
