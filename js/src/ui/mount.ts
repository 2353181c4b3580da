/** Draws a view from signals: what it reads decides when it is drawn again. */

import { effect, type ReadonlySignal, signal, untracked } from "@preact/signals-core";
import { type ComponentChild, render } from "preact";
import { onResize } from "../draw/resize";

/** Run `follow` whenever a signal that it reads changes, until `until` is aborted. */
export function watch(follow: () => void, until: AbortSignal): void {
  if (until.aborted) return;
  until.addEventListener("abort", effect(follow), { once: true });
}

/** Draw `view` into `host` whenever a signal that it reads changes; `drawn` runs after each drawing. */
export function mount(
  host: Element,
  view: () => ComponentChild,
  until: AbortSignal,
  drawn: () => void = () => undefined,
): void {
  watch(() => {
    render(view(), host);
    untracked(drawn);
  }, until);
}

/** A signal of what `read` gives, read again whenever `subscribe` calls back. */
export function signalOf<T>(
  read: () => T,
  subscribe: (changed: () => void) => void,
): ReadonlySignal<T> {
  const now = signal(read());
  subscribe(() => {
    now.value = read();
  });
  return now;
}

/** Width of an element, px; `initial` where nothing has been laid out yet. */
export function widthOf(
  element: Element,
  initial: number,
  until: AbortSignal,
): ReadonlySignal<number> {
  const now = signal(element.clientWidth || initial);
  const set = (width: number): void => {
    now.value = width;
  };
  onResize(element, set, until);
  return now;
}
