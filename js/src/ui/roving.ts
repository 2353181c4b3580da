/** Keyboard in a list or grid of which Tab enters one part. */

import { consume } from "../draw/dom";

/** Keep a key from the host, and focus the cell of `grid` that Tab enters; the grid must be drawn with it. */
export function followKey(event: Event, grid: Element): void {
  consume(event);
  grid.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
}
