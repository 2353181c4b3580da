/** A row of buttons that Tab enters once: arrows, Home and End move inside. */

import { itemAt } from "../protocol/required";
import { consume, step } from "./dom";

/** Give `buttons` one Tab stop among them, at `entry` (default: the first). */
export function setEntry(buttons: readonly HTMLElement[], entry = 0): void {
  buttons.forEach((button, i) => {
    button.tabIndex = i === entry ? 0 : -1;
  });
}

/** Let arrows move the focus between the buttons that `list` holds at the time. */
export function rove(list: HTMLElement, signal: AbortSignal): void {
  list.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const buttons = [...list.querySelectorAll<HTMLElement>("button")];
      const index = buttons.indexOf(event.target as HTMLElement);
      const next = index < 0 ? null : step(event.key, index, buttons.length);
      if (next === null) return;
      setEntry(buttons, next);
      itemAt(buttons, next).focus();
      consume(event);
    },
    { signal },
  );
}

/** Fill `list` anew; a button that had the focus gives it to the one of the same token, else to the first. */
export function refill(list: HTMLElement, items: readonly HTMLElement[]): void {
  const active = (list.getRootNode() as Document | ShadowRoot).activeElement ?? null;
  const held = list.contains(active) ? (active as HTMLElement).dataset.token : undefined;
  const focused = list.contains(active);
  list.replaceChildren(...items);
  const buttons = [...list.querySelectorAll<HTMLElement>("button")];
  const same = buttons.findIndex((button) => button.dataset.token === held);
  setEntry(buttons, focused ? Math.max(same, 0) : 0);
  if (focused) buttons[Math.max(same, 0)]?.focus({ preventScroll: true });
}
