/** Every layer and the model: mean of the heads' figures, smallest to largest. */

import { h } from "../../draw/dom";
import { exact, formatNumber } from "../../figures/format";
import { layerSummaries, type Summary, summarize } from "./figures";
import type { Column } from "./table";

export interface LayersTable {
  readonly element: HTMLElement;
  setColumns(columns: readonly Column[]): void;
}

function cell({ mean, min, max }: Summary, key: string): HTMLTableCellElement {
  const range = Number.isNaN(mean)
    ? null
    : h("small", {}, `${formatNumber(min, 2)} – ${formatNumber(max, 2)}`);
  return h(
    "td",
    {
      "data-aw-value": exact(mean),
      "data-metric": key,
      title: `mean ${exact(mean)}, ${exact(min)} to ${exact(max)}`,
    },
    formatNumber(mean),
    range,
  );
}

/** Closed at first. */
export function createLayersTable(nLayers: number, nHeads: number): LayersTable {
  const table = h("table", { class: "aw-heads-table aw-layers-table" });
  const element = h(
    "details",
    { class: "aw-layers-all", "data-aw-part": "layers-summary" },
    h("summary", {}, "By layer: mean of its heads’ figures, smallest to largest"),
    h(
      "div",
      { class: "aw-heads-scroll", tabindex: 0, role: "region", "aria-label": "By layer" },
      table,
    ),
  );
  let columns: readonly Column[] = [];
  let stale = true;

  function fill(): void {
    if (!element.open || !stale) return;
    stale = false;
    const numeric = columns.filter(({ text }) => text === undefined);
    const summaries = numeric.map(({ key, values }) => ({
      key,
      layers: layerSummaries({ values, nLayers, nHeads }),
      model: summarize(Array.from(values)),
    }));
    const line = (name: string, pick: (of: (typeof summaries)[number]) => Summary) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, name),
        ...summaries.map((of) => cell(pick(of), of.key)),
      );
    table.style.setProperty("--aw-columns", String(numeric.length));
    table.replaceChildren(
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td", {}),
          ...numeric.map(({ short, name }) => h("th", { scope: "col", title: name }, short)),
        ),
      ),
      h(
        "tbody",
        {},
        ...Array.from({ length: nLayers }, (_, layer) =>
          line(`L${layer}`, ({ layers }) => layers[layer] as Summary),
        ),
        line("Model", ({ model }) => model),
      ),
    );
  }
  element.addEventListener("toggle", fill);
  return {
    element,
    setColumns(next) {
      columns = next;
      stale = true;
      fill();
    },
  };
}
