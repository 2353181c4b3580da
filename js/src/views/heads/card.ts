/** One metric of the selected head: its figure, its place among all heads, and the layers. */

import { consume, h } from "../../draw/dom";
import { bandSparkline, type Domain, dotStrip, percent, share, svg } from "../../draw/strip";
import type { Metric, Tau } from "../../figures/catalog/types";
import { exact, formatNumber, formatOrdinal, formatPercent } from "../../figures/format";
import { headName, spokenHead } from "../../figures/names";
import type { HeadIndex } from "../../protocol/types";
import { ascending, type HeadFigures, layerSummaries, rankOf, summarize } from "./figures";

export interface CardEvents {
  /** The card itself was chosen; `anchor` is where its explanation belongs. */
  choose(anchor: HTMLElement): void;
  select(layer: number, head: number): void;
}

export interface Card {
  readonly element: HTMLElement;
  /** Draw other figures (another tau). */
  setFigures(figures: HeadFigures, tau: Tau): void;
  setSelection(layer: number, head: HeadIndex, chosen: boolean): void;
  /** Point at one head, wherever the pointer is; null for none. */
  point(index: number | null): void;
}

/**
 * `uniform(layer, tau)` is the figure of a head that attends to every possible key alike; `interval` that of a
 * mean over texts.
 */
export function createCard(
  metric: Metric,
  uniform: (layer: number, tau: Tau) => number,
  detail: (value: number, layer: number, head: HeadIndex) => string,
  events: CardEvents,
  interval: (index: number) => readonly [number, number] | null = () => null,
): Card {
  const element = h("article", { class: "aw-card", "data-metric": metric.key });
  const title = h(
    "button",
    { class: "aw-card-title", "aria-haspopup": "dialog", "aria-expanded": "false" },
    metric.name,
  );
  const value = h("span", { class: "aw-card-value" });
  const standing = h("span", { class: "aw-card-standing" });
  const figure = h("div", { class: "aw-card-figure" });
  figure.append(value, standing);
  const sub = h("div", { class: "aw-card-sub" });

  const strip = h("div", {
    class: "aw-strip",
    tabindex: 0,
    role: "slider",
    "aria-label": `Heads ordered by ${metric.name}`,
  });
  const reference = h("span", { class: "aw-strip-uniform" });
  const mark = h("span", { class: "aw-strip-mark" });
  const band = h("span", { class: "aw-strip-interval", hidden: true });
  const low = h("span", { class: "aw-axis-low" });
  const middle = h("span", { class: "aw-axis-middle" });
  const high = h("span", { class: "aw-axis-high" });
  const axis = h("div", { class: "aw-axis" });
  axis.append(low, middle, high);

  const layers = h("div", { class: "aw-layers" });
  const foot = h("div", { class: "aw-card-foot" });
  element.append(title, figure, sub, strip, axis, layers, foot);
  if (metric.warning !== null) {
    const warning = h("span", { class: "aw-card-warning" }, metric.warning);
    foot.append(warning);
  }

  let figures: HeadFigures = { values: [], nLayers: 0, nHeads: 1 };
  let tau: Tau = 0.01;
  let domain: Domain = [0, 1];
  let order: number[] = [];
  let dots: (SVGElement | null)[] = [];
  let spark: ReturnType<typeof bandSparkline> | null = null;
  let sparkMark: SVGElement | null = null;
  let sparkLayer: SVGElement | null = null;
  let selection: { layer: number; head: HeadIndex; chosen: boolean } | null = null;

  const valueAt = (index: number): number => figures.values[index] ?? Number.NaN;

  function setFigures(next: HeadFigures, nextTau: Tau): void {
    figures = next;
    tau = nextTau;
    const all = Array.from(figures.values);
    const references = Array.from({ length: figures.nLayers }, (_, layer) => uniform(layer, tau));
    const { min, max } = summarize([...all, ...references]);
    domain = [min, max];
    order = ascending(all);
    const drawn = dotStrip(all, domain);
    dots = drawn.dots;
    strip.replaceChildren(band, reference, drawn.element, mark);
    low.textContent = formatNumber(min);
    high.textContent = formatNumber(max);
    spark = bandSparkline(layerSummaries(figures), domain);
    sparkLayer = svg("line", { class: "aw-spark-layer", y1: 0, y2: "100%" });
    sparkMark = svg("circle", { class: "aw-spark-mark", r: 3 });
    spark.element.prepend(sparkLayer);
    spark.element.append(sparkMark);
    const first = h("span", { class: "aw-layer-end" }, "L0");
    const last = h("span", { class: "aw-layer-end" }, `L${figures.nLayers - 1}`);
    layers.replaceChildren(first, spark.element, last);
    strip.setAttribute("aria-valuemin", "1");
    strip.setAttribute("aria-valuemax", String(order.length));
    if (selection) setSelection(selection.layer, selection.head, selection.chosen);
  }

  function setSelection(layer: number, head: HeadIndex, chosen: boolean): void {
    const { nHeads } = figures;
    const before = selection;
    selection = { layer, head, chosen };
    element.classList.toggle("is-chosen", chosen);
    const inLayer = Array.from({ length: nHeads }, (_, h) => valueAt(layer * nHeads + h));
    const summary = summarize(inLayer);
    const current = head === "mean" ? summary.mean : (inLayer[head] ?? Number.NaN);
    value.textContent = formatNumber(current);
    value.dataset.awValue = exact(current);
    value.title = Number.isNaN(current) ? "Not defined for this head" : exact(current);
    const rank = rankOf(figures.values, current);
    standing.textContent =
      head === "mean"
        ? `${formatNumber(summary.min)} – ${formatNumber(summary.max)}`
        : Number.isNaN(rank)
          ? "N/A"
          : `${formatOrdinal(rank)} of ${order.length}`;
    standing.title =
      head === "mean" ? "smallest and largest of the layer’s heads" : "1st is the largest figure";
    sub.textContent = detail(current, layer, head);

    const plain = Number.isNaN(current);
    mark.hidden = plain;
    if (!plain) mark.style.left = percent(share(current, domain));
    const [from, to] = (head === "mean" ? null : interval(layer * nHeads + head)) ?? [NaN, NaN];
    band.hidden = Number.isNaN(from) || Number.isNaN(to);
    if (!band.hidden) {
      const [left, right] = [share(from, domain), share(to, domain)].map((x) =>
        Math.min(1, Math.max(0, x)),
      ) as [number, number];
      band.style.left = percent(left);
      band.style.width = percent(right - left);
    }
    const expected = uniform(layer, tau);
    reference.hidden = Number.isNaN(expected);
    reference.style.left = percent(share(expected, domain));
    if (before !== null && before.layer !== layer) markLayer(before.layer, false);
    markLayer(layer, true);
    if (before !== null) dotOf(before)?.classList.remove("is-this");
    dotOf(selection)?.classList.add("is-this");
    const at = spark?.x(layer) ?? 0;
    sparkLayer?.setAttribute("x1", percent(at));
    sparkLayer?.setAttribute("x2", percent(at));
    sparkMark?.setAttribute("cx", percent(at));
    sparkMark?.setAttribute("cy", plain ? "-99" : String(spark?.y(current) ?? 0));

    const place = Number.isNaN(rank) ? 1 : order.length - rank + 1;
    strip.setAttribute("aria-valuenow", String(Math.max(1, Math.min(order.length, place))));
    strip.setAttribute(
      "aria-valuetext",
      `${spokenHead(layer, head)}: ${formatNumber(current)}${head === "mean" ? "" : `, ${standing.textContent}`}`,
    );
    title.setAttribute(
      "aria-label",
      `${metric.name}: ${formatNumber(current)}. ${metric.warning ?? ""} Explain and shade the heads by it`,
    );
  }

  const dotOf = (of: { layer: number; head: HeadIndex }): SVGElement | null | undefined =>
    of.head === "mean" ? null : dots[of.layer * figures.nHeads + of.head];

  function markLayer(layer: number, on: boolean): void {
    for (let h = 0; h < figures.nHeads; h++) {
      dots[layer * figures.nHeads + h]?.classList.toggle("is-layer", on);
    }
  }

  let pointed: number | null = null;
  function point(index: number | null): void {
    if (pointed !== null) dots[pointed]?.classList.remove("is-pointed");
    pointed = index;
    middle.textContent =
      index === null
        ? ""
        : `${headName(Math.floor(index / figures.nHeads), index % figures.nHeads)}: ${formatNumber(valueAt(index))}`;
    if (index !== null) dots[index]?.classList.add("is-pointed");
  }

  function selectIndex(index: number | undefined): void {
    if (index === undefined) return;
    events.select(Math.floor(index / figures.nHeads), index % figures.nHeads);
  }

  strip.addEventListener("keydown", (event) => {
    if (selection === null) return;
    const { layer, head } = selection;
    const here =
      head === "mean"
        ? order.filter((index) => valueAt(index) < Number(value.dataset.awValue)).length - 0.5
        : order.indexOf(layer * figures.nHeads + head);
    const moves: Record<string, number> = {
      ArrowRight: Math.floor(here + 1),
      ArrowUp: Math.floor(here + 1),
      ArrowLeft: Math.ceil(here - 1),
      ArrowDown: Math.ceil(here - 1),
      Home: 0,
      End: order.length - 1,
    };
    const next = moves[event.key];
    if (next === undefined) return;
    consume(event);
    selectIndex(order[next]);
  });
  title.addEventListener("click", () => events.choose(title));
  // The whole card answers the pointer; the keyboard has its title.
  element.addEventListener("click", (event) => {
    const target = event.target as Element;
    const dot = target.closest("[data-index]");
    if (dot) selectIndex(Number(dot.getAttribute("data-index")));
    // A dragged selection of a number is no click.
    else if (
      !target.closest("button, .aw-segmented") &&
      document.getSelection()?.isCollapsed !== false
    ) {
      events.choose(title);
    }
  });
  return { element, setFigures, setSelection, point };
}

/** Stands under the entropy, whose raw sum grows with n: its share of the maximum, and effective keys. */
export function entropyDetail(value: number, largest: number, keys: number): string {
  const normalized = largest > 0 ? formatPercent(value / largest) : formatNumber(Number.NaN);
  return `${normalized} of max, ${formatNumber(keys)} keys a query`;
}
