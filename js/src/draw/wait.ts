/** Deferred work: what is asked for only when it comes into sight, or when the page has nothing else to do. */

import { onAbort } from "../protocol/abort";

const unseen = new Map<Element, () => void>();

/** Call once when `element` comes into sight: what takes seconds is not asked for unseen. */
export function whenSeen(element: Element, call: () => void, signal: AbortSignal): void {
  if (typeof IntersectionObserver === "undefined") {
    call();
    return;
  }
  const observer = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) unseen.get(element)?.();
  });
  const forget = (): void => {
    observer.disconnect();
    unseen.delete(element);
  };
  unseen.set(element, () => {
    forget();
    call();
  });
  observer.observe(element);
  onAbort(signal, forget);
}

/** Draw what is not in sight within `root`, too: paper has no scrolling. Whether there was anything. */
export function showUnseen(root: Element): boolean {
  const within = [...unseen].filter(([element]) => root.contains(element));
  for (const [, call] of within) call();
  return within.length > 0;
}

const IDLE_MS = 2000;

/** Call `act` when the page has nothing else to do. */
export function whenIdle(act: () => void): void {
  // Safari 16 has no idle callback.
  if ("requestIdleCallback" in window) window.requestIdleCallback(act, { timeout: IDLE_MS });
  else setTimeout(act, IDLE_MS / 10);
}
