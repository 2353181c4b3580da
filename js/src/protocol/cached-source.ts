/** Base of all sources: answers are cached, equal requests share one answer, and it is given up with its last asker. */

import { onAbort } from "./abort";
import { bytesOf } from "./arrays";
import { ByteCache } from "./cache";
import { type AnyRequest, type Arrays, requestKey, type Slice, type SliceOptions } from "./slice";
import type { Meta, Precision, SliceRequest, Source } from "./types";

export const canceled = (): DOMException =>
  new DOMException("This request was canceled.", "AbortError");

type Listener = (done: number, total: number) => void;

interface Pending {
  readonly listeners: Set<Listener>;
  readonly promise: Promise<Slice>;
  readonly drop: () => void;
  waiting: number;
}

export abstract class CachedSource implements Source {
  abstract readonly live: boolean;
  abstract readonly meta: Meta;
  abstract readonly arrays: Arrays;
  readonly precision?: Precision;
  readonly #cache: ByteCache<Slice>;
  readonly #pending = new Map<string, Pending>();

  protected constructor(cacheBytes: number) {
    this.#cache = new ByteCache(cacheBytes);
  }

  /** The answer, as it is found for all askers together. */
  protected abstract answer(request: SliceRequest, options: Required<SliceOptions>): Promise<Slice>;

  /** True while somebody waits for an answer. */
  protected get isAsked(): boolean {
    return this.#pending.size > 0;
  }

  /** Keep an answer that came unasked. */
  protected keep(request: AnyRequest, slice: Slice): void {
    this.#cache.set(requestKey(request), slice, bytesOf(slice));
  }

  ask(request: SliceRequest, { signal, progress }: SliceOptions = {}): Promise<Slice> {
    const key = requestKey(request);
    const cached = this.#cache.get(key);
    if (cached !== undefined) return Promise.resolve(cached);
    const pending = this.#pending.get(key) ?? this.#start(key, request);
    pending.waiting++;
    if (progress !== undefined) pending.listeners.add(progress);
    return signal === undefined ? pending.promise : this.#until(pending, signal);
  }

  #start(key: string, request: SliceRequest): Pending {
    const abort = new AbortController();
    const settle = () => {
      if (this.#pending.get(key) === pending) this.#pending.delete(key);
    };
    const listeners = new Set<Listener>();
    const progress: Listener = (done, total) => {
      for (const listener of listeners) listener(done, total);
    };
    const promise = this.answer(request, { signal: abort.signal, progress })
      .then((slice) => {
        this.keep(request, slice);
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
        reject(canceled());
      };
      if (signal.aborted) return leave();
      const stay = onAbort(signal, leave);
      pending.promise.then(resolve, reject).finally(stay);
    });
  }
}
