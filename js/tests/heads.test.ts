// @vitest-environment jsdom

import { type Signal, signal } from "@preact/signals-core";
import { h, render } from "preact";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { dodge } from "../src/draw/strip";
import { METRICS } from "../src/figures/catalog/cards";
import type { Metric } from "../src/figures/catalog/types";
import { formatNumber } from "../src/figures/format";
import * as lazy from "../src/lazy";
import { itemAt } from "../src/protocol/required";
import { dotsOf } from "../src/ui/chart";
import { mount } from "../src/ui/mount";
import { lazyCode } from "../src/views/contract";
import { metricExplanation } from "../src/views/heads/explanation";
import { ascending, layerSummaries, rankOf, scaleOf } from "../src/views/heads/figures";
import { type Column, parseFilter, type Sort, sortHeads } from "../src/views/heads/filter";
import { createHeadsTable } from "../src/views/heads/table";
import { heads } from "../src/views/heads/view";
import { opened, settled } from "./fake";
import { type Run, run } from "./figures-run";
import { ATTENTION, figureOf } from "./head-figures";
import { HEADS, LAYERS, TOKENS } from "./tiny-text";
import { unfold } from "./unfold";

let dispose: () => void = () => undefined;
let element: HTMLElement;

function draw(options: Parameters<typeof run>[0] = {}): Run {
  const made = run(options);
  element = document.createElement("div");
  document.body.append(element);
  dispose = opened(heads, element, made, made.context).dispose;
  unfold(element);
  return made;
}
beforeAll(() => {
  lazyCode.value = lazy;
});
afterEach(() => {
  dispose();
  element?.remove();
});

const card = (key: string): HTMLElement =>
  element.querySelector(`.aw-card[data-metric=${key}]`) as HTMLElement;
const value = (key: string): number =>
  Number((card(key).querySelector(".aw-card-value") as HTMLElement).dataset.awValue);
const figureAt = (layer: number, head: number, key: string, tau = 0.01): number =>
  figureOf(itemAt(itemAt(ATTENTION, layer), head), tau, key);
const order = (): number[] =>
  [...element.querySelectorAll<HTMLElement>(".aw-heads-all tbody tr")].map((row) =>
    Number(row.dataset.index),
  );
const press = (target: Element, key: string): void => {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
};

describe("cards", () => {
  it("show the selected head's figures, all digits behind them", () => {
    draw();
    for (const { key } of METRICS) {
      expect(value(key)).toBe(Math.fround(figureAt(1, 2, key)));
      expect(card(key).querySelector(".aw-card-value")?.textContent).toBe(
        formatNumber(figureAt(1, 2, key)),
      );
    }
  });

  it("say where the head stands among all", () => {
    draw();
    const all = ATTENTION.flat().map((matrix) => figureOf(matrix, 0.01, "confidence_avg"));
    const rank = all.filter((other) => other > figureAt(1, 2, "confidence_avg")).length + 1;
    expect(card("confidence_avg").querySelector(".aw-card-standing")?.textContent).toMatch(
      new RegExp(`^${rank}(st|nd|rd|th) of ${LAYERS * HEADS}$`),
    );
  });

  it("follow the selection", () => {
    const { state } = draw();
    state.set({ layer: 2, head: 0 });
    expect(value("uniformity")).toBe(Math.fround(figureAt(2, 0, "uniformity")));
    expect(element.querySelectorAll(".aw-cards .aw-dot.is-this")).toHaveLength(METRICS.length);
    expect(element.querySelector(".aw-dot.is-this")?.getAttribute("data-index")).toBe("8");
  });

  it("say beside the entropy how many keys a query attends to", () => {
    const { state } = draw();
    const detail = (): string | null | undefined =>
      card("focus_entropy").querySelector(".aw-card-sub")?.textContent;
    const keysOf = (head: number): number => Math.fround(figureAt(1, head, "effective_keys"));
    expect(detail()).toContain(` of max, ${formatNumber(keysOf(2))} keys a query`);
    state.set({ head: "mean" });
    const mean = [0, 1, 2, 3].reduce((total, head) => total + keysOf(head), 0) / HEADS;
    expect(detail()).toContain(` of max, ${formatNumber(mean)} keys a query`);
  });

  it("give the mean of the layer's heads for the mean head, and say that", () => {
    const { state } = draw();
    state.set({ head: "mean" });
    const own = Array.from({ length: HEADS }, (_, head) =>
      Math.fround(figureAt(1, head, "focus_entropy")),
    );
    expect(value("focus_entropy")).toBeCloseTo(own.reduce((a, b) => a + b) / HEADS, 12);
    expect(card("focus_entropy").querySelector(".aw-card-standing")?.textContent).toBe(
      `${formatNumber(Math.min(...own))} – ${formatNumber(Math.max(...own))}`,
    );
    expect(element.querySelector(".aw-view-note")?.textContent).toContain(
      "not the figure of the averaged matrix",
    );
  });

  it("select the head of a dot that is clicked", () => {
    const { state } = draw();
    card("sparsity")
      .querySelector(".aw-dot[data-index='7']")
      ?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(state.get()).toMatchObject({ layer: 1, head: 3, metric: "thumbnails" });
  });

  it("walk through the heads in order of the figure with arrow keys", () => {
    const { state } = draw();
    const strip = card("confidence_avg").querySelector("[role=slider]") as HTMLElement;
    press(strip, "Home");
    const visited = [state.get()];
    for (let i = 1; i < LAYERS * HEADS; i++) {
      press(strip, "ArrowRight");
      visited.push(state.get());
    }
    const seen = visited.map(({ layer, head }) =>
      figureAt(layer, head as number, "confidence_avg"),
    );
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(new Set(seen).size).toBe(LAYERS * HEADS);
    expect(strip.getAttribute("aria-valuenow")).toBe(String(LAYERS * HEADS));
  });

  it("explain themselves and shade the grid and the table by their metric", () => {
    const { state } = draw();
    card("focus_entropy").querySelector<HTMLElement>(".aw-card-title")?.click();
    expect(state.get().metric).toBe("focus_entropy");
    const dialog = element.querySelector("[role=dialog]") as HTMLElement;
    expect(dialog.querySelector("math")).not.toBeNull();
    expect(dialog.textContent).toContain("High is diffuse, not focused.");
    expect(dialog.textContent).toContain(
      `${formatNumber(TOKENS.length * Math.log(TOKENS.length))} nats`,
    );
    expect(dialog.textContent).toContain("doi:10.18653/v1/W19-4828");
    expect(order()[0]).toBe(
      [...ATTENTION.flat().keys()].sort(
        (a, b) =>
          figureOf(itemAt(ATTENTION.flat(), b), 0.01, "focus_entropy") -
          figureOf(itemAt(ATTENTION.flat(), a), 0.01, "focus_entropy"),
      )[0],
    );
  });

  it("explain a rectangle and a mask by the keys of each query", () => {
    const uniformity = METRICS.find(({ key }) => key === "uniformity") as Metric;
    const explained = (keys: number | null, masked: boolean): string => {
      const host = document.createElement("div");
      const size = { queries: 7, keys, masked };
      render(metricExplanation(uniformity, { tau: 0.01, scale: [0, 0.3, 0], ...size }), host);
      return host.textContent ?? "";
    };
    const [square, causal, rectangle] = [
      explained(null, false),
      explained(null, true),
      explained(9, false),
    ];
    expect(square).toContain("for these 7 tokens (0 to √(n − 1) / n)");
    expect(square).not.toContain("mᵢ");
    expect(causal).toContain("mᵢkeys that query i may look at");
    expect(rectangle).toContain("mᵢkeys that query i may look at, here all 9");
    expect(rectangle).toContain("0 to 0.300 for these 7 queries and 9 keysUniform attention");
    expect(rectangle).not.toMatch(/n tokens|\/ n\b/);
  });

  it("ask for another threshold and show it", async () => {
    const { asked: all } = draw();
    const asked = (): unknown[] => all.filter(({ kind }) => kind === "metrics");
    element.querySelector<HTMLElement>("[data-tau=uniform]")?.click();
    await settled();
    expect(asked()).toEqual([{ kind: "metrics", tau: "uniform" }]);
    expect(value("sparsity")).toBe(Math.fround(figureAt(1, 2, "sparsity", 1 / TOKENS.length)));
    expect(element.querySelector("[data-tau=uniform]")?.getAttribute("aria-pressed")).toBe("true");
    element.querySelector<HTMLElement>("[data-tau='0.01']")?.click();
    await settled();
    expect(asked()).toHaveLength(1);
    expect(value("sparsity")).toBe(Math.fround(figureAt(1, 2, "sparsity")));
  });

  it("keep the last figures and report when the threshold cannot be had", async () => {
    const { reports } = draw({ live: false });
    element.querySelector<HTMLElement>("[data-tau=uniform]")?.click();
    await settled();
    expect(reports).toEqual(["There is no kernel here."]);
    expect(value("sparsity")).toBe(Math.fround(figureAt(1, 2, "sparsity")));
    expect(element.querySelector("[data-tau='0.01']")?.getAttribute("aria-pressed")).toBe("true");
  });
});

describe("table of all heads", () => {
  const header = (key: string): HTMLElement =>
    element.querySelector(`thead th[data-key="${key}"]`) as HTMLElement;

  it("has every head and every figure", () => {
    draw();
    const cells = [...element.querySelectorAll<HTMLElement>(".aw-heads-all tbody tr")].map((row) =>
      [...row.querySelectorAll("td")].map((cell) => Number(cell.dataset.awValue)),
    );
    expect(cells).toEqual(
      ATTENTION.flat().map((matrix) =>
        METRICS.map(({ key }) => Math.fround(figureOf(matrix, 0.01, key))),
      ),
    );
  });

  it("sorts by a metric, largest first, then the other way, and shades by it", () => {
    const { state } = draw();
    header("uniformity").querySelector("button")?.click();
    expect(header("uniformity").getAttribute("aria-sort")).toBe("descending");
    expect(state.get().metric).toBe("uniformity");
    const down = order();
    header("uniformity").querySelector("button")?.click();
    expect(header("uniformity").getAttribute("aria-sort")).toBe("ascending");
    expect(order()).toEqual([...down].reverse());
  });

  it("filters by layer, head and figure, and says when it cannot read a filter", () => {
    draw();
    const input = element.querySelector("input") as HTMLInputElement;
    const filter = (text: string): number[] => {
      input.value = text;
      input.dispatchEvent(new Event("input"));
      return order();
    };
    expect(filter("L1")).toEqual([4, 5, 6, 7]);
    expect(filter("h2")).toEqual([2, 6, 10]);
    expect(filter("2.3")).toEqual([11]);
    expect(filter("L2 · H3".replace(" ·", ""))).toEqual([11]);
    const limit = figureAt(1, 2, "confidence_avg");
    expect(filter(`conf. avg >= ${limit.toFixed(6)} and L1`)).toEqual(
      [4, 5, 6, 7].filter(
        (index) =>
          Math.fround(figureAt(1, index % HEADS, "confidence_avg")) >= Number(limit.toFixed(6)),
      ),
    );
    expect(filter("nonsense")).toHaveLength(LAYERS * HEADS);
    expect(input.getAttribute("aria-invalid")).toBe("true");
    expect(element.querySelector(".aw-heads-count")?.textContent).toContain("Not understood");
  });

  it("selects the head of a row and marks the selected row", () => {
    const { state } = draw();
    element.querySelector<HTMLElement>("tr[data-index='9'] button")?.click();
    expect(state.get()).toMatchObject({ layer: 2, head: 1 });
    expect(element.querySelector("tr[aria-current]")?.getAttribute("data-index")).toBe("9");
    expect(element.querySelectorAll(".aw-heads-all tbody button[tabindex='0']")).toHaveLength(1);
  });

  it("moves along rows with arrow keys", () => {
    draw();
    const buttons = [...element.querySelectorAll<HTMLElement>(".aw-heads-all tbody button")];
    itemAt(buttons, 3).focus();
    press(itemAt(buttons, 3), "ArrowDown");
    expect(document.activeElement).toBe(buttons[4]);
    press(itemAt(buttons, 4), "End");
    expect(document.activeElement).toBe(buttons.at(-1));
  });
});

describe("figures", () => {
  const values = [0.5, Number.NaN, 0.9, 0.5, 0.1, 0.7];
  it("rank the largest first, ties alike, N/A not at all", () => {
    expect(values.map((v) => rankOf(values, v))).toEqual([3, Number.NaN, 1, 3, 5, 2]);
    expect(ascending(values)).toEqual([4, 0, 3, 5, 2]);
  });
  it("sort N/A last both ways", () => {
    expect(sortHeads(values, 6, { key: "x", descending: true })).toEqual([2, 5, 0, 3, 4, 1]);
    expect(sortHeads(values, 6, { key: "x", descending: false })).toEqual([4, 0, 3, 5, 2, 1]);
  });
  it("sum a layer up by its heads, N/A left out", () => {
    expect(layerSummaries({ values, nLayers: 2, nHeads: 3 })).toEqual([
      { mean: 0.7, min: 0.5, max: 0.9 },
      { mean: (0.5 + 0.1 + 0.7) / 3, min: 0.1, max: 0.7 },
    ]);
  });
  it("count only the keys that the mask allows", () => {
    const alike = [{ sparsity: [0, 1, 0.5] }] as const;
    const each = [{ sparsity: [0, 1, 0.25] }, { sparsity: [0, 1, 0.75] }] as const;
    expect(scaleOf(alike, 7, "sparsity")).toEqual([0, 1, 0.5]);
    expect(scaleOf(each, 1, "sparsity")[2]).toBe(0.75);
    expect(scaleOf([], 0, "sparsity")).toEqual([Number.NaN, Number.NaN, Number.NaN]);
  });
  const COLUMN = {
    key: "conf_avg",
    name: "Confidence",
    short: "Conf. avg",
    group: "Matrix",
    values,
  };
  const ROLE = {
    ...{ key: "role", name: "Role", short: "Role", group: "Role", values: [0, 1, 0, 1, 0, 1] },
    text: (role: number) => ["cls + self", "diffuse"][role] ?? "",
  };
  it.each([
    ["", [0, 1, 2, 3, 4, 5]],
    ["L1", [3, 4, 5]],
    ["h2", [2, 5]],
    ["L1 H2", [5]],
    ["1.2", [5]],
    ["L1 · H2", [5]],
    ["conf. avg > 0.5", [2, 5]],
    ["conf >= 0.5", [0, 2, 3, 5]],
    ["conf < 5e-1", [4]],
    ["confidence ≤ 0,5", [0, 3, 4]],
    ["conf = 0.9", [2]],
    ["conf > 0.4 and L0", [0, 2]],
    ["role: DIFF & conf > 0.6", [5]],
    ["role = cls", [0, 2, 4]],
    ["> 3", null],
    ["conf >", null],
    ["conf > much", null],
    ["role > 1", null],
    ["nonsense", null],
  ] as const)("filter by %j", (text, expected) => {
    const test = parseFilter(text, [ROLE, COLUMN], 3);
    expect(test && [0, 1, 2, 3, 4, 5].filter(test)).toEqual(expected);
  });
  it.each([
    // Dots at one place are stacked from the middle outwards, N/A has none.
    [
      [0, 5, 10],
      [
        [0, 17],
        [0.5, 17],
        [1, 17],
      ],
    ],
    [
      [0, Number.NaN, 0, 0],
      [
        [0, 17],
        [0, 22],
        [0, 12],
      ],
    ],
  ] as const)("put the dots of %j at %j", (numbers, expected) => {
    const [group] = dotsOf(numbers, [0, Math.max(1, ...numbers.filter(Boolean))], 4);
    expect(group?.map(({ x, y }) => [x, y])).toEqual(expected);
  });
  it("keep the dots of a layer together", () => {
    const groups = dotsOf([1, 2, 3, 4, 5, 6], [0, 6], 3);
    expect(groups.map((dots) => dots.map(({ index }) => index))).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
  });
  it("spread dots that crowd without leaving the strip", () => {
    const y = dodge(new Array(60).fill(0.5), 34);
    expect(new Set(y).size).toBe(60);
    expect(Math.min(...y)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...y)).toBeLessThanOrEqual(34);
  });
});

it("leaves nothing behind", () => {
  const { state } = draw();
  dispose();
  expect(element.childElementCount).toBe(0);
  state.set({ layer: 0 });
  expect(element.childElementCount).toBe(0);
});

describe("the choice of columns", () => {
  const column = (key: string, group: string): Column => ({
    key,
    name: key,
    short: key,
    group,
    values: Array.from({ length: LAYERS * HEADS }, (_, index) => index),
  });
  const COLUMNS = [
    column("role", "Role"),
    column("entropy", "Matrix"),
    column("syntax", "Where it looks"),
    column("previous", "Pattern"),
    column("accuracy: next", "Accuracy"),
  ];

  /** The table of `columns`; returns its order, to be changed. */
  function made(columns: readonly Column[], sort = "entropy"): Signal<Sort> {
    dispose();
    const [order, stop] = [signal<Sort>({ key: sort, descending: true }), new AbortController()];
    element = document.createElement("div");
    document.body.append(element);
    const Table = createHeadsTable(element, {
      nLayers: LAYERS,
      nHeads: HEADS,
      aligned: false,
      columns: signal(columns),
      chosen: signal(HEADS + 2),
      sort: order,
      sortBy: () => undefined,
      selectIndex: () => undefined,
      until: stop.signal,
    });
    mount(element, () => h(Table, {}), stop.signal);
    dispose = () => stop.abort();
    return order;
  }
  const keys = (): (string | undefined)[] =>
    [...element.querySelectorAll<HTMLElement>("thead th[data-key]")].map(
      (cell) => cell.dataset.key,
    );
  const choose = (kind: string): void =>
    element.querySelector<HTMLElement>(`[data-group="${kind}"]`)?.click();

  it("shows one kind of figures with the role, and all when asked", () => {
    made(COLUMNS);
    expect(keys()).toEqual(["head", "role", "entropy"]);
    choose("Where it looks");
    expect(keys()).toEqual(["head", "role", "syntax", "previous"]);
    expect(element.querySelector("[aria-pressed=true]")?.textContent).toBe("Where it looks");
    choose("All");
    expect(keys()).toEqual(["head", ...COLUMNS.map(({ key }) => key)]);
    expect(element.querySelector("tr[aria-current]")?.getAttribute("data-index")).toBe(
      String(HEADS + 2),
    );
  });

  it("shows the kind that the table is sorted by, and filters by all", () => {
    const sort = made(COLUMNS, "accuracy: next");
    expect(keys()).toEqual(["head", "role", "accuracy: next"]);
    sort.value = { key: "syntax", descending: true };
    expect(keys()).toEqual(["head", "role", "syntax", "previous"]);
    const filter = element.querySelector("input") as HTMLInputElement;
    filter.value = "entropy > 3";
    filter.dispatchEvent(new Event("input"));
    expect(order().length).toBe(LAYERS * HEADS - 4);
  });

  it("is there for the figures of one text, and not for those of one kind", () => {
    made(COLUMNS.slice(0, 4));
    expect(keys()).toEqual(["head", "role", "entropy"]);
    made(COLUMNS.slice(0, 2));
    expect(keys().length).toBe(3);
    expect(element.querySelector(".aw-segmented")).toBeNull();
  });
});
