/** Answers out of a saved page: recorded ones, and those that follow from its matrices and lists. */

import { CachedSource } from "../cached-source";
import { spread } from "../cells";
import { needsKernel, SliceFailure } from "../failure";
import { LONG_TOKENS, type Part } from "../meta";
import { PackError, readPack } from "../pack";
import {
  type Answers,
  type AnyRequest,
  type Arrays,
  answerWith,
  type HeadIndex,
  type Knows,
  type Slice,
  type SliceOptions,
} from "../slice";
import { ATTENTION } from "../slices/attention";
import { HAS_TENSORS, TENSORS } from "../slices/inside";
import { LONG, type LongFields } from "../slices/long";
import { MIXING } from "../slices/mixing";
import { HAS_PREDICTIONS, PREDICTIONS, shorterList } from "../slices/predictions";
import { drillSlice, sentencesSlice } from "../slices/sentences";
import type { SliceRequest, SliceRequests } from "../types";
import { inflate } from "./inflate";
import { NAMES, nameOf } from "./names";
import { precisionOf } from "./precision";
import { type Chunks, recordedArrays, type SavedMeta, SavedRun } from "./run";

/** Computed answers that are kept, bytes: 60 heads of 512 tokens; of a long text 48 tiles or the levels of as many heads. */
const CACHE_BYTES = { short: 64e6, long: 24e6 } as const;

const ANSWERS: Answers<SavedRun, SliceRequests> = {
  ...{ ...ATTENTION, ...LONG, ...MIXING, ...PREDICTIONS, ...TENSORS },
  /** For a head without recorded vectors: only the scale, from which `q · k` follows. */
  async qkv(run, { layer }) {
    const { code, layers, scaling } = run.meta.snapshot;
    const own = scaling[layers.indexOf(layer)] ?? null;
    const biased = (await run.layerArrays(layer)).has("bias");
    if (own === null || code !== "qk" || biased) throw needsKernel(NAMES.qkv);
    return { data: { scaling: own }, arrays: new Map() };
  },
  sentences: (run, request, options) =>
    sentencesSlice(run, run.sentences(request.aggregation), request, options),
  drill: (run, request, options) =>
    drillSlice(run, run.sentences(request.aggregation), request, options),
};

const hasLevels = (run: SavedRun, { quantity = "weights", layer, head }: LongFields["pyramid"]) =>
  quantity === "rollout" || run.has(quantity, layer, head);

const HAS: Knows<SavedRun, SliceRequests> = {
  weights: (run, { layer, head }) => run.has("weights", layer, head),
  /** True if every head is in the page. */
  pair_weights(run) {
    const { snapshot, model } = run.meta;
    const whole =
      snapshot.layers.length === model.n_layers && snapshot.heads.length === model.n_heads;
    return whole && run.has("weights", 0, 0);
  },
  scores: (run, { layer, head }) => run.has("scores", layer, head),
  ...{ pyramid: hasLevels, tile: hasLevels, links: hasLevels },
  ...{ ...HAS_PREDICTIONS, ...HAS_TENSORS },
};

interface Opened {
  readonly chunks: Chunks;
  readonly parts: Map<Part, Promise<SavedSource>>;
}

/** The first paint with what a page leaves out because it follows: predictions that begin a recorded list, empty cells of thumbnails. */
function restored(meta: SavedMeta, arrays: Arrays): [SavedMeta, Arrays] {
  const whole = new Map(arrays);
  const [thumbs, cells] = [arrays.get("thumbs"), arrays.get("thumb_cells")];
  if (thumbs !== undefined && cells !== undefined) {
    const [layers = 0, heads = 0, stored = 0] = thumbs.shape;
    const [side = 0] = cells.shape;
    const data = new Uint8Array(layers * heads * side * side);
    for (let head = 0; head < layers * heads; head++) {
      const values = thumbs.data.subarray(head * stored, (head + 1) * stored);
      const into = data.subarray(head * side * side, (head + 1) * side * side);
      spread(values, cells.data, side, into);
    }
    whole.set("thumbs", { data, shape: [layers, heads, side, side] });
  }
  const { predictions } = meta;
  if (predictions === null || arrays.has("prediction_ids")) return [meta, whole];
  const list = meta.recorded.find(
    ({ request, data }) => request.kind === "predictions" && data.mode === predictions.mode,
  );
  if (list === undefined) throw new PackError("The page lacks its predictions.");
  const longest = { data: list.data, arrays: recordedArrays(list, arrays) };
  for (const [name, array] of shorterList(longest, predictions.top_k).arrays)
    whole.set(name, array);
  const vocabulary = list.data.vocabulary as NonNullable<SavedMeta["predictions"]>["vocabulary"];
  return [{ ...meta, predictions: { ...predictions, vocabulary } }, whole];
}

export class SavedSource extends CachedSource {
  readonly live = false;
  override readonly precision;
  readonly #run: SavedRun;
  /** The run's chunks, and its parts that have been opened. */
  readonly #opened: Opened;

  /** Read the chunk `paint`; those of matrices are inflated on first use. */
  static async open(chunks: Chunks): Promise<SavedSource> {
    const parts = new Map<Part, Promise<SavedSource>>();
    const source = await SavedSource.#read(chunks, { chunks, parts });
    if (source.meta.part) parts.set(source.meta.part, Promise.resolve(source));
    return source;
  }

  static async #read(chunks: Chunks, opened: Opened): Promise<SavedSource> {
    const text = await chunks("paint");
    if (text === null) throw new PackError("This page holds no run.");
    const { meta, arrays } = readPack(await inflate(text));
    const { snapshot, recorded } = meta as Partial<SavedMeta>;
    if (snapshot === undefined || recorded === undefined) {
      throw new PackError("This run was not packed for a saved page.");
    }
    const source = new SavedSource(
      ...restored({ ...meta, snapshot, recorded }, arrays),
      chunks,
      opened,
    );
    const { layer, head } = snapshot.selection as { layer: number; head: HeadIndex };
    if (snapshot.code !== null) source.#run.prefetch(layer, head);
    return source;
  }

  private constructor(meta: SavedMeta, arrays: Arrays, chunks: Chunks, opened: Opened) {
    const long = meta.snapshot.code !== null && meta.tokens.text.length > LONG_TOKENS;
    super(CACHE_BYTES[long ? "long" : "short"]);
    this.precision = precisionOf(meta.snapshot);
    const ask = (request: AnyRequest) => this.ask(request as SliceRequest);
    this.#opened = opened;
    this.#run = new SavedRun(meta, arrays, chunks, long, ask);
  }

  get meta(): SavedMeta {
    return this.#run.meta;
  }

  get arrays(): Arrays {
    return this.#run.arrays;
  }

  /** Chunks of a part that the page does not open on begin with its name. */
  part(part: Part): Promise<SavedSource> {
    const { chunks, parts } = this.#opened;
    const cached = parts.get(part);
    if (cached !== undefined) return cached;
    const opened = SavedSource.#read((name) => chunks(`${part}:${name}`), this.#opened);
    parts.set(part, opened);
    opened.catch(() => parts.delete(part));
    return opened;
  }

  has(request: SliceRequest): boolean {
    const recorded = this.#run.recorded(request);
    if (recorded !== null) return recorded.data.refused === undefined;
    const has = HAS[request.kind] as ((run: SavedRun, asked: SliceRequest) => boolean) | undefined;
    return has?.(this.#run, request) ?? false;
  }

  override ask(request: SliceRequest, options?: SliceOptions): Promise<Slice> {
    const recorded = this.#run.recorded(request);
    if (recorded === null) return super.ask(request, options);
    const refused = recorded.data.refused as { error: string; hint: string } | undefined;
    return refused === undefined
      ? Promise.resolve(recorded)
      : Promise.reject(new SliceFailure(refused.error, refused.hint, true));
  }

  protected async answer(request: SliceRequest, options: SliceOptions): Promise<Slice> {
    return answerWith(ANSWERS, this.#run, request, options, () =>
      needsKernel(nameOf(request.kind)),
    );
  }
}
