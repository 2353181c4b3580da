/** A row of buttons, or of tabs, that Tab enters once: arrows, Home and End move inside. */

import { itemAt } from "../protocol/required";
import { consume, step } from "./dom";
import { scrollAcross } from "./scroll";

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

/** Choose the `data-view` of a tab by a click, by arrows that go round, Home and End. */
export function listenToTabs(
  tabs: HTMLElement,
  buttons: readonly HTMLElement[],
  choose: (name: string) => void,
  signal: AbortSignal,
): void {
  const click = ({ target }: Event): void => {
    const name = (target as Element).closest<HTMLElement>(".aw-tab")?.dataset.view;
    if (name !== undefined) choose(name);
  };
  const move = (event: KeyboardEvent): void => {
    const index = buttons.indexOf(event.target as HTMLElement);
    const last = buttons.length - 1;
    const next = {
      ArrowLeft: index === 0 ? last : index - 1,
      ArrowRight: index === last ? 0 : index + 1,
      Home: 0,
      End: last,
    }[event.key];
    if (index < 0 || next === undefined) return;
    const button = itemAt(buttons, next);
    choose(button.dataset.view as string);
    button.focus({ preventScroll: true });
    consume(event);
  };
  tabs.addEventListener("click", click, { signal });
  tabs.addEventListener("keydown", move, { signal });
}

/** Mark the chosen tab, the only one that Tab enters. */
export function markTab(buttons: readonly HTMLElement[], name: string): void {
  for (const button of buttons) {
    const chosen = button.dataset.view === name;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
  }
}

/** Scroll the tabs, and never the page, to the chosen one in the next frame. */
export function revealTab(tabs: HTMLElement, buttons: readonly HTMLElement[], name: string): void {
  requestAnimationFrame(() => {
    const button = buttons.find(({ dataset }) => dataset.view === name);
    if (button === undefined) return;
    const { offsetLeft, offsetWidth } = button;
    scrollAcross(tabs, offsetLeft, offsetLeft + offsetWidth);
  });
}
