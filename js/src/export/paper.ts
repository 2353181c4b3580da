/** Printing from a widget: its code comes with the later views, and follows the browser's own printing from then on. */

import type { Stage } from "../figures/matrix";
import { acceptCode, CODE, laterPrinting, whenProvided } from "../views/lazy-views";
import type { Open } from "./files";
import type { Printing } from "./print";

/** Print what is open in `panel` whenever the page is printed; returns the way to print it alone. */
export function paper(
  root: HTMLElement,
  panel: HTMLElement,
  stage: Stage,
  open: () => Open,
  applyTheme: () => void,
): () => Promise<void> {
  const { source, signal } = stage;
  let made: Printing | null = null;
  const make = (): void => {
    made ??= laterPrinting()?.(root, panel, stage, open, applyTheme) ?? null;
  };
  const load = async (): Promise<void> => {
    if (laterPrinting() === null) await acceptCode(await source.slice(CODE, { signal }));
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
