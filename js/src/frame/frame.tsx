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
import { followTheme, ROOT_CLASS } from "../draw/color/theme";
import { h } from "../draw/dom";
import { onResize } from "../draw/resize";
import { byTouch, pointByTouch } from "../draw/touch";
import { capital } from "../figures/format";
import { startLayerProgress } from "../figures/layer-progress";
import { isLong } from "../figures/long/levels";
import { createMatrix, type MatrixStore } from "../figures/matrix";
import { placeName } from "../figures/names";
import { measureOf } from "../figures/quantities";
import type { RowStore } from "../figures/row";
import { explain, type Notice } from "../protocol/failure";
import { itemAt } from "../protocol/required";
import type { Activity, Progress, Source } from "../protocol/types";
import type { State } from "../state/selection";
import { withHeight } from "../state/state";
import { Button } from "../ui/controls";
import { mount, selectionOf, setter } from "../ui/mount";
import { Tabs } from "../ui/tabs";
import { FEATURES, viewNamed } from "../views";
import {
  createOverlay,
  type DisplayPart,
  ofOneRun,
  type ViewContext,
  withLazyCode,
} from "../views/contract";
import type { RunButton } from "../views/feature";
import { bar } from "./bar";
import { drawBeforePrinting } from "./before-printing";
import { focus } from "./focus";
import { headGrid } from "./head-grid/head-grid";
import { keepHostKeysAway } from "./host-keys";
import { KeyList, listenForKeys } from "./keys";
import { createMessages, createProgress } from "./messages";
import { Caption, ProfileHead, readingNote, SavedNote, Skeleton, unknownNote } from "./notes";
import { newMemory, ribbon } from "./ribbon/ribbon";
import { createRunBox } from "./run-box";
import { rememberPlace } from "./scroll-restore";
import { openViews, viewOf, viewsOf } from "./tabs";

/** Below this width (px) the heads stand above the view. */
const COMPACT = { mouse: 620, touch: 900 } as const;
/** Up to this width (px), a phone's, they are folded below it; as in `style/phone.css`. */
const NARROW = 480;
/** Views about something else than a row of attention: the list of keys has no part in them. */
const WITHOUT_KEYS = new Set(["predictions", "inside", "why"]);
/** Time for which the panel keeps its old height while a new run is drawn (ms), so that the page does not jump. */
const HOLD_MS = 600;

export interface Frame {
  readonly element: HTMLElement;
  /** Show a run; the views of an earlier one are disposed of. */
  show(source: Source, act: ViewContext["act"], buttons?: readonly RunButton[]): void;
  /** Actions of the kernel for this widget. */
  activity(activity: Activity): void;
  /** Why the kernel gives no answer; null when it does. */
  readonly kernel: Signal<Notice | null>;
  report: ViewContext["report"];
  clearReport(): void;
  dispose(): void;
}

interface Run {
  readonly source: Source;
  readonly act: ViewContext["act"];
  readonly buttons: readonly RunButton[];
}

/** A profile and a similarity have no matrix of a head; that of a long text is drawn by tiles. */
const NO_MATRIX: MatrixStore = { get: () => null, on: () => () => undefined };
const IDLE: Activity = { status: "ready", progress: null, history: [], error: null };

export function createFrame(state: State): Frame {
  const abort = new AbortController();
  const { signal: until } = abort;
  // Two widgets on a page have a module each: a counter would give both the same id.
  const panelId = `aw-panel-${Math.random().toString(36).slice(2)}`;
  const root = h("div", {
    class: ROOT_CLASS,
    role: "region",
    "aria-label": "Attention of one text",
  });
  const selection = selectionOf(state, ["chrome", "view"], until);
  const place = selectionOf(state, ["layer", "head", "quantity", "view"], until);
  const run = signal<Run | null>(null);
  const activity = signal<Activity | null>(null);
  /** The picture that is not loaded, in words. */
  const missing = signal("");
  const announced = signal("");
  const keysOpen = signal(false);
  const narrow = signal(false);
  const unfolded = signal(false);
  const display = signal<DisplayPart | null>(null);
  const messages = createMessages();
  const runBox = createRunBox(root, report, messages.clearReport);
  const progress = createProgress((busy) => root.classList.toggle("aw-busy", busy));

  function View() {
    const { source, act } = run.value ?? {};
    const meta = source?.meta;
    const { chrome, view } = selection.value;
    const closed = activity.value?.status === "closed";
    const bare = meta === undefined || !chrome;
    const folded = narrow.value && !unfolded.value;
    const name = meta ? viewOf(meta, view) : "";
    const views = meta ? viewsOf(meta) : [];
    const side = (
      <div class="aw-side" key="side" hidden={!chrome || meta?.similarity !== undefined}>
        {narrow.value && (
          <Button
            class="aw-flat aw-title"
            part="fold"
            aria-expanded={!folded}
            onClick={() => {
              unfolded.value = folded;
            }}
          >
            {folded ? "▸ " : "▾ "}
            {meta?.profile === null && !WITHOUT_KEYS.has(name)
              ? "Heads and strongest keys"
              : "Heads"}
          </Button>
        )}
        <div class="aw-heads" data-aw-part="heads" hidden={folded} />
        <div
          class="aw-focus"
          data-aw-part="focus"
          hidden={folded || meta?.profile !== null || WITHOUT_KEYS.has(name)}
        />
      </div>
    );
    const main = (
      <div class="aw-main" key="main">
        <Tabs
          label="Views"
          part="tabs"
          controls={panelId}
          tabs={views.map((each, i) => {
            const { label } = viewNamed(each);
            return { name: each, label, title: `${label} (${i + 1})` };
          })}
          chosen={name}
          choose={(next) => state.set({ view: next })}
          // A profile and a similarity have one, and nothing to choose.
          hidden={!chrome || (meta !== undefined && !ofOneRun(meta) && views.length === 1)}
        />
        <p class="aw-missing" role="status" data-aw-part="missing" hidden={missing.value === ""}>
          {missing.value}
        </p>
        <div class="aw-view" role="tabpanel" data-aw-part="view" id={panelId} />
      </div>
    );
    const note = (part: string, text: string) => (
      <p class={`aw-${part}`} data-aw-part={part} hidden={text === ""}>
        {text}
      </p>
    );
    return (
      <>
        {messages.View()}
        {/* Only where a run can be started, or while one goes on. */}
        <div class="aw-head" hidden={closed || (meta !== undefined && (act === null || !chrome))}>
          {runBox.View()}
          {progress.View()}
        </div>
        <Skeleton hidden={meta !== undefined || closed} />
        <div class="aw-ribbon" data-aw-part="ribbon" hidden={bare}>
          {meta && meta.profile !== null && chrome && <ProfileHead {...meta} />}
        </div>
        {note("truncated", meta ? readingNote(meta) : "")}
        {note("unknown", meta ? unknownNote(meta) : "")}
        <div class="aw-bar" data-aw-part="bar" hidden={bare} />
        <div class="aw-body" hidden={meta === undefined}>
          {narrow.value ? [main, side] : [side, main]}
        </div>
        <div class="aw-caption" data-aw-part="caption" hidden={meta === undefined || chrome}>
          {meta && !chrome && <Caption meta={meta} selection={place.value} />}
        </div>
        {meta && source?.precision && <SavedNote precision={source.precision} meta={meta} />}
        <KeyList hidden={bare || !keysOpen.value} />
        <div class="aw-live" role="status" aria-live="polite" data-aw-part="live">
          {announced.value}
        </div>
      </>
    );
  }
  mount(root, View, until);

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
  state.on(["theme"], applyTheme, until);
  drawBeforePrinting(root, until);
  screened.state.on(["height"], applyHeight, until);
  state.on(
    ["chrome"],
    () => {
      const shown = run.peek();
      if (shown !== null) show(shown.source, shown.act, shown.buttons);
    },
    until,
  );
  applyHeight();
  document.addEventListener("fullscreenchange", measure, { signal: until });
  window.addEventListener("resize", () => fullHeight !== null && measure(), { signal: until });
  const compact = byTouch() ? COMPACT.touch : COMPACT.mouse;
  onResize(
    root,
    (width) => {
      root.classList.toggle("aw-compact", width < compact);
      narrow.value = width > 0 && width <= NARROW;
    },
    until,
  );
  pointByTouch(root, until);

  const announce = setter(announced);
  function report(error: unknown, before = ""): void {
    const { message, hint } = explain(error);
    messages.report(before + message, hint, runBox.remedy(hint));
  }

  const actions = {
    toggleKeys: () => {
      keysOpen.value = !keysOpen.peek();
      if (keysOpen.peek()) part("keys").scrollIntoView({ block: "nearest" });
    },
    closeKeys: () => {
      const open = keysOpen.peek();
      keysOpen.value = false;
      return open;
    },
    toggleFullScreen: () => {
      const change = document.fullscreenElement
        ? document.exitFullscreen()
        : root.requestFullscreen();
      change.catch((reason: unknown) =>
        report({ message: "Full screen is not allowed here.", hint: explain(reason).message }),
      );
    },
    openView: (index: number) => {
      const shown = run.peek();
      const view = shown === null ? undefined : viewsOf(shown.source.meta)[index];
      if (view !== undefined) state.set({ view });
    },
    nextPart: () => {
      const { parts, part } = run.peek()?.source.meta ?? {};
      if (!parts || !part || parts.length < 2) return false;
      const next = itemAt(parts, (parts.indexOf(part) + 1) % parts.length);
      state.set({ part: next });
      announce(`Part: ${next}`);
      return true;
    },
  };
  listenForKeys(root, actions, until);
  keepHostKeysAway(root, until);

  const memory = newMemory();
  let stopRun: (() => void) | null = null;

  function show(source: Source, act: ViewContext["act"], buttons: readonly RunButton[] = []): void {
    const restoreFocus = rememberPlace(root);
    panel.style.minHeight = `${panel.offsetHeight}px`;
    stopRun?.();
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
      runBox.show(meta, chrome && single ? act : null, buttons);
    });

    const busy = (waiting: boolean) => panel.setAttribute("aria-busy", String(waiting));
    const base = {
      source,
      state: screened.state,
      act,
      report,
      announce,
      layerProgress: startLayerProgress(source, signal),
      signal,
      runSignal: signal,
    };
    const long = isLong(meta);
    const matrix =
      !single || long
        ? NO_MATRIX
        : createMatrix(source, state, { ...base, busy, computing, report: reportMissing });

    function computing(far: Progress | null, back: () => void): void {
      const working = { ...IDLE, status: "running", progress: far };
      progress.show(far === null ? (activity.peek() ?? IDLE) : working, back);
    }

    function reportMissing(error: unknown): void {
      const { layer, head, quantity } = state.get();
      const there = matrix.get();
      const wanted = placeName({ layer, head, quantity: measureOf(quantity) });
      missing.value =
        `${capital(wanted)} is not loaded.` +
        (there === null ? "" : ` The picture shows ${placeName(there)}.`);
      report(error);
    }
    matrix.on(() => {
      if (missing.peek() !== "") messages.clearReport();
      missing.value = "";
    }, signal);

    const context: ViewContext = { ...base, matrix, overlay: createOverlay(), display };
    const disposers: (() => void)[] = [];
    const drawText = (rows?: RowStore): void => {
      disposers.push(ribbon(parts.ribbon, context, memory, rows));
      disposers.push(focus(parts.focus, context, rows));
    };
    if (chrome && long) withLazyCode((code) => drawText(code.long.rows(context)), signal);
    else if (chrome && single) drawText();
    withLazyCode(({ windows }) => windows.ribbon(parts.ribbon, meta, signal), signal);
    if (chrome) {
      if (!meta.similarity) disposers.push(headGrid(parts.heads, context));
      disposers.push(bar(parts.bar, context, actions));
    }
    const views = openViews(panel, context);
    disposers.push(views.dispose);
    for (const { tool } of FEATURES) {
      const element = tool?.(context, panel, views.open);
      if (element === undefined) continue;
      element.hidden = !chrome;
      parts.tabs.after(element);
      disposers.push(() => element.remove());
    }
    const hold = setTimeout(() => {
      panel.style.minHeight = "";
    }, HOLD_MS);
    stopRun = () => {
      lifetime.abort();
      clearTimeout(hold);
      for (const dispose of disposers) dispose();
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
