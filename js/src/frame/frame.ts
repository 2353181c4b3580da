/**
 * The widget's frame: run box, ribbon, heads, tabs with the chosen view, bar, messages.
 *
 * Attributes that tests and styles may rely on:
 * - `.attn-widget[data-theme=light|dark][data-palette=host|own][data-aw-status]`: the root; `aw-bare` without chrome
 * - `data-aw-part`: saved (what a saved page says of its errors), run, run-text, run-pair, run-button, pair-button, unpair-button, history-button, history, truncate,
 *   run-cut, progress, cancel, ribbon, tags, mask, unmask, unknown, sentence, heads, focus, tabs, view, missing, caption, bar, error,
 *   kernel, closed, truncated, skeleton, live, keys; inside them heatmap, flow,
 *   link (card at the pointer, with `data-aw-row`, `data-aw-column`: positions on the axes), pair, threshold, links,
 *   table, metric, layer, head, mean, special, words, scale, theme, legend, focus-keys, head-name, full-screen
 * - `data-layer`, `data-head` on the buttons of the head grid; `aria-pressed=true` on the chosen one
 * - `data-token` on ribbon buttons and on keys of the focus list: index of the (first) token; on ribbon buttons
 *   `data-aw-masked`, `data-aw-gathered`, `data-aw-pair`; around words `data-aw-pos`, `data-aw-entity`
 * - `data-view` on tabs and on the view's panel
 * - `data-aw-value`: the number behind a text, with all its digits
 * Performance: a mark `aw:drawn` after every drawn matrix, its `detail` being `{ms, size, first, layer, head}`.
 */

import { followTheme, ROOT_CLASS } from "../draw/color/theme";
import { h } from "../draw/dom";
import { onResize } from "../draw/resize";
import { byTouch, pointByTouch } from "../draw/touch";
import { saveMenu } from "../export/menu";
import { paper } from "../export/paper";
import { startFilling } from "../figures/filling";
import { isLong } from "../figures/long/levels";
import { createMatrix, type MatrixStore } from "../figures/matrix";
import { placeName } from "../figures/names";
import { measureOf } from "../figures/quantities";
import { explain, type Notice } from "../protocol/failure";
import type { Activity, Progress, Source } from "../protocol/types";
import type { State } from "../state/selection";
import { withHeight } from "../state/state";
import { laterParts, type ViewContext, withParts } from "../views/contract";
import { bar } from "./bar";
import { caption } from "./caption";
import { focus } from "./focus";
import { headGrid } from "./head-grid/head-grid";
import { keepHostKeysAway } from "./host-keys";
import { keyList, listenForKeys } from "./keys";
import { createMessages, lacking, lengthNote } from "./messages";
import { profileHead } from "./profile-head";
import { createProgress } from "./progress";
import { createPaint } from "./ribbon/paint";
import { ribbon } from "./ribbon/ribbon";
import { newMemory } from "./ribbon/tools";
import { type Compare, createRunBox } from "./run-box";
import { rememberPlace } from "./scroll-restore";
import { skeleton } from "./skeleton";
import { tabbed, viewsOf } from "./tabs";

/** Below this width (px) the heads stand above the view. */
const COMPACT = { mouse: 620, touch: 900 } as const;
/** A place is kept for a new picture this long (ms), so that the page does not jump. */
const HOLD_MS = 600;

export interface Frame {
  readonly element: HTMLElement;
  /** Show a run; the views of an earlier one are disposed of. */
  show(source: Source, act: ViewContext["act"], compare?: Compare | null): void;
  /** Actions of the kernel for this widget. */
  activity(activity: Activity): void;
  /** Why the kernel gives no answer; null when it does. */
  contact(notice: Notice | null): void;
  report(message: string, hint?: string): void;
  clearReport(): void;
  dispose(): void;
}

/** Ribbon and focus of a long text, as soon as their code is here. */
function longParts(
  parts: { readonly ribbon: HTMLElement; readonly focus: HTMLElement },
  stage: ViewContext,
): () => void {
  const stops: (() => void)[] = [];
  withParts(() => {
    const long = laterParts()?.long;
    if (long !== undefined)
      stops.push(long.ribbon(parts.ribbon, stage), long.focus(parts.focus, stage));
  }, stage.signal);
  return () => stops.forEach((stop) => void stop());
}

/** A profile (heads over many texts) has no matrix; that of a long text is drawn by tiles. */
const NO_MATRIX: MatrixStore = { get: () => null, on: () => () => undefined };

export function createFrame(state: State): Frame {
  const abort = new AbortController();
  const { signal } = abort;
  const part = (name: string, tag: "div" | "p" = "div"): HTMLElement =>
    h(tag, { class: `aw-${name}`, "data-aw-part": name });
  const parts = {
    ribbon: part("ribbon"),
    heads: part("heads"),
    focus: part("focus"),
    bar: part("bar"),
    caption: part("caption"),
    missing: part("missing", "p"),
    truncated: part("truncated", "p"),
    unknown: part("unknown", "p"),
  };
  parts.missing.setAttribute("role", "status");
  const saved = part("saved", "p");
  const live = h("div", {
    class: "aw-live",
    role: "status",
    "aria-live": "polite",
    "data-aw-part": "live",
  });
  const tabs = h("div", {
    class: "aw-tabs",
    role: "tablist",
    "aria-label": "Views",
    "data-aw-part": "tabs",
  });
  const panel = h("div", { class: "aw-view", role: "tabpanel", "data-aw-part": "view" });
  const side = h("div", { class: "aw-side" }, parts.heads, parts.focus);
  const keys = keyList();
  const messages = createMessages();
  const root = h("div", {
    class: ROOT_CLASS,
    role: "region",
    "aria-label": "Attention of one text",
  });
  const runBox = createRunBox({ root, report, clearReport: messages.clearReport });
  const progress = createProgress((busy) => root.classList.toggle("aw-busy", busy));
  const bones = skeleton();
  const head = h("div", { class: "aw-head" }, runBox.element, progress.element);
  const body = h(
    "div",
    { class: "aw-body" },
    side,
    h("div", { class: "aw-main" }, tabs, parts.missing, panel),
  );
  const shown = [
    parts.ribbon,
    parts.truncated,
    parts.unknown,
    parts.bar,
    body,
    parts.caption,
    saved,
    keys,
  ];
  root.append(messages.element, head, bones, ...shown, live);
  for (const element of shown) element.hidden = true;

  const applyTheme = followTheme(root, () => state.get().theme, signal);
  let fullHeight: number | null = null;
  const screened = withHeight(state, () => fullHeight);
  const applyHeight = (): void => {
    const { height } = screened.state.get();
    panel.classList.toggle("aw-fixed", height !== null);
    panel.style.setProperty("--aw-view-height", height === null ? null : `${height}px`);
  };
  state.on(["theme"], applyTheme, signal);
  screened.state.on(["height"], applyHeight, signal);
  const redraw = (): void => void (current && show(current.source, current.act, compared));
  state.on(["chrome"], redraw, signal);
  applyHeight();
  const compact = byTouch() ? COMPACT.touch : COMPACT.mouse;
  onResize(root, (width) => root.classList.toggle("aw-compact", width < compact), signal);
  pointByTouch(root, signal);

  const announce = (message: string): void => {
    live.textContent = message;
  };
  function report(message: string, hint = ""): void {
    messages.report(message, hint, runBox.remedy(hint));
  }

  /** In full screen the view has the height that the style sheet leaves it. */
  function measure(): void {
    fullHeight = document.fullscreenElement === root ? panel.clientHeight : null;
    screened.change();
  }
  document.addEventListener("fullscreenchange", measure, { signal });
  window.addEventListener("resize", () => fullHeight !== null && measure(), { signal });

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
    openView: (index: number) => {
      const view = current === null ? undefined : viewsOf(current.source.meta)[index];
      if (view !== undefined) state.set({ view });
    },
  };
  listenForKeys(root, actions, signal);
  keepHostKeysAway(root, signal);

  const memory = newMemory();
  let current: { readonly source: Source; readonly act: ViewContext["act"] } | null = null;
  let compared: Compare | null = null;
  let stopRun: (() => void) | null = null;
  let lastActivity: Activity | null = null;

  function show(source: Source, act: ViewContext["act"], compare: Compare | null = null): void {
    compared = compare;
    const goBack = rememberPlace(root);
    panel.style.minHeight = `${panel.offsetHeight}px`;
    stopRun?.();
    memory.wanted = null;
    current = { source, act };
    const { meta } = source;
    const { chrome } = state.get();
    const profile = meta.profile !== null;
    const run = new AbortController();
    const busy = (waiting: boolean) => panel.setAttribute("aria-busy", String(waiting));
    const filling = startFilling(source, run.signal);
    const runs = { signal: run.signal, runSignal: run.signal };
    const base = { source, state: screened.state, act, report, announce, filling, ...runs };
    const long = isLong(meta);
    const matrix =
      profile || long
        ? NO_MATRIX
        : createMatrix(source, state, { ...base, busy, computing, report: missing });

    function computing(far: Progress | null, back: () => void): void {
      const idle = { status: "ready", progress: null, history: [], error: null };
      const working = { ...idle, status: "running", progress: far };
      progress.show(far === null ? (lastActivity ?? idle) : working, back);
    }

    function missing(message: string, hint?: string): void {
      const { layer, head: chosen, quantity } = state.get();
      const there = matrix.get();
      const wanted = placeName({ layer, head: chosen, quantity: measureOf(quantity) });
      parts.missing.textContent =
        `${wanted.charAt(0).toUpperCase()}${wanted.slice(1)} is not loaded.` +
        (there === null ? "" : ` The picture shows ${placeName(there)}.`);
      parts.missing.hidden = false;
      report(message, hint);
    }
    matrix.on(() => {
      if (!parts.missing.hidden) messages.clearReport();
      parts.missing.hidden = true;
    }, run.signal);

    root.classList.toggle("aw-bare", !chrome);
    bones.hidden = true;
    body.hidden = panel.hidden = false;
    parts.missing.hidden = true;
    for (const element of [tabs, side, parts.bar]) element.hidden = !chrome;
    parts.ribbon.hidden = !chrome;
    parts.focus.hidden = profile;
    parts.caption.hidden = chrome;
    placeHead();
    runBox.show(meta, chrome ? act : null, compare);
    if (!chrome) keys.hidden = true;
    const stage: ViewContext = { ...base, matrix, paint: createPaint() };
    const disposers: (() => void)[] = [];
    if (chrome && profile) disposers.push(profileHead(parts.ribbon, stage));
    if (chrome && long) disposers.push(longParts(parts, stage));
    else if (chrome && !profile) {
      disposers.push(ribbon(parts.ribbon, stage, memory), focus(parts.focus, stage));
    }
    withParts(() => laterParts()?.windows.ribbon(parts.ribbon, meta, run.signal), run.signal);
    if (chrome) disposers.push(headGrid(parts.heads, stage), bar(parts.bar, stage, actions));
    else disposers.push(caption(parts.caption, stage));
    const opened = tabbed(tabs, panel, stage);
    disposers.push(opened.dispose);
    const print = paper(root, panel, stage, opened.open, applyTheme);
    const save = saveMenu(stage, panel, opened.open, print);
    save.hidden = !chrome;
    tabs.after(save);
    disposers.push(() => save.remove());
    const { precision } = source;
    saved.hidden = precision === undefined;
    saved.textContent =
      precision === undefined
        ? ""
        : `Saved page: ${precision.note}; needs no kernel.${lacking(meta)}`;
    const { unknown = null } = meta;
    parts.unknown.hidden = unknown === null;
    if (unknown !== null) {
      parts.unknown.textContent =
        `Most of this text is unknown to the model: ${unknown.count} of ${unknown.tokens} tokens are read as ` +
        `${unknown.text}, all alike. The figures below say little about these words.`;
    }
    const cut = lengthNote(meta);
    parts.truncated.hidden = cut === "";
    parts.truncated.textContent = cut;
    stopRun = () => {
      run.abort();
      clearTimeout(hold);
      for (const dispose of disposers) dispose();
      stopRun = null;
    };
    goBack(run.signal);
    const hold = setTimeout(() => {
      panel.style.minHeight = "";
    }, HOLD_MS);
  }

  return {
    element: root,
    show,
    activity(activity) {
      const before = lastActivity;
      lastActivity = activity;
      const { status, error } = activity;
      root.dataset.awStatus = status;
      if (before?.status === "running" && status !== "running") memory.wanted = null;
      const act = current?.act ?? null;
      const cancel = act === null ? null : () => void act({ kind: "cancel" }).catch(failed);
      progress.show(activity, cancel);
      runBox.activity(activity);
      messages.closed(status === "closed");
      placeHead();
      bones.hidden = current !== null || status === "closed";
      // An equal error gives no change of the trait: the status tells that it came again.
      const again = status === "error" && before?.status !== "error";
      if (error !== null && (again || !sameError(before?.error ?? null, error))) {
        report(error.message, error.hint);
      } else if (error === null && before?.error) messages.clearReport();
    },
    contact: messages.kernel,
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

  /** The head is there where something can run, or is about to. */
  function placeHead(): void {
    const closed = lastActivity?.status === "closed";
    const runs = current === null || (current.act !== null && state.get().chrome);
    head.hidden = closed || !runs;
  }

  function failed(error: unknown): void {
    const { message, hint } = explain(error);
    report(message, hint);
  }
}

const sameError = (a: Activity["error"], b: Activity["error"]): boolean =>
  a?.message === b?.message && a?.hint === b?.hint;
