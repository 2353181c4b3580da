/** The parts of a run around its view: ribbon, heads, bar, and the tools of the features. */

import { render } from "preact";
import { capital } from "../figures/format";
import { createMatrix, type MatrixStore } from "../figures/matrix";
import { placeName } from "../figures/names";
import { measureOf } from "../figures/quantities";
import type { RowStore } from "../figures/row";
import { isLong } from "../protocol/meta";
import type { Activity, Progress } from "../protocol/types";
import { FEATURES, sectionsOf } from "../views";
import { createOverlay, ofOneRun, type ViewContext, withLazyCode } from "../views/contract";
import type { Actions } from "./actions";
import { bar } from "./bar";
import { focus } from "./focus";
import { headGrid } from "./head-grid/head-grid";
import type { FrameModel } from "./outline";
import type { RibbonMemory } from "./ribbon/corner";
import { ribbon } from "./ribbon/ribbon";
import { openViews } from "./tabs";

/** A profile and a similarity have no matrix of a head; that of a long text is drawn by tiles. */
const NO_MATRIX: MatrixStore = { get: () => null, on: () => () => undefined };
const IDLE: Activity = { status: "ready", progress: null, history: [], error: null };

type Part = "ribbon" | "bar" | "heads" | "focus" | "tabs" | "panel";

/** Draws a run into the parts of a frame; the result disposes of it, and of its grid of heads unless another run is `next`. */
export function drawRun(
  parts: Readonly<Record<Part, HTMLElement>>,
  { state, missing, messages, progress, activity }: FrameModel,
  base: Omit<ViewContext, "matrix" | "overlay">,
  memory: RibbonMemory,
  actions: Actions,
): (next?: boolean) => void {
  const { source, signal } = base;
  const { meta } = source;
  const { chrome } = state.get();
  const single = ofOneRun(meta);
  const busy = (waiting: boolean) => parts.panel.setAttribute("aria-busy", String(waiting));
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
    base.report(error);
  }
  matrix.on(() => {
    if (missing.peek() !== "") messages.clearReport();
    missing.value = "";
  }, signal);

  const pairs = FEATURES.flatMap(({ pair }) => pair ?? []);
  const sections = sectionsOf(meta);
  const context: ViewContext = { ...base, matrix, overlay: createOverlay(), pairs, sections };
  const disposers: (() => void)[] = [];
  const drawText = (rows?: RowStore): void => {
    if (!meta.wordless) disposers.push(ribbon(parts.ribbon, context, memory, rows));
    disposers.push(focus(parts.focus, context, rows));
  };
  if (chrome && meta.wordless)
    for (const { insteadOfText } of FEATURES) insteadOfText?.(parts.ribbon, context);
  if (chrome && long) withLazyCode((code) => drawText(code.long.rows(context)), signal);
  else if (chrome && single) drawText();
  withLazyCode(({ windows }) => windows.ribbon(parts.ribbon, meta, signal), signal);
  const closeGrid = chrome && !meta.similarity ? headGrid(parts.heads, context) : null;
  if (closeGrid === null) render(null, parts.heads);
  if (chrome) disposers.push(bar(parts.bar, context, actions));
  const views = openViews(parts.panel, context);
  disposers.push(views.dispose);
  for (const { tool } of FEATURES) {
    const element = tool?.(context, parts.panel, views.open);
    if (element === undefined) continue;
    element.hidden = !chrome;
    parts.tabs.after(element);
    disposers.push(() => element.remove());
  }
  return (next = false) => {
    for (const dispose of disposers) dispose();
    if (!next) closeGrid?.();
  };
}
