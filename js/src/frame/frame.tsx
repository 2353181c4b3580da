/**
 * The widget's frame: run box, ribbon, heads, tabs with the chosen view, bar, messages.
 *
 * Attributes that tests and styles may rely on:
 * - `.attn-widget[data-theme=light|dark][data-palette=host|own][data-aw-status]`: the root; `aw-bare` without chrome
 * - `data-aw-part`: saved (what a saved page says of its errors), run, run-text, run-pair, run-button, pair-button, unpair-button, history-button, history, truncate,
 *   run-cut, progress, cancel, ribbon, tags, mask, unmask, unknown, sentence, heads, focus, tabs, view, missing, caption, bar, error,
 *   kernel, closed, truncated, skeleton, live, keys; inside them heatmap, flow,
 *   link (card at the pointer, with `data-aw-row`, `data-aw-column`: positions on the axes), pair, threshold, links,
 *   table, metric, part, source, tokens, layer, head, fold, legend, focus-keys, head-name, display; in the Display popover mean, special, words,
 *   carried-quantity, scale, theme, lines, threshold, keys-button, full-screen
 * - `data-layer`, `data-head` on the buttons of the head grid; `aria-pressed=true` on the chosen one
 * - `data-token` on ribbon buttons and on keys of the focus list: index of the (first) token; on ribbon buttons
 *   `data-aw-masked`, `data-aw-gathered`, `data-aw-pair`; around words `data-aw-pos`, `data-aw-entity`
 * - `data-view` on tabs and on the view's panel
 * - `data-aw-value`: the number behind a text, with all its digits
 * Performance: a mark `aw:drawn` after every drawn matrix, its `detail` being `{ms, size, first, layer, head}`.
 */

import { batch, type Signal, signal } from "@preact/signals-core";
import { followTheme, holdPalette, ROOT_CLASS } from "../draw/color/theme";
import { h } from "../draw/dom";
import { onResize } from "../draw/resize";
import { byTouch, pointByTouch } from "../draw/touch";
import { startLayerProgress } from "../figures/layer-progress";
import { explain, type Notice } from "../protocol/failure";
import type { Activity, Source } from "../protocol/types";
import type { Selection, State } from "../state/selection";
import { withHeight } from "../state/state";
import { mount, setter } from "../ui/mount";
import { type DisplayPart, ofOneRun, type ViewContext } from "../views/contract";
import type { RunButton } from "../views/feature";
import { createActions } from "./actions";
import { drawBeforePrinting } from "./before-printing";
import { keepHostKeysAway } from "./host-keys";
import { listenForKeys } from "./keys";
import { createFrameModel, Outline } from "./outline";
import { newMemory } from "./ribbon/corner";
import { drawRun } from "./run";
import { followScrolls, rememberPlace } from "./scroll-restore";

/** Below this width (px) the heads stand above the view. */
const COMPACT = { mouse: 620, touch: 900 } as const;
/** Up to this width (px), a phone's, they are folded below it; as in `style/phone.css`. */
const NARROW = 480;
/** Time for which the panel keeps its old height while a new run is drawn (ms), so that the page does not jump. */
const HOLD_MS = 600;

export interface Frame {
  readonly element: HTMLElement;
  /** Show a run with a changed selection; the views of an earlier one are disposed of, and do not draw the change. */
  show(
    source: Source,
    act: ViewContext["act"],
    buttons?: readonly RunButton[],
    select?: Partial<Selection>,
  ): void;
  /** Actions of the kernel for this widget. */
  activity(activity: Activity): void;
  /** Why the kernel gives no answer; null when it does. */
  readonly kernel: Signal<Notice | null>;
  report: ViewContext["report"];
  clearReport(): void;
  dispose(): void;
}

/** Keeps the panel as high as the selection, or the full screen, says; gives the state with that height. */
function followHeight(
  root: HTMLElement,
  panel: HTMLElement,
  state: State,
  until: AbortSignal,
): State {
  let fullHeight: number | null = null;
  const screened = withHeight(state, () => fullHeight);
  const applyHeight = (): void => {
    const { height } = screened.state.get();
    panel.classList.toggle("aw-fixed", height !== null);
    panel.style.setProperty("--aw-view-height", height === null ? null : `${height}px`);
  };
  /** In full screen the view has the height that the style sheet leaves it. */
  function measure(): void {
    fullHeight = document.fullscreenElement === root ? panel.clientHeight : null;
    screened.change();
  }
  screened.state.on(["height"], applyHeight, until);
  applyHeight();
  document.addEventListener("fullscreenchange", measure, { signal: until });
  window.addEventListener("resize", () => fullHeight !== null && measure(), { signal: until });
  return screened.state;
}

function followWidth(root: HTMLElement, narrow: Signal<boolean>, until: AbortSignal): void {
  const compact = byTouch() ? COMPACT.touch : COMPACT.mouse;
  onResize(
    root,
    (width) => {
      root.classList.toggle("aw-compact", width < compact);
      narrow.value = width > 0 && width <= NARROW;
    },
    until,
  );
}

export function createFrame(state: State): Frame {
  const abort = new AbortController();
  const { signal: until } = abort;
  const root = h("div", {
    class: ROOT_CLASS,
    role: "region",
    "aria-label": "Attention of one text",
  });
  const model = createFrameModel(root, state, report, until);
  const { run, activity, missing, keysOpen, narrow, messages, runBox, progress } = model;
  const display = signal<DisplayPart | null>(null);
  mount(root, () => Outline(model), until);

  const part = (name: string): HTMLElement =>
    root.querySelector(`:scope [data-aw-part="${name}"]`) as HTMLElement;
  const parts = {
    ribbon: part("ribbon"),
    bar: part("bar"),
    heads: part("heads"),
    focus: part("focus"),
    tabs: part("tabs"),
    panel: part("view"),
  };
  const { panel } = parts;

  const applyTheme = followTheme(root, () => state.get().theme, until);
  state.on(["theme"], applyTheme, until);
  drawBeforePrinting(root, until);
  const screened = followHeight(root, panel, state, until);
  state.on(
    ["chrome"],
    () => {
      const shown = run.peek();
      if (shown !== null) show(shown.source, shown.act, shown.buttons);
    },
    until,
  );
  followWidth(root, narrow, until);
  pointByTouch(root, until);

  const announce = setter(model.announced);
  function report(error: unknown, before = ""): void {
    const { message, hint } = explain(error);
    messages.report(before + message, hint, runBox.remedy(hint));
  }

  const actions = createActions(root, model, { report, announce });
  listenForKeys(root, actions, until);
  keepHostKeysAway(root, until);

  const memory = newMemory();
  const scrolled = followScrolls(root, until);
  let stopRun: ((next?: boolean) => void) | null = null;

  function show(
    source: Source,
    act: ViewContext["act"],
    buttons: readonly RunButton[] = [],
    select: Partial<Selection> = {},
  ): void {
    if (run.peek() !== null) holdPalette(root);
    const restoreFocus = rememberPlace(root, scrolled);
    panel.style.minHeight = `${panel.offsetHeight}px`;
    stopRun?.(true);
    state.set(select);
    // Its questions may have reached the next run by now.
    if (run.peek() !== null) messages.clearReport();
    memory.masked = null;
    const { meta } = source;
    const { chrome } = state.get();
    const single = ofOneRun(meta);
    const lifetime = new AbortController();
    const { signal } = lifetime;
    root.classList.toggle("aw-bare", !chrome);
    batch(() => {
      run.value = { source, act, buttons };
      missing.value = "";
      if (!chrome) keysOpen.value = false;
      runBox.show(meta, chrome && single && !meta.wordless ? act : null, buttons);
    });

    const context = {
      ...{ source, state: screened, act, report, announce, display },
      ...{ layerProgress: startLayerProgress(source, signal), signal, runSignal: signal },
    };
    const dispose = drawRun(parts, model, context, memory, actions);
    const hold = setTimeout(() => {
      panel.style.minHeight = "";
    }, HOLD_MS);
    stopRun = (next) => {
      lifetime.abort();
      clearTimeout(hold);
      dispose(next);
      stopRun = null;
    };
    restoreFocus(signal);
  }

  return {
    element: root,
    show,
    activity(next) {
      const before = activity.peek();
      const { status, error } = next;
      root.dataset.awStatus = status;
      if (before?.status === "running" && status !== "running") memory.masked = null;
      const act = run.peek()?.act ?? null;
      const cancel = act === null ? null : () => void act({ kind: "cancel" }).catch(report);
      batch(() => {
        activity.value = next;
        progress.show(next, cancel);
        runBox.activity(next);
        messages.closed.value = status === "closed";
        // An equal error gives no change of the trait: the status tells that it came again.
        const again = status === "error" && before?.status !== "error";
        if (error !== null && (again || !sameError(before?.error ?? null, error))) report(error);
        else if (error === null && before?.error) messages.clearReport();
      });
    },
    kernel: messages.kernel,
    report,
    clearReport: messages.clearReport,
    dispose() {
      stopRun?.();
      progress.dispose();
      runBox.dispose();
      abort.abort();
      root.remove();
    },
  };
}

const sameError = (a: Activity["error"], b: Activity["error"]): boolean =>
  a?.message === b?.message && a?.hint === b?.hint;
