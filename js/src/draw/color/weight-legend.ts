/** The ramp of weights with its scale, for views that have a maximum of their own. */

import { exact, formatNumber } from "../../figures/format";
import type { Scale } from "../../state/selection";
import { h, setAttributes } from "../dom";
import { rampImage } from "./ramp";
import { rampValue } from "./scale";
import { modeOf } from "./theme";

export interface WeightLegend {
  readonly element: HTMLElement;
  /** Say that the ramp runs from 0 to `max`, off by at most `error` (or to 1, or by square root), and what is hatched. */
  show(max: number, scale: Scale, error?: number, beyond?: string): void;
}

export function weightLegend(): WeightLegend {
  const low = h("span", { class: "aw-number" }, "0");
  const middle = h("span", { class: "aw-number aw-ramp-middle" });
  const high = h("span", { class: "aw-number" });
  const bar = h("span", { class: "aw-ramp-bar", "aria-hidden": "true" });
  const element = h(
    "div",
    { class: "aw-ramp aw-own-legend", role: "img", "data-aw-part": "weight-legend" },
    low,
    h("span", { class: "aw-ramp-track" }, bar, middle),
    high,
  );
  return {
    element,
    show(max, scale, error = 0, beyond = "") {
      const off = scale === "unit" ? 0 : error;
      const top = rampValue(1, max, scale);
      bar.style.background = rampImage("weight", modeOf(element), 18);
      const most = formatNumber(top, undefined, off);
      const half = rampValue(0.5, max, scale);
      high.textContent = beyond === "" ? most : `${most}, hatched: ${beyond}`;
      setAttributes(high, { "data-aw-value": exact(top, off), title: exact(top, off) });
      middle.textContent = scale === "sqrt" ? formatNumber(half, undefined, off) : "";
      element.setAttribute(
        "aria-label",
        `Colors: 0 to ${most}${scale === "sqrt" ? ", by square root" : ""}`,
      );
    },
  };
}
