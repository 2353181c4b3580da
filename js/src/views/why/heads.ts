/** Heads that matter for the target: each switched off in turn, and the gradient's guess. */

import { type Mode, ramp } from "../../draw/color/ramp";
import { largestOf, signedIndex } from "../../draw/color/scale";
import { h } from "../../draw/dom";
import { svg } from "../../draw/strip";
import { largest } from "../../figures/derive/matrix";
import { exact, formatNumber } from "../../figures/format";
import { headName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../contract";
import type { Effects } from "./data";

const LISTED = 6;
/** The plot of guesses, px. */
const PLOT = { width: 300, height: 140, left: 30, right: 10, top: 16, bottom: 30, dot: 3 } as const;

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
  element.append(
    h("p", { class: "aw-hint" }, "Decrease in logits when the head is switched off. ", shade),
    guesses(context, found, new Set(chosen)),
  );
  return element;
}

/** Effect of every head against the gradient's guess; a dot chooses its head. */
function guesses(
  { state, source, signal }: ViewContext,
  { effects, proxy, correlation }: Effects,
  listed: ReadonlySet<number>,
): HTMLElement {
  const { n_heads: heads } = source.meta.model;
  const { width, height, left, right, top, bottom, dot } = PLOT;
  const none = Array.from(effects, () => false);
  const [guessed, exact] = [largestOf([...proxy], none), largestOf([...effects], none)];
  const x = (value: number): number => left + ((width - left - right) * value) / (guessed || 1);
  const y = (value: number): number =>
    height - bottom - ((height - top - bottom) * Math.abs(value)) / (exact || 1);
  const known = correlation !== null && !Number.isNaN(correlation);
  const rho = known ? `ρ = ${formatNumber(correlation, 2)}` : "no rank correlation";
  const plot = svg("svg", {
    class: "aw-why-guesses",
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `Size of each head's effect against the gradient's estimate: ${rho}`,
  });
  const text = (words: string, at: Record<string, string | number>): void => {
    const node = svg("text", at);
    node.textContent = words;
    plot.append(node);
  };
  plot.append(
    svg("path", { d: `M${left} ${top}V${height - bottom}H${width - right}`, class: "aw-why-axis" }),
  );
  effects.forEach((value, i) => {
    const at = { "data-layer": Math.floor(i / heads), "data-head": i % heads };
    const mark = svg("circle", {
      ...at,
      class: listed.has(i) ? "is-right" : "is-other",
      cx: x(itemAt(proxy, i)).toFixed(1),
      cy: y(value).toFixed(1),
      r: dot,
    });
    const name = svg("title", {});
    name.textContent = `${headName(at["data-layer"], at["data-head"])}: effect ${formatNumber(value)}, estimate ${formatNumber(itemAt(proxy, i))}`;
    mark.append(name);
    plot.append(mark);
  });
  text(formatNumber(exact, 2), { x: left - 4, y: top + 8, "text-anchor": "end" });
  text("0", { x: left - 4, y: height - bottom + 4, "text-anchor": "end" });
  text(formatNumber(guessed, 2), {
    x: width - right,
    y: height - bottom + 13,
    "text-anchor": "end",
  });
  text("|gradient| (estimate)", { x: (width + left) / 2, y: height - 4, "text-anchor": "middle" });
  text("|effect|", { x: left, y: top - 6 }); // above the axis, clear of the dots
  plot.addEventListener(
    "click",
    (event) => {
      const mark = (event.target as Element).closest<SVGElement>("circle");
      if (mark !== null)
        state.set({ layer: Number(mark.dataset.layer), head: Number(mark.dataset.head) });
    },
    { signal },
  );
  return h(
    "figure",
    { "data-aw-part": "why-guesses" },
    h(
      "figcaption",
      { class: "aw-hint" },
      known
        ? `Effect of every head, against the estimate from one backward pass (${rho} over ${effects.length} heads).`
        : "Effect of every head, against the estimate from one backward pass.",
    ),
    plot,
  );
}
