/** One pair of sentences token by token, and how the cell follows from it. */

import { CellMap } from "../../draw/cell-map/cell-map";
import { type WeightLegend, weightLegend } from "../../draw/color/weight-legend";
import { h, setAttributes } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { byTouch } from "../../draw/touch";
import { largest, maximum } from "../../figures/derive/matrix";
import { unitOf } from "../../figures/derive/token-unit";
import { exact, formatCount, formatNumber } from "../../figures/format";
import { headName, schemeOf, unitLabel } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../contract";
import {
  linkAt,
  massSum,
  type SentenceMatrix,
  sentenceOf,
  type TokenBlock,
  type Witness,
} from "./data";
import { type Place, sentenceName } from "./grid";

const MAP = { rowHeight: null, cellMost: 34, heightMost: 440 } as const;
/** Links listed next to the map. */
const LINKS = 6;

export interface Drill {
  readonly element: HTMLElement;
  readonly place: Place;
  show(matrix: SentenceMatrix, block: TokenBlock): void;
  /** The widget's colors have changed. */
  recolor(): void;
  dispose(): void;
}

export function createDrill(place: Place, stage: ViewContext, close: () => void): Drill {
  const { source, state, announce } = stage;
  const stop = new AbortController();
  const { signal } = stop;
  const { tokens } = source.meta;
  const scheme = schemeOf(tokens);
  const { a, b } = place;
  const name = (position: number): string => unitLabel(unitOf(tokens, position), scheme);
  let block: TokenBlock | null = null;
  let matrix: SentenceMatrix | null = null;
  let max = 0;

  const heading = h("h3", { class: "aw-title" });
  const derivation = h("p", { class: "aw-drill-sum", "data-aw-part": "drill-sum" });
  const witness = h("div", { class: "aw-drill-witness", "data-aw-part": "witness" });
  const links = h("ol", { class: "aw-drill-links", "data-aw-part": "drill-links" });
  const strongest = h("div", {}, h("h4", { class: "aw-drill-subtitle" }, "Strongest links"), links);
  const legend: WeightLegend = weightLegend();
  const readout = h("p", { class: "aw-readout", "data-aw-part": "drill-readout" });
  const dismiss = h(
    "button",
    { class: "aw-button", "aria-label": "Close the tokens of this pair" },
    "×",
  );
  dismiss.addEventListener("click", close, { signal });

  const map = new CellMap(
    MAP,
    {
      point(cell, byKey) {
        readout.replaceChildren(...describe(cell));
        if (cell !== null && byKey) announce(readout.textContent ?? "");
      },
      pick({ row, column }) {
        if (block !== null) pin(itemAt(block.queries, row), itemAt(block.keys, column));
      },
    },
    "drill",
    signal,
  );
  const room = h("div", { class: "aw-drill-map" }, map.element);
  const element = h(
    "section",
    {
      class: "aw-drill",
      "aria-label": `Tokens of ${sentenceName(a)} and ${sentenceName(b)}`,
      "data-aw-part": "drill-down",
    },
    h("div", { class: "aw-panel-head" }, heading, legend.element, dismiss),
    derivation,
    h(
      "div",
      { class: "aw-drill-body" },
      h("div", {}, room, readout),
      h("div", { class: "aw-drill-side" }, witness, strongest),
    ),
  );

  function pin(query: number, key: number): void {
    state.set({ token: query, pair: [query, key] });
    announce(`Pinned ${name(query)} to ${name(key)}.`);
  }

  const token = (position: number): Node =>
    h(
      "span",
      { class: "aw-drill-token" },
      h("bdi", { dir: "ltr" }, name(position)),
      h("span", { class: "aw-drill-at" }, String(position)),
    );
  const number = (value: number, digits?: number, error = 0): HTMLElement =>
    h(
      "strong",
      { class: "aw-number", "data-aw-value": exact(value, error), title: exact(value, error) },
      formatNumber(value, digits, error),
    );

  function describe(cell: { row: number; column: number } | null): (Node | string)[] {
    if (block === null || cell === null) {
      return [
        byTouch()
          ? "Tap for weights; a second tap pins the two tokens in every view."
          : "Hover for weights; a click pins the two tokens in every view.",
      ];
    }
    const { keys, weights, error } = block;
    const at = cell.row * keys.length + cell.column;
    const value = itemAt(weights, at);
    const { query, key } = linkAt(block, at);
    const link: (Node | string)[] = [token(query), " → ", token(key)];
    if (Number.isNaN(value)) return [...link, "  impossible: the mask forbids it"];
    const sum = weights
      .subarray(cell.row * keys.length, (cell.row + 1) * keys.length)
      .reduce((total, weight) => total + (weight || 0), 0);
    const ofRow = matrix?.asked.aggregation === "mass" && keys.length > 1;
    return [
      ...link,
      "  ",
      number(value, undefined, error(value)),
      ...(ofRow ? [" of its row's ", number(sum, undefined, error(sum, keys.length))] : []),
    ];
  }

  function derive(
    shownMatrix: SentenceMatrix,
    { queries, keys, weights, error }: TokenBlock,
  ): void {
    const value = itemAt(shownMatrix.values, a * shownMatrix.size + b);
    if (Number.isNaN(value)) {
      derivation.textContent = "The model's mask forbids every link between the two.";
      return;
    }
    const count = (size: number): string => (size === 1 ? "token" : `${formatCount(size)} tokens`);
    if (shownMatrix.asked.aggregation === "mass") {
      const { total, mean, digits } = massSum({ queries, keys, weights });
      derivation.replaceChildren(
        `Mean over the ${count(queries.length)} of ${sentenceName(a)} of what each ` +
          `${shownMatrix.asked.quantity === null ? "gives to" : "takes from"} ` +
          `${sentenceName(b)}: all cells sum to `,
        number(total, digits, error(total, weights.length)),
        ` ÷ ${formatCount(queries.length)} = `,
        number(mean, undefined, error(mean, keys.length)),
        ".",
      );
    } else {
      derivation.replaceChildren(
        `Largest of the ${formatCount(weights.length)} cells = `,
        number(value, undefined, shownMatrix.error(value)),
        ".",
      );
    }
  }

  function testify(made: Witness | null, value: number): void {
    witness.hidden = made === null;
    if (made === null) return;
    const { layer, head, query, key } = made;
    const button = h(
      "button",
      { class: "aw-drill-show", "data-aw-part": "show-witness" },
      `Show L${layer} H${head}`,
    );
    button.addEventListener(
      "click",
      () => {
        // This view goes, and with it the button: the focus stays at the tab of the next one.
        const tab = element
          .closest(".attn-widget")
          ?.querySelector<HTMLElement>('[role="tab"][data-view="attention"]');
        state.set({
          layer,
          head,
          token: query,
          pair: [query, key],
          quantity: matrix?.asked.quantity ?? "weights",
          view: "attention",
        });
        tab?.focus({ preventScroll: true });
      },
      { signal },
    );
    witness.replaceChildren(
      h(
        "span",
        {},
        "Made by ",
        h("strong", {}, headName(layer, head)),
        ": ",
        token(query),
        " → ",
        token(key),
        ", ",
        number(value, undefined, matrix?.error(value) ?? 0),
      ),
      button,
    );
  }

  function mark(): void {
    if (block === null) return;
    const { pair } = state.get();
    const row = pair === null ? -1 : block.queries.indexOf(pair[0]);
    const column = pair === null ? -1 : block.keys.indexOf(pair[1]);
    map.mark(row >= 0 && column >= 0 ? { row, column } : null);
    for (const button of links.querySelectorAll("button")) {
      const { query, key } = button.dataset;
      const pinned = pair !== null && Number(query) === pair[0] && Number(key) === pair[1];
      button.setAttribute("aria-pressed", String(pinned));
    }
  }

  function list(of: TokenBlock): void {
    const { weights, error } = of;
    const known = Float32Array.from(weights, (weight) => (Number.isNaN(weight) ? -1 : weight));
    strongest.hidden = known.every((weight) => weight < 0);
    links.replaceChildren(
      ...largest(known, LINKS).flatMap((at) => {
        const weight = itemAt(known, at);
        if (weight < 0) return [];
        const { query, key } = linkAt(of, at);
        const off = error(weight);
        const all = exact(weight, off);
        const button = h(
          "button",
          { class: "aw-drill-link", "data-query": query, "data-key": key },
          h("span", {}, token(query), " → ", token(key)),
          h(
            "span",
            { class: "aw-number", "data-aw-value": all, title: all },
            formatNumber(weight, undefined, off),
          ),
        );
        button.addEventListener("click", () => pin(query, key), { signal });
        return [h("li", {}, button)];
      }),
    );
  }

  function draw(): void {
    if (block === null) return;
    const { queries, keys, weights } = block;
    const { scale } = state.get();
    legend.show(max, scale, block.error(max));
    legend.element.hidden = max === 0;
    map.show(
      {
        rows: queries.length,
        columns: keys.length,
        values: weights,
        top: max,
        scale,
        rowLabels: queries.map(name),
        columnLabels: keys.map(name),
      },
      `Tokens of ${sentenceName(a)} against tokens of ${sentenceName(b)}`,
    );
    mark();
  }

  onResize(room, (width) => map.resize(width), signal);
  state.on(["pair"], mark, signal);
  state.on(["scale"], draw, signal);
  return {
    element,
    place,
    show(nextMatrix, next) {
      matrix = nextMatrix;
      block = next;
      max = maximum(next.weights);
      const value = itemAt(nextMatrix.values, a * nextMatrix.size + b);
      heading.replaceChildren(
        `${sentenceName(a)} → ${sentenceName(b)}, token by token`,
        h("span", { class: "aw-muted" }, `  ${queriesByKeys(next)}`),
      );
      derive(nextMatrix, next);
      testify(nextMatrix.witness(a, b), value);
      list(next);
      readout.replaceChildren(...describe(null));
      setAttributes(element, { "aria-busy": null });
      draw();
    },
    recolor() {
      map.recolor();
      legend.show(max, state.get().scale, block?.error(max));
    },
    dispose() {
      stop.abort();
      element.remove();
    },
  };
}

const queriesByKeys = ({ queries, keys }: TokenBlock): string =>
  `${formatCount(queries.length)} × ${formatCount(keys.length)}`;

/** The cell that holds a pair of tokens. */
export function placeOfPair(
  matrix: SentenceMatrix,
  pair: readonly [number, number] | null,
): Place | null {
  if (pair === null) return null;
  const [a, b] = [sentenceOf(matrix, pair[0]), sentenceOf(matrix, pair[1])];
  return a < 0 || b < 0 ? null : { a, b };
}
