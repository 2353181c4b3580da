/** Heads that matter for the target: each switched off in turn, and the gradient's guess. */

import { type Mode, ramp } from "../../draw/color/ramp";
import { signedIndex } from "../../draw/color/scale";
import { h } from "../../draw/dom";
import { largest } from "../../figures/derive/matrix";
import { exact, formatNumber } from "../../figures/format";
import { headName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../contract";
import type { Effects } from "./data";

const LISTED = 6;

/** The strongest heads as bars, each a button that chooses its head, and what shades the grid. */
export function headList(context: ViewContext, found: Effects, mode: Mode): HTMLElement {
  const { state, source, signal } = context;
  const { n_heads: heads } = source.meta.model;
  const sizes = Array.from(found.effects, Math.abs);
  const chosen = largest(sizes, LISTED);
  const most = sizes[chosen[0] ?? 0] ?? 0;
  const list = h("ol", { class: "aw-why-heads" });
  const element = h("div", { "data-aw-part": "why-heads" }, list);
  const { css } = ramp("signed", mode);
  for (const index of chosen) {
    const [layer, head] = [Math.floor(index / heads), index % heads];
    const value = itemAt(found.effects, index);
    const bar = h("span", { class: "aw-why-bar", "aria-hidden": "true" });
    bar.style.inlineSize = `${most > 0 ? (100 * Math.abs(value)) / most : 0}%`;
    bar.style.background = itemAt(css, signedIndex(value, most));
    const button = h(
      "button",
      { class: "aw-why-head", "data-layer": layer, "data-head": head },
      h("span", { class: "aw-number" }, headName(layer, head)),
      h("span", { class: "aw-why-track" }, bar),
      h(
        "span",
        { class: "aw-number", "data-aw-value": exact(value), title: exact(value) },
        `${value > 0 ? "+" : ""}${formatNumber(value)}`,
      ),
    );
    button.addEventListener("click", () => state.set({ layer, head }), { signal });
    list.append(h("li", {}, button));
  }
  const shade = h("button", { class: "aw-why-link" }, "Shade the grid of heads by this");
  shade.addEventListener("click", () => state.set({ metric: "effect" }), { signal });
  const { correlation } = found;
  element.append(
    h(
      "p",
      { class: "aw-hint" },
      "Logits that go when the head is switched off. ",
      correlation === null || Number.isNaN(correlation)
        ? ""
        : `The gradient's guess orders heads alike: ρ = ${formatNumber(correlation, 2)}.`,
    ),
    shade,
  );
  return element;
}
