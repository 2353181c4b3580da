/** The keys that work everywhere in the widget. */

import { consume } from "../draw/dom";

/** True for a target that takes letters as text. */
const isField = (target: EventTarget | null): boolean =>
  target instanceof Element && target.matches("input:not([type=range]), textarea, select");

interface GlobalKeys {
  toggleKeys(): void;
  /** Close the list; false if it is not open. */
  closeKeys(): boolean;
  /** Open the view at this place among the tabs, if there is one. */
  openView(index: number): void;
  /** False where a run has one part. */
  nextPart(): boolean;
}

/**
 * `?`, `c` and the digits, after the parts that have another use for a key; Escape before them, as it clears what they
 * show also where the list hides it.
 */
export function listenForKeys(
  root: HTMLElement,
  { toggleKeys, closeKeys, openView, nextPart }: GlobalKeys,
  signal: AbortSignal,
): void {
  const press = (event: KeyboardEvent): void => {
    if (isField(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "?") toggleKeys();
    else if (/^[1-9]$/.test(event.key)) openView(Number(event.key) - 1);
    else if (event.key !== "c" || !nextPart()) return;
    consume(event);
  };
  const close = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && !isField(event.target) && closeKeys()) consume(event);
  };
  root.addEventListener("keydown", press, { signal });
  root.addEventListener("keydown", close, { capture: true, signal });
}
