/** Listeners of a store. */

import { onAbort } from "../protocol/abort";

/** Add `listener` until `signal` is aborted; returns a function that stops it sooner. */
export function listen<L>(listeners: Set<L>, listener: L, signal?: AbortSignal): () => void {
  const stop = (): void => {
    listeners.delete(listener);
  };
  if (signal?.aborted) return stop;
  listeners.add(listener);
  onAbort(signal, stop);
  return stop;
}
