/** A small non-modal dialog inside the widget: opens at an anchor, stays within its host. */

import { onAbort } from "../protocol/abort";
import { consume } from "./dom";

const GAP = 6;
const MARGIN = 8;

export interface Popover {
  /** Open at `anchor`, or close when it is already open there. */
  toggle(anchor: HTMLElement | SVGElement, label: string, content: Node): void;
  close(): void;
  readonly anchor: HTMLElement | SVGElement | null;
  dispose(): void;
}

/**
 * One popover at a time inside `host`, which must be wide enough to hold it and becomes its positioned
 * ancestor. Escape, a click elsewhere and leaving it with Tab close it; focus returns to the anchor,
 * except where the reader has put it elsewhere.
 */
export function createPopover(host: HTMLElement): Popover {
  host.classList.add("aw-popover-host");
  // Two widgets on a page have a module each: a counter would give both the same id.
  const id = `aw-popover-${Math.random().toString(36).slice(2)}`;
  let panel: HTMLElement | null = null;
  let anchor: HTMLElement | SVGElement | null = null;
  let stop: AbortController | null = null;
  let hostMinHeight = "";

  function close(returnFocus = false): void {
    if (panel === null || anchor === null) return;
    const from = anchor;
    stop?.abort();
    panel.remove();
    host.style.minHeight = hostMinHeight;
    from.setAttribute("aria-expanded", "false");
    from.removeAttribute("aria-controls");
    panel = anchor = stop = null;
    if (returnFocus) from.focus({ preventScroll: true });
  }

  function open(at: HTMLElement | SVGElement, label: string, content: Node): void {
    close();
    anchor = at;
    stop = new AbortController();
    const { signal } = stop;
    panel = document.createElement("div");
    panel.className = "aw-popover";
    panel.id = id;
    panel.tabIndex = -1;
    panel.setAttribute("role", "dialog");
    panel.setAttribute("aria-label", label);
    const dismiss = document.createElement("button");
    dismiss.type = "button";
    dismiss.className = "aw-popover-close";
    dismiss.setAttribute("aria-label", "Close");
    dismiss.textContent = "×";
    dismiss.addEventListener("click", () => close(true), { signal });
    panel.append(content, dismiss);
    host.append(panel);
    at.setAttribute("aria-expanded", "true");
    at.setAttribute("aria-controls", id);
    hostMinHeight = host.style.minHeight;
    const opened = panel;
    place(opened, at, host);
    // Its content may come later, and larger.
    const changed = new MutationObserver(() => place(opened, at, host));
    changed.observe(content, { childList: true, subtree: true, attributes: true });
    onAbort(signal, () => changed.disconnect());
    panel.focus({ preventScroll: true });

    const inside = (event: Event): boolean =>
      event.composedPath().some((node) => node === panel || node === at);
    document.addEventListener("pointerdown", (event) => inside(event) || close(), { signal });
    const onEscape = (event: Event): void => {
      if (!(event instanceof KeyboardEvent) || event.key !== "Escape") return;
      // Notebooks take Escape as "leave the cell".
      consume(event);
      close(true);
    };
    panel.addEventListener("keydown", onEscape, { signal });
    at.addEventListener("keydown", onEscape, { signal });
    panel.addEventListener(
      "focusout",
      (event) => {
        const next = event.relatedTarget;
        if (next instanceof Node && !panel?.contains(next) && !at.contains(next)) close();
      },
      { signal },
    );
  }

  return {
    get anchor() {
      return anchor;
    },
    toggle(at, label, content) {
      if (anchor === at) close(true);
      else open(at, label, content);
    },
    close,
    dispose() {
      close();
      host.classList.remove("aw-popover-host");
    },
  };
}

/** Below the anchor, else above it, shifted to stay inside `host`, which grows when it is too low. */
function place(panel: HTMLElement, anchor: Element, host: HTMLElement): void {
  const outer = host.getBoundingClientRect();
  const from = anchor.getBoundingClientRect();
  const width = panel.offsetWidth;
  const height = panel.offsetHeight;
  const left = Math.max(MARGIN, Math.min(from.left - outer.left, outer.width - width - MARGIN));
  const needed = height + 2 * MARGIN;
  if (needed > outer.height) host.style.minHeight = `${needed}px`;
  const bottom = Math.max(outer.height, needed) - MARGIN;
  const below = from.bottom - outer.top + GAP;
  const above = from.top - outer.top - GAP - height;
  const top =
    below + height <= bottom ? below : above >= MARGIN ? above : Math.max(MARGIN, bottom - height);
  panel.style.left = `${Math.round(left)}px`;
  panel.style.top = `${Math.round(top)}px`;
}
