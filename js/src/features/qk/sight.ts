/** Keeps an element in sight while the widget around it is still being drawn, until the reader does something. */

import { onAbort } from "../../protocol/abort";

const ACTS = ["pointerdown", "keydown", "wheel", "touchmove"] as const;

export function createSight(until: AbortSignal): (element: HTMLElement) => void {
  let kept: HTMLElement | null = null;
  const show = (): void => kept?.scrollIntoView?.({ block: "nearest" });
  const observer = new ResizeObserver(show);
  const release = (): void => {
    kept = null;
    observer.disconnect();
  };
  for (const act of ACTS)
    window.addEventListener(act, release, { capture: true, passive: true, signal: until });
  onAbort(until, release);
  return (element) => {
    release();
    kept = element;
    // It moves when something grows above it.
    observer.observe(element.closest(".attn-widget") ?? element);
    show();
  };
}
