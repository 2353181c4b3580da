/**
 * A finger does what a mouse does: where it taps or drags it points, as hovering does, and what it pointed at stays
 * until the next touch. Where hovering shows a card, a second tap on the same place clicks, and so does a long press.
 */

import { onAbort } from "../protocol/abort";

/** A press this long (ms) that stays within some px. */
const LONG_MS = 500;
const SLACK = 10;

/** True if the main pointer of this machine cannot hover. */
export const byTouch = (): boolean => window.matchMedia?.("(hover: none)").matches ?? false;

const isTouch = (event: Event): boolean => (event as PointerEvent).pointerType === "touch";

/** True for the second click of a mouse's double click, which would take back what the first has chosen; a second tap is meant. */
export const isSecondClick = (event: MouseEvent): boolean => event.detail > 1 && !isTouch(event);

const LEAVING = ["pointerleave", "pointerout"] as const;

/** Let every part of `root` that listens to a hovering pointer listen to fingers, too. */
export function pointByTouch(root: HTMLElement, signal: AbortSignal): void {
  /** Leave events that the lifted finger kept back. */
  let left: { readonly target: EventTarget; readonly type: string }[] = [];
  for (const type of LEAVING) {
    root.addEventListener(
      type,
      (event) => {
        if (!isTouch(event) || event.target === null) return;
        event.stopImmediatePropagation();
        left.push({ target: event.target, type });
      },
      { signal, capture: true },
    );
  }
  const leave = (there: readonly EventTarget[]): void => {
    const gone = left.filter(({ target }) => !there.includes(target));
    left = [];
    for (const { target, type } of gone) {
      target.dispatchEvent(new PointerEvent(type, { bubbles: type === "pointerout" }));
    }
  };
  // The finger scrolls the page: it pointed at nothing.
  root.addEventListener("pointercancel", () => setTimeout(leave, 0, []), { signal });
  document.addEventListener(
    "pointerdown",
    (event) => {
      const there = event.composedPath();
      leave(there);
      if (!isTouch(event) || !there.includes(root)) return;
      const { clientX, clientY } = event;
      const move = new PointerEvent("pointermove", { bubbles: true, clientX, clientY });
      there[0]?.dispatchEvent(move);
    },
    { signal, capture: true },
  );
}

/**
 * Let the first tap on a place of `element` only point at it. `placeOf` names a place; null where a tap clicks at once,
 * and a long press does what a click with Ctrl does.
 */
export function tapTwice(
  element: Element,
  placeOf: (event: MouseEvent) => string | null,
  signal: AbortSignal,
): void {
  let last: string | null = null;
  let touched = false;
  let start: PointerEvent | null = null;
  let pressing: ReturnType<typeof setTimeout> | undefined;
  /** A long press has clicked already: what comes with lifting the finger is no other click. */
  let done = false;
  const listen = (type: string, listener: (event: MouseEvent) => void): void =>
    element.addEventListener(type, listener as EventListener, { signal, capture: true });

  listen("pointerdown", (event) => {
    touched = isTouch(event);
    clearTimeout(pressing);
    done = false;
    if (!touched) return;
    start = event as PointerEvent;
    const { clientX, clientY, target } = event;
    pressing = setTimeout(() => {
      const place = placeOf(event);
      const click = { bubbles: true, cancelable: true, clientX, clientY, ctrlKey: place === null };
      // The touched element may have been redrawn since.
      const root = element.getRootNode() as Document | ShadowRoot;
      const under = root.elementFromPoint?.(clientX, clientY) ?? target;
      under?.dispatchEvent(new MouseEvent("click", click));
      done = true;
    }, LONG_MS);
  });
  listen("pointermove", ({ clientX, clientY }) => {
    if (start === null) return;
    if (Math.hypot(clientX - start.clientX, clientY - start.clientY) > SLACK)
      clearTimeout(pressing);
  });
  for (const type of ["pointerup", "pointercancel"]) listen(type, () => clearTimeout(pressing));
  listen("contextmenu", (event) => touched && event.preventDefault());
  listen("click", (event) => {
    if (!touched || !event.isTrusted) return;
    const place = placeOf(event);
    const again = place === last;
    last = place;
    if (!done && (place === null || again)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  });
  document.addEventListener(
    "pointerdown",
    (event) => {
      if (!event.composedPath().includes(element)) last = null;
    },
    { signal, capture: true },
  );
  onAbort(signal, () => clearTimeout(pressing));
}
