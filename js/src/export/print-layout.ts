/** Printing from a widget: its code comes with the later views, and follows the browser's own printing from then on. */

import { type LazyCode, type OpenView, type ViewContext, withLazyCode } from "../views/contract";
import { askCode } from "../views/lazy-views";

type Printing = LazyCode["printing"];

/** The code of printing, where a page has it from the start: paper does not wait. */
let here: Printing | null = null;

export function printWith(printing: Printing): void {
  here = printing;
}

/** Print what is open in `panel` whenever the page is printed; returns a function that prints it alone. */
export function printLayout(
  root: HTMLElement,
  panel: HTMLElement,
  context: ViewContext,
  open: () => OpenView,
  applyTheme: () => void,
): () => Promise<void> {
  const { source, signal } = context;
  let layout: ReturnType<Printing> | null = null;
  const load = (): Promise<void> => askCode(source, signal);
  const lay = (printing: Printing): void => {
    layout = printing(root, panel, context, open, applyTheme);
  };
  if (here !== null) lay(here);
  else withLazyCode(({ printing }) => lay(printing), signal);
  if (layout === null) {
    // A preview is there as long as it takes.
    const media = window.matchMedia?.("print");
    media?.addEventListener("change", () => load().catch(() => undefined), { signal });
  }
  return async () => {
    await load();
    await layout?.print();
  };
}
