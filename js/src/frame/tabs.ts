/** The views of a run, of which one is open at a time. */

import { h } from "../draw/dom";
import { onAbort } from "../protocol/abort";
import { latest } from "../protocol/asking";
import { messageOf } from "../protocol/failure";
import { isLong } from "../protocol/meta";
import { itemAt, required } from "../protocol/required";
import type { Meta, Source } from "../protocol/types";
import { drawOf, labelOf, VIEWS, viewNamed } from "../views";
import {
  type DrawView,
  lazyCode,
  type OpenView,
  type ViewContext,
  type ViewHandle,
  withLazyCode,
} from "../views/contract";
import { askCode } from "../views/lazy-views";

/** The name that tells whether a page has a view: what explains predictions is saved with the decoder's. */
const savedAs = ({ keys }: Meta, name: string): string =>
  keys && name === "why" ? "predictions" : name;

/** Names of the views that a run has something for, in the order of their tabs. */
export const viewsOf = (meta: Meta): string[] =>
  Object.entries(VIEWS)
    .filter(
      ([name, { available }]) =>
        available(meta) && meta.snapshot?.views.includes(savedAs(meta, name)) !== false,
    )
    .map(([name]) => name);

/** The view shown for a requested one, which may not be available. */
export const viewOf = (meta: Meta, wish: string): string => {
  const names = viewsOf(meta);
  return names.includes(wish) ? wish : itemAt(names, 0);
};

/** True if the code of every view of a run has been loaded. */
export const isComplete = (meta: Meta): boolean =>
  viewsOf(meta).every((name) => drawOf(name, isLong(meta)) !== null);

/** On cross-attention the part that answers for a view of what is written; null where this one does. */
function decoderOf(source: Source, view: string): Promise<Source> | null {
  const { keys, parts } = source.meta;
  const { written } = viewNamed(view) as { readonly written?: true };
  if (!written || !keys || !parts?.includes("decoder") || source.part === undefined) return null;
  return source.part("decoder").catch((error: unknown) => {
    // The view says what this part itself lacks.
    console.debug("attn-widget:", error);
    return source;
  });
}

/** Draws the selected view into `panel` until the run ends. */
export function openViews(
  panel: HTMLElement,
  context: ViewContext,
): { open(): OpenView; dispose(): void } {
  const { source, state, signal: until } = context;
  const long = isLong(source.meta);
  let name = "";
  let drawn: ViewHandle | null = null;
  const nextView = latest(until);
  const setBusy = (is: boolean) => panel.setAttribute("aria-busy", String(is));

  function close(): void {
    drawn?.dispose();
    drawn = null;
  }

  function open(): void {
    const next = viewOf(source.meta, state.get().view);
    if (next === name) return;
    const signal = nextView();
    close();
    name = next;
    const label = labelOf(name, source.meta);
    const element = h("div", { class: `aw-view-${name}`, "data-view": name });
    panel.replaceChildren(element);
    panel.setAttribute("aria-label", label);
    let from = source;
    const draw = (code: DrawView): void => {
      element.replaceChildren();
      try {
        drawn = code(element, { ...context, source: from, shown: source, signal });
      } catch (error) {
        context.report(error, `The view "${label}" could not be drawn: `);
      }
    };
    const decoder = decoderOf(source, next);
    if (decoder === null) start();
    else {
      element.replaceChildren(h("p", { class: "aw-view-note" }, `Loading ${label} …`));
      setBusy(true);
      void decoder.then((found) => {
        from = found;
        if (signal.aborted) return;
        setBusy(false);
        start();
      });
    }

    function start(): void {
      const code = drawOf(next, long);
      if (code !== null) {
        draw(code);
        return;
      }
      void ask();
      withLazyCode(() => {
        setBusy(false);
        draw(required(drawOf(next, long), `The code of "${next}"`));
      }, signal);
      onAbort(signal, () => setBusy(false));
    }
    /** Ask for the view's code; its place says so. */
    async function ask(): Promise<void> {
      element.replaceChildren(h("p", { class: "aw-view-note" }, `Loading ${label} …`));
      setBusy(true);
      try {
        await askCode(source, signal);
      } catch (error) {
        if (signal.aborted || lazyCode.peek() !== null) return;
        setBusy(false);
        const again = h("button", { class: "aw-button aw-primary" }, "Try again");
        again.onclick = () => void ask();
        const why = `${label} is not loaded. ${messageOf(error)}`;
        // In its place and not above: it is gone with the next try.
        context.announce(why);
        element.replaceChildren(h("p", { class: "aw-view-note" }, `${why} `, again));
      }
    }
  }

  state.on(["view"], open, until);
  open();
  return {
    open: () => ({ name, drawn }),
    dispose() {
      close();
      panel.replaceChildren();
    },
  };
}
