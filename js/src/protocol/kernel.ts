/** Answers out of the kernel: one `slice` command of anywidget; long answers are asked for by rows. */

import { onAbort } from "./abort";
import { CachedSource } from "./cached-source";
import type { Invoke } from "./comm/invoke";
import { SliceFailure } from "./failure";
import { keysOf, LONG_TOKENS, type Part } from "./meta";
import { arrayFrom, arrayHeader, asBytes, cells, type Pack, readPack } from "./pack";
import { arrayOf, itemAt } from "./required";
import type {
  Action,
  HeadIndex,
  NdArray,
  Rows,
  Slice,
  SliceOptions,
  SliceRequest,
  TypedArray,
} from "./types";

/** A run of the widget's kernel besides the widget's own: the other one of a comparison, both, a text of a profile, or a part. */
type Address = "b" | "both" | { readonly example: number } | { readonly part: Part };

interface KernelOptions {
  /** The run that is asked about; by default the widget's own. */
  readonly address?: Address;
  readonly cacheBytes?: number;
  /** Replies above this are refused by the kernel. */
  readonly replyBytes?: number;
}

/** Time for which a reply that tells nothing is awaited, ms. */
const UNHEARD_MS = 1000;
/** Answers that are kept. Tiles of a long text are kept as images besides: half of the room for their numbers. */
const CACHE_BYTES = { short: 96e6, long: 48e6 } as const;
const REPLY_BYTES = 8e6;

/** Float32 columns per row of the kinds whose rows can be asked for piece by piece. */
function rowWidth(request: SliceRequest, n: number, headDim: number): number | null {
  if (["weights", "scores", "rollout", "mixing", "mixing_rollout"].includes(request.kind)) return n;
  if (request.kind === "qkv") return 3 * headDim;
  return null;
}

/** The heads in the first paint, by the request that asks for them. */
function* weightsIn({ meta, arrays }: Pack): Generator<[SliceRequest, Slice]> {
  const ask = (layer: number, head: HeadIndex): SliceRequest => ({ kind: "weights", layer, head });
  const sliceOf = (weights: NdArray, allowed: NdArray | undefined): Slice => ({
    data: {},
    arrays: new Map(Object.entries({ weights, ...(allowed && { allowed }) })),
  });
  const { selected, model } = meta;
  const weights = arrays.get("weights");
  if (selected !== null && weights !== undefined)
    yield [ask(selected.layer, selected.head), sliceOf(weights, arrays.get("allowed"))];
  const heads = arrays.get("heads");
  if (heads === undefined) return;
  const masks = arrays.get("masks");
  const shape = heads.shape.slice(-2);
  const part = ({ data }: NdArray, i: number): NdArray => {
    const size = cells(shape);
    return { data: data.subarray(i * size, (i + 1) * size), shape };
  };
  for (let layer = 0; layer < model.n_layers; layer++) {
    const mask = masks && part(masks, layer);
    const allowed = mask?.data.includes(0) ? mask : undefined;
    for (let i = 0; i <= model.n_heads; i++) {
      const head = i < model.n_heads ? i : "mean";
      yield [ask(layer, head), sliceOf(part(heads, layer * (model.n_heads + 1) + i), allowed)];
    }
  }
}

/** Read a reply; throws a `SliceFailure` for a refusal or for anything malformed. */
export function readReply(
  reply: unknown,
  buffers: readonly (ArrayBuffer | ArrayBufferView)[],
): Slice {
  const { ok, data, arrays, error, hint } = (reply ?? {}) as Record<string, unknown>;
  if (ok !== true) {
    throw new SliceFailure(
      typeof error === "string" ? error : "The kernel sent an unexpected answer.",
      typeof hint === "string" ? hint : "",
    );
  }
  const headers = (Array.isArray(arrays) ? arrays : []).map(arrayHeader);
  if (headers.length !== buffers.length) {
    throw new SliceFailure(`The kernel sent ${buffers.length} of ${headers.length} arrays.`);
  }
  return {
    data: (data ?? {}) as Record<string, unknown>,
    arrays: new Map(
      headers.map((head, i) => [head.name, arrayFrom(head, asBytes(itemAt(buffers, i)))]),
    ),
  };
}

/** After how long to ask again, and how far the kernel is; null where the reply is an answer. */
function laterOf(
  reply: unknown,
): { ms: number; progress: readonly [number, number] | null } | null {
  const { ok, later, progress } = (reply ?? {}) as Record<string, unknown>;
  if (ok !== false || typeof later !== "number" || later <= 0) return null;
  const far = Array.isArray(progress) && progress.every(Number.isFinite) ? progress : null;
  return { ms: later, progress: far === null ? null : [Number(far[0]), Number(far[1])] };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      stay();
      resolve();
    }, ms);
    const stay = onAbort(signal, stop);
  });
}

/** Put pieces of consecutive rows back together. */
export function joinRows(pieces: readonly Slice[]): Slice {
  const first = itemAt(pieces, 0);
  if (pieces.length === 1) return first;
  const arrays = new Map<string, NdArray>();
  for (const [name, { data, shape }] of first.arrays) {
    const parts = pieces.map((piece) => arrayOf(piece, name));
    const joinedShape = [
      parts.reduce((sum, part) => sum + itemAt(part.shape, 0), 0),
      ...shape.slice(1),
    ];
    const joined = new (data.constructor as new (length: number) => TypedArray)(cells(joinedShape));
    let offset = 0;
    for (const part of parts) {
      joined.set(part.data, offset);
      offset += part.data.length;
    }
    arrays.set(name, { data: joined, shape: joinedShape });
  }
  return { data: first.data, arrays };
}

export class KernelSource extends CachedSource {
  readonly live = true;
  readonly meta;
  readonly arrays;
  readonly #invoke: Invoke;
  readonly #replyBytes: number;
  /** Fields of every message. */
  readonly #envelope: { readonly source?: Address };
  readonly #parts = new Map<Part, Promise<KernelSource>>();

  constructor(pack: Pack, invoke: Invoke, { address, cacheBytes, replyBytes }: KernelOptions = {}) {
    const long = pack.meta.tokens.text.length > LONG_TOKENS;
    super(cacheBytes ?? CACHE_BYTES[long ? "long" : "short"]);
    this.meta = pack.meta;
    this.arrays = pack.arrays;
    this.#invoke = invoke;
    this.#replyBytes = replyBytes ?? REPLY_BYTES;
    // A request that is pending when another part is chosen stays about this one.
    const { part, parts } = pack.meta;
    const of = address ?? (part && parts && parts.length > 1 ? { part } : undefined);
    this.#envelope = of === undefined ? {} : { source: of };
    for (const [request, slice] of weightsIn(pack)) this.keep(request, slice);
    const decoder = pack.arrays.get("decoder")?.data;
    if (decoder) this.#parts.set("decoder", Promise.resolve(this.#partIn(decoder, "decoder")));
  }

  protected async answer(request: SliceRequest, options: Required<SliceOptions>): Promise<Slice> {
    const n = this.meta.tokens.text.length;
    const { rows: asked } = request as Rows;
    const width = asked
      ? null
      : rowWidth(request, keysOf(this.meta).text.length, this.meta.model.head_dim);
    if (width === null) return this.#send(request, options);
    // A row may carry a mask of one byte a cell besides its float32.
    const rows = Math.max(1, Math.floor(this.#replyBytes / (width * 5)));
    if (rows >= n) return this.#send(request, options);
    const pieces: Slice[] = [];
    for (let start = 0; start < n; start += rows) {
      const piece = { ...request, rows: [start, Math.min(start + rows, n)] as const };
      pieces.push(await this.#send(piece as SliceRequest, options));
    }
    return joinRows(pieces);
  }

  /** Asks again as long as the kernel says that it is about to be able to answer, or at work on it. */
  async #send(request: SliceRequest, { signal, progress }: Required<SliceOptions>): Promise<Slice> {
    let working = false;
    for (;;) {
      const answer = await this.#invoke("slice", { ...this.#envelope, ...request }, { signal });
      const wait = laterOf(answer[0]);
      if (wait === null) return readReply(...answer);
      if (wait.progress) {
        if (!working) onAbort(signal, () => this.#cancel(request));
        working = true;
        progress(...wait.progress);
      }
      await pause(wait.ms, signal);
    }
  }

  /** Tell the kernel to leave work whose answer is not awaited. */
  #cancel(request: SliceRequest): void {
    const signal = AbortSignal.timeout(UNHEARD_MS);
    const drop = { ...this.#envelope, kind: "drop", of: request };
    this.#invoke("slice", drop, { signal }).catch(() => undefined);
  }

  part(part: Part): Promise<KernelSource> {
    const cached = this.#parts.get(part);
    if (cached !== undefined) return cached;
    const opened = this.#openPart(part);
    this.#parts.set(part, opened);
    opened.catch(() => this.#parts.delete(part));
    return opened;
  }

  async #openPart(part: Part): Promise<KernelSource> {
    const { signal } = new AbortController();
    const reply = readReply(
      ...(await this.#invoke("slice", { kind: "part_paint", part }, { signal })),
    );
    return this.#partIn(arrayOf(reply, "paint").data, part);
  }

  #partIn(paint: TypedArray, part: Part): KernelSource {
    return new KernelSource(readPack(paint), this.#invoke, { address: { part } });
  }

  /** Start something in the kernel; the answer comes by the widget's traits. */
  async act(action: Action): Promise<void> {
    readReply(...(await this.#invoke("act", action, { signal: new AbortController().signal })));
  }
}
