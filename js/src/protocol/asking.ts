/** Questions to a source, of which only the latest matters: its answer, the reason where there is none, and whether it takes long. */

import { batch, type ReadonlySignal, signal } from "@preact/signals-core";
import { explain, isAbort, isLasting, type Notice } from "./failure";

/** An answer that comes sooner needs no word about waiting, ms. */
export const QUIET_MS = 120;

/** A function that gives the signal of a new request; it aborts the one before. All end with `until`. */
export function latest(until: AbortSignal): () => AbortSignal {
  let request = new AbortController();
  return () => {
    request.abort();
    request = new AbortController();
    return AbortSignal.any([request.signal, until]);
  };
}

export interface Failure extends Notice {
  /** True if asking again would fail again. */
  readonly lasting: boolean;
}

export interface Asking<T> {
  readonly answer: ReadonlySignal<T | null>;
  readonly failure: ReadonlySignal<Failure | null>;
  /** True if the answer takes longer than a reader notices. */
  readonly busy: ReadonlySignal<boolean>;
  /** Put a question; one that is not answered yet is aborted. An earlier answer stays until the next one comes. */
  ask(question: (signal: AbortSignal) => Promise<T>): Promise<void>;
}

/** `report` receives failures, for the strip of errors. */
export function asking<T>(
  until: AbortSignal,
  report: (error: unknown) => void = () => undefined,
): Asking<T> {
  const answer = signal<T | null>(null);
  const failure = signal<Failure | null>(null);
  const busy = signal(false);
  const next = latest(until);
  return {
    answer,
    failure,
    busy,
    async ask(question) {
      const ended = next();
      const late = setTimeout(() => {
        if (!ended.aborted) busy.value = true;
      }, QUIET_MS);
      try {
        const found = await question(ended);
        if (ended.aborted) return;
        batch(() => {
          answer.value = found;
          failure.value = null;
        });
      } catch (error) {
        if (isAbort(error) || ended.aborted) return;
        report(error);
        failure.value = { ...explain(error), lasting: isLasting(error) };
      } finally {
        clearTimeout(late);
        if (!ended.aborted) busy.value = false;
      }
    },
  };
}
