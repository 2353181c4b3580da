/** Calls at the end of a signal, with one listener for all of them. */

const ends = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Call `end` once `signal` is aborted; the result takes that back. However much ends with a signal, it has one listener:
 * Node warns of more than ten, and every part of a view ends with the view.
 */
export function onAbort(signal: AbortSignal | undefined, end: () => void): () => void {
  if (signal === undefined) return () => undefined;
  let all = ends.get(signal);
  if (all === undefined) {
    all = new Set();
    ends.set(signal, all);
    signal.addEventListener("abort", () => endAll(signal), { once: true });
  }
  all.add(end);
  return () => void ends.get(signal)?.delete(end);
}

function endAll(signal: AbortSignal): void {
  for (const end of ends.get(signal) ?? []) {
    // As listeners of their own: one that fails leaves the others.
    try {
      end();
    } catch (error) {
      reportError(error);
    }
  }
  ends.delete(signal);
}
