/** Answers out of the kernel: one `slice` command of anywidget, cached, shared and split by rows. */

import { ByteCache } from "./cache";
import type { Invoke } from "./comm/invoke";
import { SliceFailure } from "./failure";
import { arrayFrom, arrayHeader, asBytes, cells, type Pack } from "./pack";
import { arrayOf, itemAt } from "./required";
import type {
  Action,
  HeadIndex,
  NdArray,
  Slice,
  SliceOptions,
  SliceRequest,
  Source,
  TypedArray,
  Window,
} from "./types";

export interface KernelOptions {
  readonly cacheBytes?: number;
  /** Replies above this are refused by the kernel. */
  readonly replyBytes?: number;
}

/** How long an answer is listened to that tells nothing, ms. */
const UNHEARD_MS = 1000;
/** Texts longer than this are drawn by tiles: the kernel's `LONG_TOKENS` (attn_widget/trace/base.py). */
export const LONG_TOKENS = 1024;

const DEFAULTS = {
  cacheBytes: 96e6,
  replyBytes: 8e6,
} as const;

/** Float32 columns per row of the kinds whose rows can be asked for piece by piece. */
function rowWidth(request: SliceRequest, n: number, headDim: number): number | null {
  if (["weights", "scores", "rollout", "mixing", "mixing_rollout"].includes(request.kind)) return n;
  if (request.kind === "qkv") return 3 * headDim;
  return null;
}

/** Rows and columns of a request, for the kinds that take them. */
export const windowIn = (
  request: SliceRequest,
): { readonly rows?: Window | null; readonly cols?: Window | null } => request as object;

/** Equal requests have equal keys, whatever the order of their fields. */
export function requestKey(request: SliceRequest): string {
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(request)
        .filter(([, value]) => value !== undefined && value !== null)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  );
}

const sizeOf = (slice: Slice): number =>
  [...slice.arrays.values()].reduce((sum, { data }) => sum + data.byteLength, 256);

/** The heads in the first paint, by the key of the request that asks for them. */
function* weightsIn({ meta, arrays }: Pack): Generator<[string, Slice]> {
  const keyOf = (layer: number, head: HeadIndex): string =>
    requestKey({ kind: "weights", layer, head });
  const sliceOf = (weights: NdArray, allowed: NdArray | undefined): Slice => ({
    data: {},
    arrays: new Map(Object.entries({ weights, ...(allowed && { allowed }) })),
  });
  const { selected, model } = meta;
  const weights = arrays.get("weights");
  if (selected !== null && weights !== undefined)
    yield [keyOf(selected.layer, selected.head), sliceOf(weights, arrays.get("allowed"))];
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
      yield [keyOf(layer, head), sliceOf(part(heads, layer * (model.n_heads + 1) + i), allowed)];
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

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
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

type Listener = (done: number, total: number) => void;

interface Pending {
  readonly listeners: Set<Listener>;
  readonly promise: Promise<Slice>;
  readonly drop: () => void;
  waiting: number;
}

export class KernelSource implements Source {
  readonly live = true;
  readonly meta;
  readonly arrays;
  readonly #invoke: Invoke;
  readonly #options: Required<KernelOptions>;
  readonly #cache: ByteCache<Slice>;
  readonly #pending = new Map<string, Pending>();

  constructor(pack: Pack, invoke: Invoke, options: KernelOptions = {}) {
    this.meta = pack.meta;
    this.arrays = pack.arrays;
    this.#invoke = invoke;
    // Tiles of a long text are kept as images besides: half of the room for their numbers.
    const cacheBytes = pack.meta.tokens.text.length > LONG_TOKENS ? 48e6 : DEFAULTS.cacheBytes;
    this.#options = { ...DEFAULTS, cacheBytes, ...options };
    this.#cache = new ByteCache(this.#options.cacheBytes);
    for (const [of, slice] of weightsIn(pack)) this.#cache.set(of, slice, sizeOf(slice));
  }

  slice(request: SliceRequest, { signal, progress }: SliceOptions = {}): Promise<Slice> {
    const key = requestKey(request);
    const cached = this.#cache.get(key);
    if (cached !== undefined) return Promise.resolve(cached);
    const pending = this.#pending.get(key) ?? this.#start(key, request);
    pending.waiting++;
    if (progress !== undefined) pending.listeners.add(progress);
    if (signal === undefined) return pending.promise;
    return this.#until(pending, signal);
  }

  #start(key: string, request: SliceRequest): Pending {
    const abort = new AbortController();
    const settle = () => {
      if (this.#pending.get(key) === pending) this.#pending.delete(key);
    };
    const listeners = new Set<Listener>();
    const notify: Listener = (done, total) => {
      for (const listener of listeners) listener(done, total);
    };
    const promise = this.#ask(request, abort.signal, notify)
      .then((slice) => {
        this.#cache.set(key, slice, sizeOf(slice));
        return slice;
      })
      .finally(settle);
    // A question that everybody has left may fail unheard.
    promise.catch(() => undefined);
    const drop = () => {
      settle();
      abort.abort();
    };
    const pending: Pending = { promise, drop, listeners, waiting: 0 };
    this.#pending.set(key, pending);
    return pending;
  }

  /** The shared answer for one of its askers, who may leave; with the last one the question is dropped. */
  #until(pending: Pending, signal: AbortSignal): Promise<Slice> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        pending.waiting--;
        if (pending.waiting <= 0) pending.drop();
        reject(new DOMException("This request was canceled.", "AbortError"));
      };
      if (signal.aborted) return leave();
      signal.addEventListener("abort", leave, { once: true });
      pending.promise
        .then(resolve, reject)
        .finally(() => signal.removeEventListener("abort", leave));
    });
  }

  async #ask(request: SliceRequest, signal: AbortSignal, notify: Listener): Promise<Slice> {
    const n = this.meta.tokens.text.length;
    const width = windowIn(request).rows ? null : rowWidth(request, n, this.meta.model.head_dim);
    if (width === null) return this.#send(request, signal, notify);
    // A row may carry a mask of one byte a cell besides its float32.
    const rows = Math.max(1, Math.floor(this.#options.replyBytes / (width * 5)));
    if (rows >= n) return this.#send(request, signal, notify);
    const pieces: Slice[] = [];
    for (let start = 0; start < n; start += rows) {
      const piece = { ...request, rows: [start, Math.min(start + rows, n)] as const };
      pieces.push(await this.#send(piece as SliceRequest, signal, notify));
    }
    return joinRows(pieces);
  }

  /** Asks again as long as the kernel says that it is about to be able to answer, or at work on it. */
  async #send(request: SliceRequest, signal: AbortSignal, notify: Listener): Promise<Slice> {
    let working = false;
    for (;;) {
      const answer = await this.#invoke("slice", request, { signal });
      const wait = laterOf(answer[0]);
      if (wait === null) return readReply(...answer);
      if (wait.progress) {
        if (!working) signal.addEventListener("abort", () => this.#cancel(request), { once: true });
        working = true;
        notify(...wait.progress);
      }
      await pause(wait.ms, signal);
    }
  }

  /** Tell the kernel to leave work whose answer is not awaited. */
  #cancel(request: SliceRequest): void {
    const signal = AbortSignal.timeout(UNHEARD_MS);
    this.#invoke("slice", { kind: "drop", of: request }, { signal }).catch(() => undefined);
  }

  /** Start something in the kernel; the answer comes by the widget's traits. */
  async act(action: Action): Promise<void> {
    readReply(...(await this.#invoke("act", action, { signal: new AbortController().signal })));
  }
}
