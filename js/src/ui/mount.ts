/** Draws a view from signals: what it reads decides when it is drawn again. */

import { effect, type ReadonlySignal, type Signal, signal, untracked } from "@preact/signals-core";
import { type ComponentChild, render } from "preact";
import type { Mode } from "../draw/color/ramp";
import { modeOf, onTheme } from "../draw/color/theme";
import { onResize } from "../draw/resize";
import { onAbort } from "../protocol/abort";
import type { Selection, State } from "../state/selection";

/** Run `follow` whenever a signal that it reads changes, until `until` is aborted. */
export function watch(follow: () => void, until: AbortSignal): void {
  if (until.aborted) return;
  onAbort(until, effect(follow));
}

/** Call `listener` with every later value of a signal, until `until` is aborted. */
export function onChange<T>(
  of: ReadonlySignal<T>,
  listener: (value: T) => void,
  until: AbortSignal,
): void {
  let first = true;
  watch(() => {
    const { value } = of;
    if (!first) untracked(() => listener(value));
    first = false;
  }, until);
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

/** A signal of the colors that a widget is drawn in. */
export const modeSignal = (element: Element, until: AbortSignal): ReadonlySignal<Mode> =>
  signalOf(
    () => modeOf(element),
    (changed) => onTheme(element, changed, until),
  );

/** A signal of the selection, read again when one of `keys` changes. */
export const selectionOf = (
  state: State,
  keys: readonly (keyof Selection)[],
  until: AbortSignal,
): ReadonlySignal<Selection> => signalOf(state.get, (changed) => state.on(keys, changed, until));

/** Width of an element, px; `initial` where nothing has been laid out yet. */
export function widthOf(
  element: Element,
  initial: number,
  until: AbortSignal,
): ReadonlySignal<number> {
  const now = signal(element.clientWidth || initial);
  onResize(element, setter(now), until);
  return now;
}

/** A listener that sets a signal to what it is called with. */
export const setter =
  <T>(to: Signal<T>) =>
  (value: T): void => {
    to.value = value;
  };

/** A listener that sets a signal to `value`. */
export const setTo =
  <T>(to: Signal<T>, value: T) =>
  (): void => {
    to.value = value;
  };
