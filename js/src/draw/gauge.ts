/** Keep drawing in step with the size of an element, at most once a frame. */

/** Call `draw` when `element` has a size and whenever it changes; returns a way to ask for a redraw. */
export function onResize(
  element: Element,
  draw: (width: number) => void,
  signal: AbortSignal,
): void {
  let seen = -1;
  const observer = new ResizeObserver((entries) => {
    const width = Math.floor(entries.at(-1)!.contentRect.width);
    if (width === 0 || width === seen || signal.aborted) return;
    seen = width;
    draw(width);
  });
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
}
