/** A view of both runs, A beside B: the views are those of a run that stands alone. */

import { h } from "../../draw/dom";
import { isLong } from "../../figures/long/levels";
import { createMatrix } from "../../figures/matrix";
import { createPaint } from "../../frame/ribbon/paint";
import { explain } from "../../protocol/failure";
import { VIEWS } from "../../views";
import { drawOf } from "../../views/lazy-views";
import type { Side } from "../data";
import type { Panel, PanelContext } from "./contract";

export const SIDES = ["a", "b"] as const;

/** Draw a view of one run below `halves`, which is in the page: a view measures the room that it has. */
function half(
  halves: HTMLElement,
  name: string,
  side: Side,
  { sources, states, signal }: PanelContext,
): void {
  const source = sources[side];
  const place = h("div", { class: `aw-view-${name}`, "data-view": name });
  const note = h("p", { class: "aw-view-note", role: "status", hidden: true });
  const element = h(
    "section",
    { class: "aw-compare-half", "data-side": side, "aria-label": side.toUpperCase() },
    h("h3", { class: "aw-title" }, side.toUpperCase(), " ", h("bdi", {}, source.meta.text)),
    note,
    place,
  );
  halves.append(element);
  const report = (message: string, hint = ""): void => {
    note.hidden = false;
    note.textContent = `${message} ${hint}`.trim();
  };
  const draw = drawOf(name, isLong(source.meta));
  if (draw === null || VIEWS[name]?.available(source.meta) !== true) {
    report(`${side.toUpperCase()} has nothing to show here.`);
    return;
  }
  try {
    const state = states[side];
    const busy = (waiting: boolean) => place.setAttribute("aria-busy", String(waiting));
    const handle = draw(place, {
      source,
      state,
      act: null,
      report,
      announce: () => undefined,
      signal,
      matrix: createMatrix(source, state, { signal, report, busy }),
      paint: createPaint(),
    });
    signal.addEventListener("abort", () => handle.dispose(), { once: true });
  } catch (error) {
    const { message, hint } = explain(error);
    report(message, hint);
  }
}

/** The panel that shows a view of both runs. */
export const pairOf =
  (name: string): Panel =>
  (element, context) => {
    const place = h("div", { class: "aw-compare-halves" });
    element.append(place);
    for (const side of SIDES) half(place, name, side, context);
  };
