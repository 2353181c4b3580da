/** Listeners of a store. */

/** Add `listener` until `signal` is aborted; returns the way to stop sooner. */
export function listen<L>(listeners: Set<L>, listener: L, signal?: AbortSignal): () => void {
  const stop = (): void => {
    listeners.delete(listener);
  };
  if (signal?.aborted) return stop;
  listeners.add(listener);
  signal?.addEventListener("abort", stop, { once: true });
  return stop;
}
