/** Printing from a widget: its code comes with the later views, and follows the browser's own printing from then on. */

import type { OpenView, Printing, ViewContext } from "../views/contract";
import { askCode, lazyPrinting, whenProvided } from "../views/lazy-views";

/** Print what is open in `panel` whenever the page is printed; returns the way to print it alone. */
export function paper(
  root: HTMLElement,
  panel: HTMLElement,
  stage: ViewContext,
  open: () => OpenView,
  applyTheme: () => void,
): () => Promise<void> {
  const { source, signal } = stage;
  let made: Printing | null = null;
  const make = (): void => {
    made ??= lazyPrinting()?.(root, panel, stage, open, applyTheme) ?? null;
  };
  const load = async (): Promise<void> => {
    await askCode(source, signal);
    make();
  };
  make();
  if (made === null) {
    signal.addEventListener("abort", whenProvided(make), { once: true });
    // A preview is there as long as it takes.
    const media = window.matchMedia?.("print");
    media?.addEventListener("change", () => load().catch(() => undefined), { signal });
  }
  return async () => {
    await load();
    await made?.print();
  };
}
