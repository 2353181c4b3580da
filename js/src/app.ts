/**
 * The widget's frame: ribbon, heads, tabs with the chosen view, bar, messages.
 *
 * Attributes that tests and styles may rely on:
 * - `.attn-widget[data-theme=light|dark][data-palette=host|own][data-aw-status]`: the root
 * - `data-aw-part`: ribbon, heads, focus, tabs, view, bar, error, live, keys, progress; inside them heatmap, flow,
 *   link (card at the pointer, with `data-aw-row`, `data-aw-column`: positions on the axes), pair, threshold, links,
 *   table, metric, layer, head, mean, special, words, scale, theme, legend, focus-keys, head-name, full-screen
 * - `data-layer`, `data-head` on the buttons of the head grid; `aria-pressed=true` on the chosen one
 * - `data-token` on ribbon buttons and on keys of the focus list: index of the (first) token
 * - `data-view` on tabs and on the view's panel
 * - `data-aw-value`: the number behind a text, with all its digits
 * Performance: a mark `aw:drawn` after every drawn matrix, its `detail` being `{ms, size, first, layer, head}`.
 */

import { h } from "./draw/dom";
import { onResize } from "./draw/gauge";
import { followTheme, ROOT_CLASS } from "./draw/theme";
import { createMatrix, type Stage } from "./matrix";
import { explain } from "./source/failure";
import type { Action, Drawn, Selection, Source, State } from "./types";
import { bar } from "./views/bar";
import { focus } from "./views/focus";
import { headGrid } from "./views/headgrid";
import { VIEWS } from "./views/index";
import { ribbon } from "./views/ribbon";

/** Below this width (px) the heads stand above the view. */
const COMPACT = 620;

const KEYS: readonly (readonly [string, string])[] = [
  ["Tab", "next part"],
  ["arrows", "move inside a part"],
  ["3 . 5", "in the heads: layer 3, head 5"],
  ["Enter", "in the matrix: pin a pair"],
  ["m", "in the matrix: strongest key of the row"],
  ["+  −  0", "in the matrix: zoom in, out, show all"],
  ["Ctrl + wheel", "zoom at the pointer"],
  ["Esc", "let go of a cell, a pair, a token"],
  ["?", "these keys"],
];

export interface Frame {
  readonly element: HTMLElement;
  /** Show a run; the views of an earlier one are disposed of. */
  show(source: Source, act: ((action: Action) => Promise<void>) | null): void;
  /** The model's own state in words: loading, running, closed. */
  status(status: string): void;
  report(message: string, hint?: string): void;
  clearReport(): void;
  dispose(): void;
}

export function createFrame(state: State): Frame {
  const abort = new AbortController();
  const { signal } = abort;
  const part = (name: string): HTMLElement =>
    h("div", { class: `aw-${name}`, "data-aw-part": name });
  const parts = {
    ribbon: part("ribbon"),
    heads: part("heads"),
    focus: part("focus"),
    bar: part("bar"),
  };
  const live = h("div", {
    class: "aw-live",
    role: "status",
    "aria-live": "polite",
    "data-aw-part": "live",
  });
  const error = h("div", {
    class: "aw-error",
    role: "alert",
    "data-aw-part": "error",
    hidden: true,
  });
  const progress = h("div", {
    class: "aw-progress",
    role: "status",
    "data-aw-part": "progress",
    hidden: true,
  });
  const tabs = h("div", {
    class: "aw-tabs",
    role: "tablist",
    "aria-label": "Views",
    "data-aw-part": "tabs",
  });
  const panel = h("div", { class: "aw-view", role: "tabpanel", "data-aw-part": "view" });
  const keys = h(
    "div",
    {
      class: "aw-keylist",
      role: "region",
      "aria-label": "Keys",
      "data-aw-part": "keys",
      hidden: true,
    },
    h(
      "dl",
      {},
      ...KEYS.map(([key, does]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, does))),
    ),
  );
  const root = h(
    "div",
    {
      class: ROOT_CLASS,
      role: "region",
      "aria-label": "Attention of one text",
      // Notebooks bind single letters and arrows: not while the reader is in here.
      "data-lm-suppress-shortcuts": "true",
    },
    error,
    progress,
    parts.ribbon,
    h(
      "div",
      { class: "aw-body" },
      h("div", { class: "aw-side" }, parts.heads, parts.focus),
      h("div", { class: "aw-main" }, tabs, panel),
    ),
    parts.bar,
    keys,
    live,
  );

  const applyTheme = followTheme(root, () => state.get().theme, signal);
  const stopTheme = state.on(["theme"], applyTheme);
  const applyHeight = (): void => {
    const { height } = state.get();
    panel.classList.toggle("aw-fixed", height !== null);
    panel.style.setProperty("--aw-view-height", height === null ? null : `${height}px`);
  };
  const stopHeight = state.on(["height"], applyHeight);
  applyHeight();
  onResize(root, (width) => root.classList.toggle("aw-compact", width < COMPACT), signal);

  const announce = (message: string): void => {
    live.textContent = message;
  };
  function report(message: string, hint = ""): void {
    const close = h("button", { type: "button", class: "aw-button", "aria-label": "Dismiss" }, "×");
    close.addEventListener("click", clearReport);
    error.replaceChildren(
      h("p", {}, h("strong", {}, message), hint === "" ? null : h("span", {}, ` ${hint}`)),
      close,
    );
    error.hidden = false;
  }
  function clearReport(): void {
    error.hidden = true;
    error.replaceChildren();
  }

  const actions = {
    toggleKeys: () => {
      keys.hidden = !keys.hidden;
      if (!keys.hidden) keys.scrollIntoView({ block: "nearest" });
    },
    toggleFullScreen: () => {
      const change = document.fullscreenElement
        ? document.exitFullscreen()
        : root.requestFullscreen();
      change.catch((reason: unknown) =>
        report("Full screen is not allowed here.", explain(reason).message),
      );
    },
  };
  root.addEventListener(
    "keydown",
    (event) => {
      const typing = (event.target as Element).matches("input:not([type=range]), textarea, select");
      if (event.key !== "?" || typing) return;
      actions.toggleKeys();
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );

  let stopRun: (() => void) | null = null;

  function show(source: Source, act: Stage["act"]): void {
    stopRun?.();
    const run = new AbortController();
    const busy = (waiting: boolean) => panel.setAttribute("aria-busy", String(waiting));
    const base = { source, state, act, report, announce, signal: run.signal };
    const stage: Stage = { ...base, matrix: createMatrix(source, state, { ...base, busy }) };
    const disposers = [
      ribbon(parts.ribbon, stage),
      headGrid(parts.heads, stage),
      focus(parts.focus, stage),
      bar(parts.bar, stage, actions),
      tabbed(tabs, panel, stage),
    ];
    const { truncated } = source.meta;
    if (truncated !== null) {
      parts.ribbon.append(
        h(
          "p",
          { class: "aw-notice", "data-aw-part": "truncated" },
          `Cut: the model reads ${truncated.limit} tokens, the text has ${truncated.length}.`,
        ),
      );
    }
    stopRun = () => {
      run.abort();
      for (const dispose of disposers) dispose();
      stopRun = null;
    };
  }

  return {
    element: root,
    show,
    status(status) {
      root.dataset.awStatus = status;
      const words: Record<string, string> = {
        loading: "Loading the model …",
        running: "Running the model …",
        closed: "Closed: the kernel has freed this run. What is on screen stays.",
      };
      progress.hidden = words[status] === undefined;
      progress.textContent = words[status] ?? "";
    },
    report,
    clearReport,
    dispose() {
      stopRun?.();
      stopTheme();
      stopHeight();
      abort.abort();
      root.remove();
    },
  };
}

/** Tabs and the chosen view; one view lives at a time. */
function tabbed(tabs: HTMLElement, panel: HTMLElement, stage: Stage): () => void {
  const { source, state } = stage;
  const names = Object.keys(VIEWS).filter((name) => VIEWS[name]!.available(source.meta));
  const buttons = names.map((name) =>
    h(
      "button",
      { type: "button", role: "tab", class: "aw-tab", "data-view": name },
      VIEWS[name]!.label,
    ),
  );
  tabs.replaceChildren(...buttons);
  let stopView: (() => void) | null = null;
  let drawn: Drawn | null = null;
  let shown = "";

  function open({ view }: Selection): void {
    const name = names.includes(view) ? view : names[0]!;
    buttons.forEach((button, i) => {
      button.setAttribute("aria-selected", String(names[i] === name));
      button.tabIndex = names[i] === name ? 0 : -1;
    });
    if (name === shown) return;
    stopView?.();
    shown = name;
    const life = new AbortController();
    const element = h("div", { class: `aw-view-${name}`, "data-view": name });
    panel.replaceChildren(element);
    panel.setAttribute("aria-label", VIEWS[name]!.label);
    const signal = AbortSignal.any([stage.signal, life.signal]);
    drawn = null;
    try {
      drawn = VIEWS[name]!.view(element, { ...stage, signal });
    } catch (error) {
      const { message, hint } = explain(error);
      stage.report(`The view "${VIEWS[name]!.label}" could not be drawn: ${message}`, hint);
    }
    stopView = () => {
      life.abort();
      drawn?.dispose();
    };
  }

  const move = (event: KeyboardEvent): void => {
    const index = buttons.indexOf(event.target as HTMLButtonElement);
    const shift = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (index < 0 || shift === undefined) return;
    const next = (index + shift + names.length) % names.length;
    state.set({ view: names[next]! });
    buttons[next]!.focus({ preventScroll: true });
    event.preventDefault();
    event.stopPropagation();
  };
  const click = (event: MouseEvent): void => {
    const button = (event.target as Element).closest<HTMLElement>(".aw-tab");
    if (button !== null) state.set({ view: button.dataset.view! });
  };
  tabs.addEventListener("keydown", move, { signal: stage.signal });
  tabs.addEventListener("click", click, { signal: stage.signal });
  const stop = state.on(["view"], open);
  open(state.get());
  return () => {
    stop();
    stopView?.();
    panel.replaceChildren();
    tabs.replaceChildren();
  };
}
