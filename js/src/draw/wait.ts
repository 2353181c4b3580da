/** Parts of a view that load: nothing at first, then a note, then the part or its error; and deferred work. */

import { explain, isAbort, isLasting } from "../protocol/failure";
import { h } from "./dom";

/** An answer that comes sooner needs no word about waiting. */
export const QUIET_MS = 120;

export interface Wait<T> {
  readonly waiting: string;
  readonly ask: () => Promise<T>;
  /** Put the answer into the element. */
  readonly fill: (answer: T) => void;
  readonly signal: AbortSignal;
}

/** Fill `element` with the answer of `ask`; a failure is shown in its place, with a button to retry where that can help. */
export async function fillWhenAnswered<T>(element: HTMLElement, wait: Wait<T>): Promise<void> {
  const { waiting, ask, fill, signal } = wait;
  const late = setTimeout(() => {
    element.setAttribute("aria-busy", "true");
    element.replaceChildren(h("p", { class: "aw-heads-waiting", role: "status" }, waiting));
  }, QUIET_MS);
  try {
    const answer = await ask();
    if (signal.aborted) return;
    element.replaceChildren();
    element.classList.remove("is-absent");
    fill(answer);
  } catch (error) {
    if (isAbort(error) || signal.aborted) return;
    const { message, hint } = explain(error);
    const again = h("button", { class: "aw-heads-again" }, "Ask again");
    again.addEventListener("click", () => void fillWhenAnswered(element, wait), { signal });
    element.classList.add("is-absent");
    element.replaceChildren(
      h(
        "div",
        { class: "aw-heads-absent", role: "status" },
        h("p", {}, message),
        hint === "" ? null : h("p", { class: "aw-hint" }, hint),
        isLasting(error) ? null : again,
      ),
    );
  } finally {
    clearTimeout(late);
    element.removeAttribute("aria-busy");
  }
}

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
  signal.addEventListener("abort", forget, { once: true });
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
