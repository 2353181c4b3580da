/**
 * Keeps the notebook's keyboard shortcuts away from the widget: `x` masks a token and must not cut the cell.
 *
 * Lumino asks for `data-lm-suppress-shortcuts` from the event's target upwards and takes the first element that
 * matches a shortcut's selector. `:focus` in those selectors matches the focused element itself, so the attribute
 * on the root comes too late: it has to be on the focused element.
 */

const MARK = "data-lm-suppress-shortcuts";

/** Saving changes no cell, and the browser would open a dialog of its own. */
const isSave = (event: KeyboardEvent): boolean =>
  (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key === "s";

const mark = (target: EventTarget | null): void => {
  if (target instanceof Element) target.setAttribute(MARK, "true");
};

/** Mark whatever has or gets the focus inside `root`; only "save" still reaches the notebook. */
export function keepHostKeysAway(root: HTMLElement, signal: AbortSignal): void {
  mark(root);
  root.addEventListener("focusin", (event) => mark(event.target), { capture: true, signal });
  // The window gets a key before the document does, where Lumino listens.
  window.addEventListener(
    "keydown",
    (event) => {
      const { target } = event;
      if (!(target instanceof Element) || !root.contains(target)) return;
      if (!isSave(event)) return mark(target);
      for (let at: Element | null = target; at !== null && root.contains(at); at = at.parentElement)
        at.removeAttribute(MARK);
      // Not a microtask: those run before the document gets the key.
      setTimeout(() => {
        mark(root);
        mark(target);
      });
    },
    { capture: true, signal },
  );
}
