/** The chosen head in both runs: radars one over the other, every figure and its change; and all heads by their change. */

import { onTheme } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { fillWhenAnswered } from "../../draw/wait";
import { SPECIALIZATIONS } from "../../figures/catalog/cards";
import { formatNumber } from "../../figures/format";
import { askSpecialization, type Specialization } from "../../figures/head-figures";
import { headName, metricName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import { createRadar } from "../../views/heads/specialization/radar";
import { radarScale } from "../../views/heads/specialization/radar-geometry";
import { carriedHead, ofPartners } from "../data";
import { numberCell, signedCell, tableOf } from "../signs";
import { follow, known, type Panel, type PanelContext } from "./contract";

/** Heads of the table until all are asked for. */
const LISTED = 12;

/** A figure of every head of A, and of its partner. */
interface Change {
  readonly key: string;
  readonly a: ArrayLike<number>;
  readonly b: ArrayLike<number>;
}

export const heads: Panel = (element, context) => {
  const changes = metricChanges(context);
  const aims = h("section", { class: "aw-compare-aims", "aria-label": "Where they look" });
  const figures = h("section", { "aria-label": "Metrics of the chosen head" });
  const all = h("section", { "aria-label": "All heads" });
  element.append(h("div", { class: "aw-compare-columns" }, aims, figures), all);
  context.give(() => {
    const { n_layers: layers, n_heads: count } = context.sources.a.meta.model;
    const at = (values: ArrayLike<number> | undefined, i: number) => known(Number(values?.[i]));
    return {
      columns: [
        "layer",
        "head",
        "distance",
        ...changes.flatMap(({ key }) => [`${key}_a`, `${key}_b`]),
      ],
      rows: Array.from({ length: layers * count }, (_, i) => [
        Math.floor(i / count),
        i % count,
        at(context.compared.distances?.data, i),
        ...changes.flatMap(({ a, b }) => [at(a, i), at(b, i)]),
      ]),
    };
  });
  drawFigures(figures, context, changes);
  drawAll(all, context, changes);
  void fillWhenAnswered(aims, {
    waiting: "Tagging the words of both texts …",
    ask: () =>
      Promise.all(
        [context.sources.a, context.sources.b].map((source) =>
          askSpecialization(source, { signal: context.signal }),
        ),
      ),
    fill: ([a, b]) => drawAims(aims, context, a as Specialization, b as Specialization),
    signal: context.signal,
  });
};

/** The metrics of both runs' first paints. */
export function metricChanges({
  compared,
  sources,
}: Pick<PanelContext, "compared" | "sources">): Change[] {
  const { a, b } = sources;
  const heads = { a: a.meta.model.n_heads, b: b.meta.model.n_heads };
  return a.meta.metrics.keys.flatMap((key) => {
    const [ofA, ofB] = [a.arrays.get(`metric:${key}`), b.arrays.get(`metric:${key}`)];
    if (ofA === undefined || ofB === undefined) return [];
    const partners = ofPartners(compared, ofB.data, heads, a.meta.model.n_layers);
    return [{ key, a: ofA.data, b: partners }];
  });
}

function drawFigures(place: HTMLElement, context: PanelContext, changes: readonly Change[]): void {
  const { states, sources } = context;
  const { n_heads: nHeads } = sources.a.meta.model;
  const draw = (): void => {
    const { layer, head } = states.a.get();
    const title = h("h3", { class: "aw-title" }, `Metrics of ${headName(layer, head)}`);
    if (head === "mean") {
      place.replaceChildren(title, h("p", { class: "aw-hint" }, "Choose a head to compare it."));
      return;
    }
    const at = layer * nHeads + head;
    const rows = changes.map(({ key, a, b }) => {
      const [before, after] = [a[at] ?? Number.NaN, b[at] ?? Number.NaN];
      const spread = Math.max(...Array.from(a, (value, i) => Math.abs((b[i] ?? 0) - value) || 0));
      return h(
        "tr",
        { "data-metric": key },
        h("th", { scope: "row" }, metricName(key)),
        numberCell(before),
        numberCell(after),
        signedCell(after - before, spread),
      );
    });
    place.replaceChildren(title, tableOf(["", "A", "B", "B − A"], rows, "Metrics"));
  };
  follow(context, ["layer", "head"], draw);
  draw();
}

function drawAims(
  place: HTMLElement,
  context: PanelContext,
  a: Specialization,
  b: Specialization,
): void {
  const { compared, states, sources, signal } = context;
  const { n_heads: nHeads } = sources.a.meta.model;
  const aims = SPECIALIZATIONS.filter(({ key }) => a.keys.includes(key) && b.keys.includes(key));
  const radar = createRadar({
    select: () => undefined,
    point: () => undefined,
    explain: () => undefined,
  });
  const title = h("h3", { class: "aw-title" });
  const body = h("div");
  const legend = h(
    "p",
    { class: "aw-compare-key" },
    h("span", { class: "aw-compare-line is-a" }),
    " A, dashed ",
    h("span", { class: "aw-compare-line is-b" }),
    " B, filled",
  );
  place.append(title, radar.element, legend, body);
  let width = 0;
  const draw = (): void => {
    const { layer, head } = states.a.get();
    const partner = carriedHead(compared, layer, head, "b");
    title.textContent = `Where ${headName(layer, head)} looks`;
    const known = head !== "mean" && partner !== null && partner.head !== "mean";
    for (const part of [radar.element, legend]) part.toggleAttribute("hidden", !known);
    if (!known || width === 0) {
      body.textContent = known ? "" : "Choose a head that has a partner to compare it.";
      return;
    }
    const inB = partner.layer * sources.b.meta.model.n_heads + Number(partner.head);
    const at = { a: layer * nHeads + head, b: inB };
    const rows = aims.map(({ key }) => [
      a.values("raw", key)[at.a] ?? Number.NaN,
      b.values("raw", key)[at.b] ?? Number.NaN,
    ]);
    const [ofA, ofB] = [0, 1].map((side) => rows.map((row) => itemAt(row, side)));
    const lists = { a: ofA as number[], b: ofB as number[] };
    const numbers = rows.flat().filter((value) => !Number.isNaN(value));
    radar.draw(
      {
        aims,
        scale: radarScale("raw", numbers),
        layer,
        heads: [lists.a],
        chosen: lists.b,
        chosenHead: -1,
        all: true,
        chance: aims.map(() => Number.NaN),
        absent: aims.map(({ key }, i) =>
          Number.isNaN(itemAt(lists.a, i)) && Number.isNaN(itemAt(lists.b, i))
            ? (a.reasons[key] ?? b.reasons[key] ?? "Not defined here.")
            : null,
        ),
        spoken: `Radar of ${headName(layer, head)} in both runs: ${aims
          .map(
            ({ name }, i) =>
              `${name} ${formatNumber(itemAt(lists.a, i))}, ${formatNumber(itemAt(lists.b, i))}`,
          )
          .join("; ")}`,
      },
      width,
    );
    const top = Math.max(...rows.map(([x, y]) => Math.abs((y as number) - (x as number)) || 0));
    body.replaceChildren(
      tableOf(
        ["", "A", "B", "B − A"],
        aims.map(({ name }, i) => {
          const [x, y] = [itemAt(lists.a, i), itemAt(lists.b, i)];
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, name),
            numberCell(x),
            numberCell(y),
            signedCell(y - x, top),
          );
        }),
        "Specialization",
      ),
    );
  };
  onResize(
    place,
    (wide) => {
      width = wide;
      draw();
    },
    signal,
  );
  follow(context, ["layer", "head"], draw);
  onTheme(place, draw, signal);
}

/** Every head with its distance, and one metric in both runs; the largest first. */
function drawAll(place: HTMLElement, context: PanelContext, changes: readonly Change[]): void {
  const { compared, states, sources } = context;
  const { n_layers: nLayers, n_heads: nHeads } = sources.a.meta.model;
  const { n_heads: ofB } = sources.b.meta.model;
  const distances = compared.distances?.data;
  const partner = compared.arrays.get("partner")?.data;
  let whole = false;
  const metric = h(
    "select",
    { class: "aw-select", "aria-label": "Metric", "data-aw-part": "difference-metric" },
    ...changes.map(({ key }) => h("option", { value: key }, metricName(key))),
  );
  const order = h(
    "select",
    { class: "aw-select", "aria-label": "Order", "data-aw-part": "difference-order" },
    h("option", { value: "distance" }, "by distance"),
    h("option", { value: "change" }, "by change of the metric"),
  );
  const body = h("div");
  place.append(
    h(
      "div",
      { class: "aw-panel-head" },
      h("h3", { class: "aw-title" }, "All heads"),
      order,
      metric,
    ),
    body,
  );
  const draw = (): void => {
    const chosen = changes.find(({ key }) => key === metric.value);
    const change = (i: number): number =>
      chosen === undefined ? Number.NaN : (chosen.b[i] ?? Number.NaN) - (chosen.a[i] ?? Number.NaN);
    const weight = (i: number): number => {
      const value = order.value === "distance" ? (distances?.[i] ?? 0) : Math.abs(change(i));
      return Number.isNaN(value) ? -1 : value;
    };
    const ranked = Array.from({ length: nLayers * nHeads }, (_, i) => i).sort(
      (x, y) => weight(y) - weight(x) || x - y,
    );
    const top = Math.max(...ranked.map((i) => Math.abs(change(i)) || 0));
    const now = states.a.get();
    const rows = ranked.slice(0, whole ? undefined : LISTED).map((i) => {
      const [layer, head] = [Math.floor(i / nHeads), i % nHeads];
      const [l, k] = [partner?.[2 * i] ?? layer, partner?.[2 * i + 1] ?? head];
      const button = h("button", { class: "aw-link-button" }, headName(layer, head));
      button.addEventListener("click", () => states.a.set({ layer, head }));
      return h(
        "tr",
        {
          "aria-current": now.layer === layer && now.head === head,
          "data-head": `${layer}.${head}`,
        },
        h("th", { scope: "row" }, button),
        h(
          "td",
          {},
          l < 0 ? "no partner" : l === layer && k === head && ofB === nHeads ? "" : headName(l, k),
        ),
        numberCell(distances?.[i] ?? Number.NaN),
        numberCell(chosen?.a[i] ?? Number.NaN),
        numberCell(chosen?.b[i] ?? Number.NaN),
        signedCell(change(i), top),
      );
    });
    const name = metricName(metric.value);
    body.replaceChildren(
      tableOf(["head of A", "of B", "distance", `${name}, A`, "B", "B − A"], rows, "All heads"),
    );
    if (whole || ranked.length <= LISTED) return;
    const more = h("button", { class: "aw-button-text" }, `Show all ${ranked.length}`);
    more.addEventListener("click", () => {
      whole = true;
      draw();
    });
    body.append(more);
  };
  for (const select of [metric, order]) select.addEventListener("change", draw);
  follow(context, ["layer", "head"], draw);
  draw();
}
