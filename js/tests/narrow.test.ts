import { describe, expect, test } from "vitest";
import { textOf } from "../src/draw/heatmap/labels";
import { layoutHeatmap } from "../src/draw/heatmap/layout";
import { unitOfToken, unitsOf } from "../src/figures/derive/units";
import type { Matrix } from "../src/figures/matrix";
import { cellsOf, highlightsOf } from "../src/views/attention/cells";
import { isNarrow, layoutPictures } from "../src/views/attention/layout";
import { placeAtPointer } from "../src/views/attention/lazy/place-card";
import { startsOfAxes } from "../src/views/attention/lazy/starts";
import { linksOfRow } from "../src/views/attention/narrow";
import { metaOf } from "./runs";

const WORDS = "the old man sat down . it was late . then he left".split(" ");
const { tokens } = metaOf(["[CLS]", ...WORDS, "[SEP]"]);
const units = unitsOf(tokens, { special: true });
const sentences = [7, 11].map((at) => ({ at, kind: "sentence" as const }));
const axes = { queries: units, keys: units };
const starts = startsOfAxes(axes, tokens, tokens, { rows: sentences, columns: [] });

describe("a matrix of many tokens", () => {
  test("takes the width, as high as a screen, and the flow's place only where that is free", () => {
    expect([39, 40].map((n) => isNarrow({ rows: 5, columns: n }))).toEqual([false, true]);
    expect(layoutPictures(780, null, true)).toEqual({ wide: false, width: 780, height: 800 });
    expect(layoutPictures(1043, null, true).wide).toBe(false);
    expect(layoutPictures(1044, null, true)).toEqual({ wide: true, width: 800, height: 800 });
    expect(layoutPictures(780, 300, true).height).toBe(300);
  });

  test("names sentences by their first words, special tokens left out", () => {
    expect([...starts.rows]).toEqual([
      [1, "the old man sat down"],
      [7, "it was late ."],
      [11, "then he left"],
    ]);
    // Nothing is known of the columns' sentences.
    expect(starts.columns.size).toBe(0);
  });

  test("gives its first room to starts of sentences, and less and less to others", () => {
    const labels = Array.from({ length: 200 }, (_, i) => `t${i}`);
    const marginal = Float32Array.from(labels, (_, i) => 200 - i);
    const places = new Map([0, 50, 51, 120].map((at) => [at, `start ${at}`]));
    const data = { rows: 200, rowLabels: labels, columnLabels: labels, marginal };
    const { rows } = textOf({ ...data, starts: { rows: places, columns: new Map() } });
    const range = [0, 800] as const;
    const track = { start: 0, size: 4, count: 200 };
    const written = rows.labels(track, range, [121]);
    // 51 is too near to 50, and 120 to the highlighted row.
    const first = written.filter(({ text }) => text.startsWith("start"));
    expect(first.map(({ text }) => text)).toEqual(["start 0", "start 50"]);
    expect(written.filter(({ bold }) => bold).map(({ text }) => text)).toEqual(["t121"]);
    const at = written.map((label) => label.at).sort((a, b) => a - b);
    for (let i = 1; i < at.length; i++) expect(at[i]! - at[i - 1]!).toBeGreaterThanOrEqual(11);
    const others = written.length - first.length - 1;
    expect(others).toBeLessThanOrEqual(800 / 26);
    // Zoomed in, every token has its own label.
    const near = rows.labels({ start: 0, size: 11, count: 200 }, [0, 110], []);
    expect(near.map(({ text }) => text)).toEqual(labels.slice(0, 10));
  });

  test("has labels of a length of its own while there is none for each token", () => {
    const longest = { rows: 300, columns: 300, names: 40 };
    const room = { width: 500, height: 550 };
    const [many, few] = [400, 40].map((n) =>
      layoutHeatmap({ rows: n, columns: n, starts }, longest, room),
    );
    expect(many!.left).toBe(100 + 8);
    expect(many!.top).toBe(60 + 8);
    expect(few!.top).toBeLessThanOrEqual(60 + 8);
    expect(many!.left + many!.width).toBeLessThanOrEqual(500);
  });

  test("marks the strongest links of the row under the pointer, else of the focus", () => {
    const N = 5;
    const weights = new Float32Array(N * N).fill(1 / N);
    weights.set([0.6, 0.04, 0.03, 0.3, 0.03], 2 * N);
    weights.set([0, 0, 0, 0, 1], 3 * N);
    const [queries, keys] = [units.slice(0, N), units.slice(0, N)];
    const place = (token: number | null) => unitOfToken(queries, token);
    const most = { max: 1, wordMax: 1, scores: null, allowed: null };
    const of = { weights, queries, keys, queryOf: place, keyOf: place, ...most };
    const matrix = { layer: 0, head: 0, quantity: "weights", ...of } as unknown as Matrix;
    const links = (row: number) => linksOfRow(matrix, cellsOf(matrix), row, "unit");
    // In order of weight, and none that has less than an even share.
    expect(links(2).map(({ column }) => column)).toEqual([0, 3]);
    expect(links(2).map(({ shade }) => shade)).toEqual([0.6, 0.3].map((x) => Math.round(255 * x)));
    expect(links(1)).toEqual([]);
    expect(links(-1)).toEqual([]);
    const selection = { token: 2, pair: null, group: [] } as never;
    const rowOf = (hover: Parameters<typeof highlightsOf>[2]) =>
      highlightsOf(matrix, selection, hover, links).links[0]?.row;
    expect(rowOf(null)).toBe(2);
    expect(rowOf({ row: 3, column: -1 })).toBe(3);
    expect(rowOf({ row: -1, column: 1 })).toBe(2);
  });
});

test("a card at the pointer is beside it and within its room", () => {
  const card = { width: 100, height: 50 };
  const room = { width: 400, height: 300 };
  expect(placeAtPointer({ x: 60, y: 100 }, card, room)).toEqual({ x: 72, y: 120 });
  expect(placeAtPointer({ x: 380, y: 290 }, card, room)).toEqual({ x: 268, y: 228 });
  expect(placeAtPointer({ x: 5, y: 5 }, card, { width: 90, height: 40 })).toEqual({ x: 0, y: 0 });
});
