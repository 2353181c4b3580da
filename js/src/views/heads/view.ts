/** All heads: metrics as cards, seven specializations as a radar, roles as a map, everything as a table. */

import { h } from "../../draw/dom";
import { createPopover } from "../../draw/popover";
import { whenIdle } from "../../draw/wait";
import { METRICS, PATTERNS, SPECIALIZATIONS } from "../../figures/catalog/cards";
import { PATTERN_KEYS, SPECIALIZATION_KEYS } from "../../figures/catalog/names";
import type { Metric, Tau } from "../../figures/catalog/types";
import { copyExactValues, formatCount, formatNumber } from "../../figures/format";
import { roleName } from "../../figures/head-figures";
import { metricName, spokenHead } from "../../figures/names";
import type { Table } from "../../figures/table";
import { explain, isAbort } from "../../protocol/failure";
import { arrayOf } from "../../protocol/required";
import type { HeadIndex, MetricScale, NdArray } from "../../protocol/types";
import type { Selection } from "../../state/selection";
import { type DrawView, laterParts, type RunContext, withParts } from "../contract";
import { createCard, entropyDetail } from "./card";
import { metricExplanation } from "./explain";
import { headsRows } from "./export";
import { intervalOf, scaleOf, summarize } from "./figures";
import { createLayersTable } from "./layers";
import type { HeadsStage } from "./parts";
import { rolesMap } from "./specialization/roles-map";
import { radarSection } from "./specialization/section";
import { type Column, createHeadsTable, type Sort } from "./table";
import { createTauSwitch } from "./tau";

type Arrays = ReadonlyMap<string, NdArray>;

export const heads: DrawView<RunContext> = (element, context) => {
  const { source, state, report, announce, filling, signal } = context;
  const { meta } = source;
  const { n_layers: nLayers, n_heads: nHeads } = meta.model;
  const n = meta.tokens.text.length;
  const profile = meta.profile !== null;
  const metrics = METRICS.filter(({ key }) => source.arrays.has(`metric:${key}`));
  const masked = source.arrays.has("possible");

  // The words are English and the axes run to the right, whatever the page around; tokens are isolated.
  const root = h("div", { class: "aw-heads-view", dir: "ltr" });
  const title = h("h3", { class: "aw-view-title" });
  const note = h("p", { class: "aw-view-note" });
  const cards = h("div", { class: "aw-cards" });
  element.append(root);
  const popover = createPopover(root);
  const stop = new AbortController();
  signal.addEventListener("abort", () => stop.abort(), { signal: stop.signal });
  copyExactValues(root, stop.signal);

  let arrays: Arrays = source.arrays;
  let { tau, scale }: { tau: Tau; scale: MetricScale } = meta.metrics;

  const stage: HeadsStage = {
    source,
    state,
    announce,
    signal: stop.signal,
    nLayers,
    nHeads,
    profile,
    select(layer, head) {
      state.set({ layer, head });
      announce(spokenHead(layer, head));
    },
    explain(key, label, anchor, content) {
      state.set({ metric: key });
      sortBy({ key, descending: true });
      popover.toggle(anchor, label, content());
    },
  };

  let sort: Sort = { key: "head", descending: false };
  const sortBy = (next: Sort): void => {
    sort = next;
    table.setSort(next);
  };
  const table = createHeadsTable(
    { nLayers, nHeads },
    {
      select: stage.select,
      sort(next) {
        sortBy(next);
        if (next.key !== "head") state.set({ metric: next.key });
      },
    },
  );
  const layers = createLayersTable(nLayers, nHeads);

  const figuresOf = (metric: Metric): ArrayLike<number> =>
    arrayOf({ arrays }, `metric:${metric.key}`).data;

  function detail(metric: Metric, value: number, layer: number, head: HeadIndex): string {
    if (profile)
      return head === "mean" ? metric.summary : spread(metric.key, layer * nHeads + head);
    if (metric.key !== "focus_entropy") return metric.summary;
    return entropyDetail(value, scaleOf(scale, layer, metric.key)[1], effectiveKeys(layer, head));
  }

  function effectiveKeys(layer: number, head: HeadIndex): number {
    const all = [...(arrays.get("metric:effective_keys")?.data ?? [])];
    const from = layer * nHeads + (head === "mean" ? 0 : head);
    return summarize(all.slice(from, from + (head === "mean" ? nHeads : 1))).mean;
  }

  /** `95%: 0.31 – 0.35, sd 0.08, 6 texts` of a profile's mean. */
  function spread(key: string, index: number): string {
    const interval = intervalOf(source, key)?.(index);
    const sd = source.arrays.get(`sd:${key}`)?.data[index] ?? Number.NaN;
    const texts = source.arrays.get(`count:${key}`)?.data[index] ?? 0;
    const chance = meta.profile?.by_chance?.[key];
    const best =
      chance === undefined
        ? ""
        : `, best of ${nLayers * nHeads} heads by chance ${formatNumber(chance)}`;
    const range = interval
      ? `95%: ${formatNumber(interval[0])} – ${formatNumber(interval[1])}, sd ${formatNumber(sd)}${best}`
      : "";
    if (texts === meta.profile?.n_texts && range !== "") return range;
    return `${range} (${formatCount(texts)} text${texts === 1 ? "" : "s"})`.trim();
  }

  const built = metrics.map((metric) => {
    const card = createCard(
      metric,
      (layer) => scaleOf(scale, layer, metric.key)[2],
      (value, layer, head) => detail(metric, value, layer, head),
      {
        choose(anchor) {
          const { layer } = state.get();
          stage.explain(metric.key, metric.name, anchor, () =>
            metricExplanation(metric, {
              tau,
              scale: profile ? null : scaleOf(scale, layer, metric.key),
              n,
              masked,
            }),
          );
        },
        select: stage.select,
      },
      intervalOf(source, metric.key) ?? undefined,
    );
    cards.append(card.element);
    return { metric, card };
  });
  const thresholds = createTauSwitch(n, (wanted) => void setTau(wanted));
  thresholds.show(tau);
  if (!profile) {
    built
      .find(({ metric }) => metric.key === "sparsity")
      ?.card.element.querySelector(".aw-card-foot")
      ?.append(thresholds.element);
  }

  async function setTau(wanted: Tau): Promise<void> {
    const group = thresholds.element;
    group.setAttribute("aria-busy", "true");
    try {
      const same = wanted === meta.metrics.tau;
      const answer = same
        ? { arrays: source.arrays, data: meta.metrics }
        : await source.slice({ kind: "metrics", tau: wanted }, { signal: stop.signal });
      arrays = answer.arrays;
      scale = answer.data.scale as MetricScale;
      tau = wanted;
      fill();
    } catch (error) {
      if (isAbort(error)) return;
      const { message, hint } = explain(error);
      report(message, hint);
    } finally {
      thresholds.show(tau);
      group.removeAttribute("aria-busy");
    }
  }

  /** Columns that come later: where the heads look, and their roles. */
  let aims: readonly Column[] = [];
  let roles: readonly Column[] = [];

  function figureColumn(
    { key, name, short }: Pick<Metric, "key" | "name" | "short">,
    group: string,
    values: ArrayLike<number>,
  ): Column {
    const interval = intervalOf(source, key);
    if (interval === null) return { key, name, short, group, values };
    return {
      key,
      name,
      short,
      group,
      values,
      detail(index) {
        const ends = interval(index);
        return ends === null ? "" : ends.map((end) => formatNumber(end, 2)).join(" – ");
      },
    };
  }

  function setColumns(): void {
    const own = metrics.map((metric) => figureColumn(metric, "Matrix", figuresOf(metric)));
    const patterns = (meta.profile?.accuracies ?? []).map((key) => {
      const name = metricName(key);
      const values = arrayOf(source, `metric:${key}`).data;
      return figureColumn({ key, name, short: name }, "Accuracy", values);
    });
    const columns = [...roles, ...own, ...aims, ...patterns];
    table.setColumns(columns);
    layers.setColumns(columns);
    const { layer, head } = state.get();
    table.setSelection(layer, head);
    table.setSort(sort);
  }

  const radar = radarSection(stage, ({ specialization, patterns }) => {
    aims = [
      ...SPECIALIZATIONS.flatMap((aim) =>
        specialization?.keys.includes(aim.key)
          ? [figureColumn(aim, "Where it looks", specialization.values("raw", aim.key))]
          : [],
      ),
      ...PATTERNS.flatMap((aim) =>
        patterns?.keys.includes(aim.key)
          ? [figureColumn(aim, "Position", patterns.values(aim.key))]
          : [],
      ),
    ];
    setColumns();
  });
  const map = rolesMap(stage, ({ labels, names }) => {
    roles = [
      {
        key: "role",
        name: "Role",
        short: "Role",
        group: "Role",
        values: labels,
        text: (label) => roleName(names[label] ?? ""),
      },
    ];
    setColumns();
  });
  const examples = h("section", { "aria-label": "Examples of the head" });
  if (meta.profile?.examples)
    withParts(
      () => laterParts()?.headExamples(examples, { ...context, signal: stop.signal }),
      stop.signal,
    );
  withParts(() => {
    const parts = laterParts();
    if (parts) table.setSwitch(parts.createGroupSwitch);
  }, stop.signal);
  root.append(
    h("header", { class: "aw-heads-head" }, title, note, legend(profile)),
    examples,
    cards,
    radar.element,
    map.element,
    table.element,
    layers.element,
  );

  function fill(): void {
    for (const { metric, card } of built) {
      card.setFigures({ values: figuresOf(metric), nLayers, nHeads }, tau);
    }
    setColumns();
  }

  function follow(): void {
    const { layer, head, metric: chosen } = state.get();
    title.textContent =
      head === "mean" ? `Layer ${layer}, mean of its heads` : `Layer ${layer}, head ${head}`;
    note.textContent = describe(head);
    for (const { metric, card } of built) card.setSelection(layer, head, metric.key === chosen);
    table.setSelection(layer, head);
  }

  function describe(head: HeadIndex): string {
    if (head === "mean") {
      return (
        `Each figure is the mean of the figures of the layer’s ${nHeads} heads, with the smallest and ` +
        "the largest; it is not the figure of the averaged matrix."
      );
    }
    const all =
      !filling || filling.state === "done"
        ? `all ${nLayers * nHeads} heads`
        : `the heads of the ${filling.done} of ${nLayers} layers that are computed`;
    const among = `among ${all} (1st is the largest).`;
    return profile
      ? `Means over ${formatCount(meta.profile?.n_texts ?? 0)} texts, ${among}`
      : `Figures of its ${n} × ${n} weights, ${among}`;
  }

  // One head, wherever it is pointed at, is marked on every card.
  const pointAt = (event: Event | null): void => {
    const dot = event === null ? null : (event.target as Element).closest("circle[data-index]");
    const index = dot ? Number(dot.getAttribute("data-index")) : null;
    for (const { card } of built) card.point(index);
  };
  cards.addEventListener("pointerover", pointAt, { signal: stop.signal });
  cards.addEventListener("pointerleave", () => pointAt(null), { signal: stop.signal });

  const sortable = (key: string): boolean =>
    [
      "role",
      ...SPECIALIZATION_KEYS,
      ...PATTERN_KEYS,
      ...(meta.profile?.accuracies ?? []),
      ...metrics.map((metric) => metric.key),
    ].includes(key);
  const { metric } = state.get();
  if (sortable(metric)) sort = { key: metric, descending: metric !== "role" };
  fill();
  follow();
  let behind = false;
  state.on(["layer", "head", "metric"], follow, stop.signal);
  // The whole table is written again: once for all layers that come while the page is busy.
  filling?.on(() => {
    if (behind) return;
    behind = true;
    whenIdle(() => {
      behind = false;
      if (stop.signal.aborted) return;
      fill();
      follow();
    });
  }, stop.signal);
  // The figure that shades the head grid sorts the table.
  const resort = ({ metric: key }: Selection): void => {
    if (key !== sort.key && sortable(key)) sortBy({ key, descending: key !== "role" });
  };
  state.on(["metric"], resort, stop.signal);

  return {
    dispose() {
      stop.abort();
      popover.dispose();
      root.remove();
    },
    table: (): Promise<Table> => headsRows(source, arrays),
    svg: () => radar.svg(),
    part: (of) =>
      of === "svg" ? "A part of the view: the radar. The PNG has the whole view." : null,
    options: () => ({ tau }),
  };
};

function legend(profile: boolean): HTMLElement {
  const key = (className: string, text: string): HTMLElement =>
    h("span", { class: "aw-mark" }, h("i", { class: className, "aria-hidden": "true" }), text);
  return h(
    "p",
    { class: "aw-marks" },
    key("aw-mark-this", "this head"),
    key("aw-mark-layer", "its layer"),
    key("aw-mark-other", "other heads"),
    profile
      ? key("aw-mark-interval", "95% interval of the mean")
      : key("aw-mark-uniform", "uniform attention"),
    key("aw-mark-band", "per layer: mean, smallest to largest head"),
  );
}
