/** Keep drawing in step with the size of an element, at most once a frame. */

import { onAbort } from "../protocol/abort";

interface Watched {
  readonly element: Element;
  readonly measure: (width: number) => void;
}

const watched = new Set<Watched>();

/** Call `draw` when `element` has a size and whenever it changes. */
export function onResize(
  element: Element,
  draw: (width: number) => void,
  signal: AbortSignal,
): void {
  let seen = -1;
  const measure = (exact: number): void => {
    const width = Math.floor(exact);
    if (!(width > 0) || width === seen || signal.aborted) return;
    seen = width;
    draw(width);
  };
  const observer = new ResizeObserver((entries) => {
    const last = entries.at(-1);
    if (last !== undefined) measure(last.contentRect.width);
  });
  const entry = { element, measure };
  observer.observe(element);
  watched.add(entry);
  onAbort(signal, () => {
    observer.disconnect();
    watched.delete(entry);
  });
}

/** Draw what has another size within `root` now, without waiting for a frame: a page that prints has none. */
export function measureNow(root: Element): void {
  for (const { element, measure } of [...watched]) {
    if (!root.contains(element)) continue;
    const { paddingLeft, paddingRight } = getComputedStyle(element);
    measure(element.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight));
  }
}
