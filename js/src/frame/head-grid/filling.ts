/** How many layers of a long text are drawn in the grid, and the way to stop the rest or go on. */

import { h } from "../../draw/dom";
import { isFilled } from "../../figures/filling";
import { ABSENT, formatNumber } from "../../figures/format";
import type { Filling, Source } from "../../protocol/types";

/** A figure of the `index`-th head of all, in words. */
export function valueText(source: Source, index: number, value: number | undefined): string {
  if (value === undefined) return ABSENT;
  return isFilled(source, index) ? formatNumber(value) : "not computed yet";
}

export interface FillingLine {
  readonly element: HTMLElement | null;
  stop(): void;
}

/** `drawn` is called when more layers have come. */
export function fillingLine(filling: Filling | null, drawn: () => void): FillingLine {
  if (filling === null) return { element: null, stop: () => undefined };
  const words = h("span", { role: "status" });
  const toggle = h("button", { class: "aw-plain", "data-aw-part": "filling" });
  const element = h("p", { class: "aw-grid-filling" }, words, toggle);
  toggle.addEventListener("click", () => filling.toggle());
  const show = (): void => {
    const { done, total, state, message } = filling;
    element.hidden = state === "done";
    const stopped = state === "stopped";
    words.textContent = `${stopped ? message || "Stopped:" : "Computing heads:"} ${done} of ${total} layers`;
    toggle.textContent = stopped ? "Go on" : "Stop";
  };
  show();
  const stop = filling.on(() => {
    show();
    drawn();
  });
  return { element, stop };
}
