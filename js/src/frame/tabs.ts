/** Tabs and the chosen view; one view lives at a time. */

import { h } from "../draw/dom";
import { listenToTabs, markTab, revealTab } from "../draw/roving";
import { isLong } from "../figures/long/levels";
import { explain } from "../protocol/failure";
import { itemAt, required } from "../protocol/required";
import type { Meta } from "../protocol/types";
import { listen } from "../state/listen";
import type { Selection } from "../state/selection";
import { VIEWS, viewNamed } from "../views";
import {
  type DrawView,
  laterParts,
  type OpenView,
  type ViewContext,
  type ViewHandle,
} from "../views/contract";
import { acceptCode, CODE, drawOf, whenProvided } from "../views/lazy-views";

/** Names of the views that a run has something for, in the order of their tabs. */
export const viewsOf = (meta: Meta): string[] =>
  Object.entries(VIEWS)
    .filter(
      ([name, { available }]) => available(meta) && meta.snapshot?.views.includes(name) !== false,
    )
    .map(([name]) => name);

/** The view shown for a requested one, which may not be available. */
export const viewOf = (meta: Meta, wish: string): string => {
  const names = viewsOf(meta);
  return names.includes(wish) ? wish : itemAt(names, 0);
};

/** Whether the code of every view of a run is here. */
export const isComplete = (meta: Meta): boolean =>
  (meta.profile === null || laterParts() !== null) &&
  viewsOf(meta).every((name) => drawOf(name, isLong(meta)) !== null);

export interface Tabs {
  /** The open view, and its exports. */
  open(): OpenView;
  /** Called whenever another view is opened. Returns the way to stop. */
  on(listener: () => void): () => void;
  dispose(): void;
}

export function tabbed(tabs: HTMLElement, panel: HTMLElement, stage: ViewContext): Tabs {
  const { source, state } = stage;
  const names = viewsOf(source.meta);
  const long = isLong(source.meta);
  const id = `aw-panel-${Math.random().toString(36).slice(2)}`;
  panel.id = id;
  const buttons = names.map((name, i) => {
    const { label } = viewNamed(name);
    return h(
      "button",
      {
        role: "tab",
        class: "aw-tab",
        "data-view": name,
        "aria-controls": id,
        title: `${label} (${i + 1})`,
      },
      label,
    );
  });
  tabs.replaceChildren(...buttons);
  const listeners = new Set<() => void>();
  let stopView: (() => void) | null = null;
  let drawn: ViewHandle | null = null;
  let shown = "";

  function open({ view }: Selection): void {
    const name = viewOf(source.meta, view);
    markTab(buttons, name);
    if (name === shown) return;
    revealTab(tabs, buttons, name);
    stopView?.();
    shown = name;
    const life = new AbortController();
    const element = h("div", { class: `aw-view-${name}`, "data-view": name });
    panel.replaceChildren(element);
    const { label } = viewNamed(name);
    panel.setAttribute("aria-label", label);
    const signal = AbortSignal.any([stage.signal, life.signal]);
    drawn = null;
    let mine: ViewHandle | null = null;
    const draw = (code: DrawView): void => {
      element.replaceChildren();
      try {
        mine = drawn = code(element, { ...stage, signal });
      } catch (error) {
        const { message, hint } = explain(error);
        stage.report(`The view "${label}" could not be drawn: ${message}`, hint);
      }
    };
    stopView = () => {
      life.abort();
      mine?.dispose();
    };
    const code = drawOf(name, long);
    if (code === null) waitFor(name, element, draw, signal);
    else draw(code);
    for (const listener of [...listeners]) listener();
  }

  /** Ask for a view's code, and say so in its place. */
  function waitFor(
    name: string,
    element: HTMLElement,
    draw: (code: DrawView) => void,
    signal: AbortSignal,
  ): void {
    const { label } = viewNamed(name);
    const busy = (waiting: boolean) => panel.setAttribute("aria-busy", String(waiting));
    const ready = () => {
      busy(false);
      draw(required(drawOf(name, long), `The code of "${name}"`));
      for (const listener of [...listeners]) listener();
    };
    const ask = (): void => {
      element.replaceChildren(h("p", { class: "aw-view-note" }, `Loading ${label} …`));
      busy(true);
      source
        .slice(CODE, { signal })
        .then(acceptCode)
        .catch((error: unknown) => {
          if (signal.aborted || drawOf(name, long) !== null) return;
          busy(false);
          const { message, hint } = explain(error);
          const again = h("button", { class: "aw-button aw-primary" }, "Try again");
          again.addEventListener("click", ask, { signal });
          const why = `${label} is not loaded. ${message} ${hint}`.trim();
          // In its place and not above: it is gone with the next try.
          stage.announce(why);
          element.replaceChildren(h("p", { class: "aw-view-note" }, `${why} `, again));
        });
    };
    const forget = whenProvided(ready);
    signal.addEventListener("abort", () => {
      forget();
      busy(false);
    });
    ask();
  }

  listenToTabs(tabs, buttons, (view) => state.set({ view }), stage.signal);
  state.on(["view"], open, stage.signal);
  open(state.get());
  return {
    open: () => ({ name: shown, drawn }),
    on: (listener) => listen(listeners, listener),
    dispose() {
      listeners.clear();
      stopView?.();
      panel.replaceChildren();
      tabs.replaceChildren();
    },
  };
}
