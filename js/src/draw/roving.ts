/** A row of buttons that Tab enters once: arrows, Home and End move inside. */

import { itemAt } from "../protocol/required";
import { consume, step } from "./dom";

/** Give `buttons` one Tab stop among them, at `entry` (default: the first). */
export function setEntry(buttons: readonly HTMLElement[], entry = 0): void {
  buttons.forEach((button, i) => {
    button.tabIndex = i === entry ? 0 : -1;
  });
}

/** Keys in a list of buttons: arrows, Home and End move the focus among those that it holds at the time. */
export function moveFocus(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const buttons = buttonsOf(event.currentTarget as Element);
  const index = buttons.indexOf(event.target as HTMLElement);
  const next = index < 0 ? null : step(event.key, index, buttons.length);
  if (next === null) return;
  setEntry(buttons, next);
  itemAt(buttons, next).focus();
  consume(event);
}

const buttonsOf = (list: Element | null): HTMLElement[] => [
  ...(list?.querySelectorAll<HTMLElement>("button") ?? []),
];

/** Called before a list is drawn again. Afterwards the result gives the focus to the button of the same token, else to the first. */
export function keepFocus(list: () => Element | null): () => void {
  const before = list();
  const active = (before?.getRootNode() as Document | ShadowRoot | undefined)?.activeElement;
  const focused = active != null && before?.contains(active) === true;
  const token = focused ? (active as HTMLElement).dataset.token : null;
  return () => {
    const buttons = buttonsOf(list());
    const same = buttons.findIndex((button) => button.dataset.token === token);
    setEntry(buttons, Math.max(same, 0));
    if (focused) buttons[Math.max(same, 0)]?.focus({ preventScroll: true });
  };
}
