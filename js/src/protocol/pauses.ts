/** Long computations on the page's main thread, in parts between which clicks, keys and frames are handled. */

/** Script before a pause, ms: half of a frame. */
const BUDGET_MS = 8;
/** The same while the page is still being read, when every pause goes to the parser and the first picture waits. */
const OPENING_MS = 50;

export type Pause = () => Promise<void> | undefined;

/**
 * `await pause()` between small parts: at once within the budget, else after what else the page has to do. Throws when
 * the result is no longer wanted.
 */
export function pauses(signal?: AbortSignal, now: () => number = () => performance.now()): Pause {
  const budget = () => (globalThis.document?.readyState === "loading" ? OPENING_MS : BUDGET_MS);
  let end = now() + budget();
  return () => {
    if (now() < end) return undefined;
    return turn().then(() => {
      signal?.throwIfAborted();
      end = now() + budget();
    });
  };
}

/** Not a frame: a page in the background has none. Not a timer: a nested one waits for 4 ms. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
