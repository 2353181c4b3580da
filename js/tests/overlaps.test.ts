// @vitest-environment jsdom
import { h } from "preact";
import { beforeEach, describe, expect, test } from "vitest";
import type { Palette } from "../src/draw/color/theme";
import type { FlowData } from "../src/draw/heatmap/flow";
import { textOf } from "../src/draw/heatmap/labels";
import { type Geometry, type HeatmapData, NO_HIGHLIGHTS } from "../src/draw/heatmap/types";
import { markAxes, markRibbon } from "../src/draw/long/overlaps";
import type { LongMatrix } from "../src/figures/long/store";
import { axisRanges, overlapsOf, windowOf } from "../src/figures/long/windows";
import { NO_OVERFLOW } from "../src/figures/matrix";
import type { Meta } from "../src/protocol/types";
import { attentionVector } from "../src/views/attention/lazy/vector";
import { BlockCard } from "../src/views/attention/long/block";
import { drawn } from "./drawn";

/** 12 tokens, of which the first and the last are special: three windows of five, then one that is moved back. */
const meta = {
  windows: {
    size: 7,
    overlap: 2,
    spans: [
      [1, 6],
      [4, 9],
      [6, 11],
    ],
    of: [0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2],
  },
} as unknown as Meta;
const whole = {} as Meta;

describe("overlaps of windows", () => {
  test("are the tokens that two of them read", () => {
    const read = Array.from({ length: 12 }, (_, token) =>
      meta.windows!.spans.filter(([from, to]) => token >= from && token < to),
    );
    const several = read.flatMap((spans, token) => (spans.length > 1 ? [token] : []));
    const found = overlapsOf(meta).flatMap(({ from, to }) =>
      Array.from({ length: to - from }, (_, i) => from + i),
    );
    expect(found).toEqual(several);
    expect(overlapsOf(meta).map(({ first, last }) => [first, last])).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect(overlapsOf(whole)).toEqual([]);
  });

  test("are named at both ends of a link, and the row's window first", () => {
    expect(windowOf(meta, 5)).toBe("window 2 of 3");
    expect(windowOf(meta, 5, "query")).toBe("window 2 of 3, also in 1");
    expect(windowOf(meta, 5, "key")).toBe("in windows 1 and 2");
    expect(windowOf(meta, 2, "query")).toBe("window 1 of 3");
    expect(windowOf(meta, 2, "key")).toBeNull();
    expect(windowOf(whole, 2, "query")).toBeNull();
  });

  test("lie on an axis of tokens or of words", () => {
    expect(axisRanges(meta, null)).toEqual([[4, 9]]);
    expect(axisRanges(meta, [0, 1, 3, 5, 7, 9, 11])).toEqual([[3, 5]]);
  });
});

describe("their marks", () => {
  let map: { element: HTMLElement; geometry: Geometry };
  const boxes = () =>
    [...map.element.querySelectorAll<HTMLElement>(".aw-overlaps > .aw-overlap")].map(({ style }) =>
      [style.left, style.top, style.width, style.height].map((value) => Number.parseFloat(value)),
    );
  beforeEach(() => {
    const element = document.createElement("div");
    const pictures = document.createElement("div");
    pictures.append(element);
    document.body.replaceChildren(pictures);
    const track = { size: 10, count: 12 };
    map = {
      element,
      geometry: {
        ...{ left: 80, top: 100, width: 120, height: 120, zoomed: false },
        rows: { start: 100, ...track },
        columns: { start: 80, ...track },
      },
    };
  });

  test("stand along both axes, and are explained once", () => {
    markAxes(map, meta);
    markAxes(map, meta);
    const [keys, queries] = boxes();
    expect([keys![0], keys![2]]).toEqual([120, 50]);
    expect([queries![1], queries![3]]).toEqual([140, 50]);
    expect(keys![1]! + keys![3]!).toBeLessThan(100);
    expect(queries![0]! + queries![2]!).toBeLessThan(80);
    expect(document.querySelectorAll('[data-aw-part="overlaps"]')).toHaveLength(1);
    expect(document.body.textContent).toContain("read in two windows");
  });

  test("are the bars of a drawing in lines, and say what they are", () => {
    const { geometry } = map;
    const size = 12;
    const values = new Float32Array(size * size);
    const labels = Array<string>(size).fill("a");
    const received = new Float32Array(size);
    const names = { rows: "query", columns: "key" };
    const axes = {
      rows: size,
      columns: size,
      rowLabels: labels,
      columnLabels: labels,
      axes: names,
    };
    const same = { ...axes, values, max: 1, scale: "unit" as const, marginal: received };
    const links: FlowData = {
      ...{ links: [], leaving: null, max: 1, scale: "unit", axes: names, rowLeast: 0, faint: 0.12 },
      text: textOf(same),
      longest: { rows: 10, columns: 10, names: 10 },
    };
    const boundaries = { rows: [], columns: [] };
    const around = { overflow: NO_OVERFLOW, marginalName: "received", boundaries };
    const data: HeatmapData = { ...same, ...around, allowed: null, ramp: "weight" };
    const colors = { mode: "light", muted: "#777", font: "serif" } as Palette;
    const shown = { geometry, highlights: NO_HIGHLIGHTS, width: 300, wide: false };
    const units = Array.from({ length: size }, (_, token) => ({ token }));
    const drawing = attentionVector({ data, links, units, ...shown }, meta, colors);
    const bars = [...drawing.querySelectorAll("rect")].filter((bar) => bar.textContent !== "");
    expect(bars.map((bar) => bar.textContent!.slice(0, 19))).toEqual(
      Array(2).fill("read in two windows"),
    );
    markAxes(map, meta);
    const place = (bar: Element) =>
      ["x", "y", "width", "height"].map((name) => Number(bar.getAttribute(name)));
    expect(bars.map(place)).toEqual(boxes());
  });

  test("end where the map is cut, and are absent out of sight", () => {
    const zoomed = (start: number): Geometry => ({
      ...map.geometry,
      rows: { ...map.geometry.rows, size: 40, start: 100 + start },
      columns: { ...map.geometry.columns, size: 40, start: 80 + start },
    });
    markAxes({ ...map, geometry: zoomed(-200) }, meta);
    expect(boxes().map(([left, top, width, height]) => [left! + width!, top! + height!])).toEqual([
      [200, 98],
      [78, 220],
    ]);
    markAxes({ ...map, geometry: zoomed(0) }, meta);
    expect(boxes()).toEqual([]);
  });

  test("stay away from a text that was read at once", () => {
    markAxes(map, whole);
    expect(document.body.textContent).toBe("");
    expect(map.element.childElementCount).toBe(0);
  });

  test("lie below the words of the ribbon, also of those that come later, and in their titles", async () => {
    const ribbon = document.createElement("div");
    const button = (token: number) => {
      const element = document.createElement("span");
      element.dataset.token = String(token);
      element.title = "word";
      return element;
    };
    const abort = new AbortController();
    ribbon.append(button(2), button(5));
    markRibbon(ribbon, meta, abort.signal);
    ribbon.append(button(8), button(9));
    await Promise.resolve();
    const marked = [...ribbon.querySelectorAll<HTMLElement>("[data-aw-overlap]")];
    expect(marked.map(({ dataset }) => dataset.token)).toEqual(["5", "8"]);
    for (let i = 0; i < 2; i++)
      marked[1]!.dispatchEvent(new Event("pointerover", { bubbles: true }));
    expect(marked[1]!.title).toBe("word, read in windows 2 and 3");
    abort.abort();
  });
});

describe("the card of a block", () => {
  const matrix = { quantity: "weights", rows: 12, columns: 12 } as unknown as LongMatrix;
  const placesOf = (level: number, query: number, key: number): (string | null)[] => {
    const card = drawn(
      h(BlockCard, {
        block: { level, query, key, value: 0.5 },
        pooling: "max",
        matrix,
        name: (token) => `t${token}`,
        keyName: (token) => `t${token}`,
        error: 0,
        window: (token, role) => windowOf(meta, token, role),
      }),
    );
    return [...card.querySelectorAll(".aw-link-at")].map(({ textContent }) => textContent);
  };

  test("names the window of its queries, and that of its keys where it is another one", () => {
    expect(placesOf(1, 2, 0)).toEqual(["2–3 · window 1 of 3", "0–1"]);
    expect(placesOf(1, 2, 8)).toEqual(["2–3 · window 1 of 3", "8–9 · window 3 of 3"]);
    expect(placesOf(0, 2, 5)).toEqual(["2 · window 1 of 3", "5 · in windows 1 and 2"]);
  });
});
