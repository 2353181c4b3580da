/** The six attention metrics of the selected head, and of all heads. */

import { h } from "../draw/dom";
import { copyExactValues, formatNumber } from "../draw/format";
import { mathElement } from "../draw/math";
import { createPopover } from "../draw/popover";
import { METRICS, type Metric, type Reference, type Tau, VASWANI } from "../formulas";
import { spokenHead } from "../names";
import { explain, isAbort } from "../source/failure";
import type { NdArray, View } from "../types";
import { createCard, entropyDetail } from "./heads-card";
import { rowCounts } from "./heads-figures";
import { createHeadsTable, type Sort } from "./heads-table";

/** The threshold of Golshanrad & Faghih 2024, the other choice beside 1/n. */
const PUBLISHED_TAU = 0.01;

type Arrays = ReadonlyMap<string, NdArray>;

export const heads: View = (element, { source, state, report, announce, signal }) => {
  const { meta } = source;
  const { n_layers: nLayers, n_heads: nHeads } = meta.model;
  const n = meta.tokens.text.length;
  const metrics = METRICS.filter(({ key }) => source.arrays.has(`metric:${key}`));
  const counts = Array.from({ length: nLayers }, (_, layer) => rowCounts(source, layer));
  const countsOf = (layer: number) => counts[Math.min(layer, nLayers - 1)];
  const masked = source.arrays.has("possible");

  // The words are English and the axes run to the right, whatever the page around; tokens are isolated.
  const root = h("div", { class: "aw-heads-view", dir: "ltr" });
  const title = h("h3", { class: "aw-view-title" });
  const note = h("p", { class: "aw-view-note" });
  const cards = h("div", { class: "aw-cards" });
  element.append(root);
  root.append(h("header", { class: "aw-heads-head" }, title, note, legend()), cards);
  const popover = createPopover(root);
  const stop = new AbortController();
  signal.addEventListener("abort", () => stop.abort(), { signal: stop.signal });
  copyExactValues(root, stop.signal);

  let arrays: Arrays = source.arrays;
  let tau: Tau = meta.metrics.tau;

  const values = (metric: Metric): ArrayLike<number> => arrays.get(`metric:${metric.key}`)!.data;

  function detail(metric: Metric, value: number, layer: number): string {
    if (metric.key !== "focus_entropy") return metric.summary;
    return entropyDetail(value, metric.range(countsOf(layer))[1], n);
  }

  const table = createHeadsTable(
    { nLayers, nHeads },
    {
      select,
      sort(sort) {
        table.setSort(sort);
        if (sort.key !== "head") state.set({ metric: sort.key });
      },
    },
  );

  function select(layer: number, head: number): void {
    state.set({ layer, head });
    announce(spokenHead(layer, head));
  }

  const built = metrics.map((metric) => {
    const card = createCard(
      metric,
      (layer, threshold) => metric.uniform(countsOf(layer), threshold),
      (value, layer) => detail(metric, value, layer),
      {
        choose(anchor) {
          state.set({ metric: metric.key });
          table.setSort({ key: metric.key, descending: true });
          popover.toggle(anchor, metric.name, explanation(metric));
        },
        select,
      },
    );
    cards.append(card.element);
    return { metric, card };
  });
  const thresholds = tauSwitch();
  built
    .find(({ metric }) => metric.key === "sparsity")
    ?.card.element.querySelector(".aw-card-foot")
    ?.append(thresholds.element);
  root.append(table.element);

  function legend(): HTMLElement {
    const key = (className: string, text: string): HTMLElement =>
      h("span", { class: "aw-mark" }, h("i", { class: className, "aria-hidden": "true" }), text);
    return h(
      "p",
      { class: "aw-marks" },
      key("aw-mark-this", "this head"),
      key("aw-mark-layer", "its layer"),
      key("aw-mark-other", "other heads"),
      key("aw-mark-uniform", "uniform attention"),
      key("aw-mark-band", "per layer: mean, smallest to largest head"),
    );
  }

  /** Sparsity's threshold: as published, or 1/n, because the fixed one is confounded with length. */
  function tauSwitch() {
    const choices: [Tau, string][] = [
      [PUBLISHED_TAU, `τ = ${PUBLISHED_TAU}`],
      ["uniform", `τ = 1/n = ${formatNumber(1 / n)}`],
    ];
    const buttons = choices.map(([value, text]) => {
      const button = h("button", { type: "button", "data-tau": value }, text);
      button.addEventListener("click", () => void setTau(value), { signal: stop.signal });
      return { value, button };
    });
    const show = (): void => {
      for (const { value, button } of buttons) {
        button.setAttribute("aria-pressed", String(value === tau));
      }
    };
    show();
    const element = h(
      "div",
      { class: "aw-segmented aw-tau", role: "group", "aria-label": "Threshold of sparsity" },
      ...buttons.map(({ button }) => button),
    );
    return { element, show };
  }

  async function setTau(wanted: Tau): Promise<void> {
    const group = thresholds.element;
    group.setAttribute("aria-busy", "true");
    try {
      const same = wanted === meta.metrics.tau;
      const answer = same
        ? source.arrays
        : (await source.slice({ kind: "metrics", tau: wanted }, { signal: stop.signal })).arrays;
      arrays = answer;
      tau = wanted;
      fill();
    } catch (error) {
      if (isAbort(error)) return;
      const { message, hint } = explain(error);
      report(message, hint);
    } finally {
      thresholds.show();
      group.removeAttribute("aria-busy");
    }
  }

  /** What the card's popover says. */
  function explanation(metric: Metric): HTMLElement {
    const { layer } = state.get();
    const rows = countsOf(layer);
    const [least, most] = metric.range(rows);
    const unit = metric.unit === "" ? "" : ` ${metric.unit}`;
    const symbols = (text: string): string => (masked ? "" : ` (${text})`);
    const item = (term: string, text: string): Node[] => [h("dt", {}, term), h("dd", {}, text)];
    return h(
      "div",
      { class: "aw-explanation" },
      h("h4", {}, metric.name),
      mathElement(metric.formula(tau), metric.spoken),
      metric.warning === null ? null : h("p", { class: "aw-card-warning" }, metric.warning),
      h(
        "dl",
        {},
        ...item(
          "A",
          "weights of the head, softmax(QKᵀ / √d); rows i are queries, columns j keys, n tokens.",
        ),
        ...item("High", metric.high),
        ...item("Low", metric.low),
        ...item(
          "Range",
          `${formatNumber(least)} to ${formatNumber(most)}${unit} for these ${n} tokens${symbols(metric.rangeText)}`,
        ),
        ...item(
          "Uniform attention",
          `${formatNumber(metric.uniform(rows, tau))}${unit}${symbols(metric.uniformText)}`,
        ),
        ...(masked ? item("Mask", "Cells that the model’s mask forbids are left out.") : []),
        ...item("Shown", "The head grid is shaded, and the table sorted, by this metric."),
      ),
      h("ul", { class: "aw-references" }, ...[...metric.references, VASWANI].map(reference)),
    );
  }

  function fill(): void {
    for (const { metric, card } of built) {
      card.setFigures({ values: values(metric), nLayers, nHeads }, tau);
    }
    table.setColumns(metrics.map((metric) => ({ metric, values: values(metric) })));
    const { layer, head } = state.get();
    table.setSelection(layer, head);
  }

  function follow(): void {
    const { layer, head, metric: chosen } = state.get();
    title.textContent =
      head === "mean" ? `Layer ${layer}, mean of its heads` : `Layer ${layer}, head ${head}`;
    note.textContent =
      head === "mean"
        ? `Each figure is the mean of the figures of the layer’s ${nHeads} heads, with the smallest and ` +
          "the largest; it is not the figure of the averaged matrix."
        : `Six figures of its ${n} × ${n} weights, among all ${nLayers * nHeads} heads (1st is the largest).`;
    for (const { metric, card } of built) card.setSelection(layer, head, metric.key === chosen);
    table.setSelection(layer, head);
  }

  // One head, wherever it is pointed at, is marked on every card.
  const pointAt = (event: Event | null): void => {
    const dot = event === null ? null : (event.target as Element).closest("circle[data-index]");
    const index = dot ? Number(dot.getAttribute("data-index")) : null;
    for (const { card } of built) card.point(index);
  };
  cards.addEventListener("pointerover", pointAt, { signal: stop.signal });
  cards.addEventListener("pointerleave", () => pointAt(null), { signal: stop.signal });

  fill();
  const { metric } = state.get();
  const sort: Sort = metrics.some(({ key }) => key === metric)
    ? { key: metric, descending: true }
    : { key: "head", descending: false };
  table.setSort(sort);
  follow();
  const off = state.on(["layer", "head", "metric"], follow);

  return {
    dispose() {
      off();
      stop.abort();
      popover.dispose();
      root.remove();
    },
    table: () => null,
  };
};

function reference({ text, doi }: Reference): HTMLElement {
  return h("li", {}, text, doi === null ? ". No verified DOI." : `. doi:${doi}`);
}
