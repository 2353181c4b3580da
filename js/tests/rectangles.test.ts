/** Matrices of two texts: their layout, units, links, keys and tables, and the golden cross-attention. */

import { describe, expect, it, test } from "vitest";
import { eachOverflow } from "../src/draw/heatmap/cells";
import { flowAt, flowGutters, keyTrack } from "../src/draw/heatmap/flow";
import { layoutHeatmap } from "../src/draw/heatmap/layout";
import type { Geometry } from "../src/draw/heatmap/types";
import { captionLines, captionOf } from "../src/features/exports/caption";
import { project, projectAllowed, selectCells, type Unit } from "../src/figures/derive/units";
import { createMatrix, isSquare, type Matrix } from "../src/figures/matrix";
import { axisLabels, axisNames, rowLabels, spokenQuery } from "../src/figures/names";
import { DEFAULT_SELECTION } from "../src/state/state";
import { attention } from "../src/views/attention";
import { moveCell } from "../src/views/attention/keys";
import { cellTable } from "../src/views/attention/lazy/table";
import { sentenceOf } from "../src/views/attention/sentence";
import { fakeRun } from "./fake";
import { openPart } from "./parts";
import { metaOf } from "./runs";

const FLAT = { rows: 20, columns: 8, names: 40 };

describe("the layout of a heatmap", () => {
  // The plot in a room of 700 by 500 px, of which at most 639 by 448 are left below flat labels, and by 460 below upright ones.
  it.each([
    ["few tokens of both texts have cells of the largest size", 5, 9, [468, 260]],
    ["a square is as high as it is wide", 20, 20, [448, 448]],
    ["many rows leave room at the side", 300, 200, [306, 460]],
    ["many columns: their rows grow to a third of the width", 10, 100, [639, 213]],
    ["many rows: their columns grow to a third of the height", 100, 10, [153, 460]],
    ["rows of which one label needs 13 px have them", 20, 300, [639, 260]],
    ["no cell is larger than the largest", 1, 40, [639, 52]],
  ])("%s", (_, rows, columns, [width, height]) => {
    const found = layoutHeatmap(
      { rows, columns },
      { ...FLAT, columns: 2 },
      { width: 700, height: 500 },
    );
    expect([found.width, found.height]).toEqual([width, height]);
  });

  it("has room for the longest label of a row, up to a bound, and for the names of the axes", () => {
    const left = (rows: number, names: number): number =>
      layoutHeatmap(
        { rows: 5, columns: 9 },
        { rows, columns: 2, names },
        { width: 700, height: 500 },
      ).left;
    expect([left(20, 40), left(70, 40), left(70, 85), left(400, 40)]).toEqual([60, 78, 93, 124]);
  });

  it("turns column labels that are wider than their cells", () => {
    const top = (columns: number): number =>
      layoutHeatmap({ rows: 5, columns: 9 }, { ...FLAT, columns }, { width: 700, height: 500 }).top;
    expect([top(46), top(47)]).toEqual([22, 55]);
  });
});

describe("links beside a rectangle", () => {
  const geometry: Geometry = {
    ...{ left: 60, top: 30, width: 450, height: 250, zoomed: false },
    rows: { start: 30, size: 50, count: 5 },
    columns: { start: 60, size: 50, count: 9 },
  };

  it("have keys as high together as the rows", () => {
    const { start, size, count } = keyTrack(geometry);
    expect(start).toBe(30);
    expect(size * count).toBeCloseTo(250, 9);
  });

  it("have a query at the left and a key at the right", () => {
    expect(flowAt(geometry, 200, 10, 275)).toEqual({ row: 4, column: -1 });
    expect(flowAt(geometry, 200, 190, 275)).toEqual({ row: -1, column: 8 });
  });

  it.each([
    [{ rows: 90, columns: 20 }, [98, 28]],
    [{ rows: 90, columns: 90 }, [68, 68]],
    [{ rows: 400, columns: 20 }, [104, 28]],
  ])("give labels of %j the room %j", (longest, room) => {
    expect(flowGutters({ longest: { ...longest, names: 0 } }, 200)).toEqual(room);
  });
});

const unit = (token: number, end = token + 1, special = false): Unit => ({
  ...{ token, end, special, text: `t${token}`, surface: `t${token}`, segment: 0 },
});
/** Two queries, of which the second is a word of two tokens, by three keys of four tokens. */
const axes = { queries: [unit(0), unit(1, 3)], keys: [unit(0, 1, true), unit(1, 3), unit(3)] };
const NUMBERS = Float32Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);

describe("units of two texts", () => {
  it("sum over keys and average over queries", () => {
    expect([...project(NUMBERS, 4, axes)]).toEqual([1, 5, 4, 7, 17, 10]);
  });

  it("are possible where any of their cells is", () => {
    const allowed = Uint8Array.from([0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
    expect([...projectAllowed(allowed, 4, axes)]).toEqual([0, 1, 0, 0, 0, 1]);
  });

  it("are not copied where each is a token, and are chosen where some are left out", () => {
    const tokens = {
      queries: [0, 1, 2].map((i) => unit(i)),
      keys: [0, 1, 2, 3].map((i) => unit(i)),
    };
    expect(selectCells(NUMBERS, 4, tokens)).toBe(NUMBERS);
    expect([...selectCells(NUMBERS, 4, { ...tokens, keys: [unit(1), unit(3)] })]).toEqual([
      2, 4, 6, 8, 10, 12,
    ]);
  });
});

describe("a rectangle", () => {
  const matrix = {
    ...axes,
    weights: Float32Array.from([0.1, 0.7, 0.2, 0.5, 0.1, 0.4]),
    scores: null,
    allowed: Uint8Array.from([1, 1, 1, 1, 0, 1]),
  } as unknown as Matrix;

  it.each([
    ["ArrowRight", { row: 0, column: 2 }, { row: 0, column: 2 }],
    ["ArrowDown", { row: 1, column: 2 }, { row: 1, column: 2 }],
    ["End", { row: 0, column: 0 }, { row: 0, column: 2 }],
    ["PageDown", { row: 0, column: 2 }, { row: 1, column: 2 }],
    ["m", { row: 1, column: 2 }, { row: 1, column: 0 }],
  ])("keeps %s inside its rows and columns", (key, at, to) => {
    expect(moveCell(key, at, matrix, false)).toEqual(to);
  });

  it("is a table of one row a cell, without a number where none is possible", () => {
    const { rows } = cellTable(matrix, null, 4);
    expect(rows).toHaveLength(6);
    expect(rows[4]).toEqual([1, 1, "t1", "t1", null]);
    expect(rows[5]?.slice(0, 4)).toEqual([1, 3, "t1", "t3"]);
  });

  it("may link a query with the key of its own place: they are different tokens", () => {
    const one = { ...matrix, weights: Float32Array.from([0.1, 0.2, 0.3, 0.1, 0.8, 0.1]) };
    expect(sentenceOf(one, -1)?.link).toEqual([1, 1]);
    expect(sentenceOf(one, 1)).toEqual({ link: [1, 1], more: null });
  });

  it("hatches what passes the ramp in rows and columns of its own", () => {
    const found: number[][] = [];
    const data = { rows: 2, columns: 3, values: matrix.weights, max: 0.3 };
    const beyond = { rows: [1], columns: [1] };
    eachOverflow({ ...data, overflow: beyond }, (...run) => found.push(run));
    expect(found).toEqual([
      [1, 0, 1, 1],
      [1, 2, 1, 1],
      [0, 1, 1, 1],
    ]);
  });
});

describe("labels of a row", () => {
  const tokens = metaOf(["<s>", "das", "Haus"]).tokens;
  const of = (part: "cross" | "encoder", next_token: string | null, special = true) => {
    const meta = { tokens, part, next_token };
    const all = [unit(0), unit(1), unit(2)].map((one, i) => ({
      ...one,
      text: tokens.text[i] as string,
      surface: tokens.surface[i] as string,
    }));
    const queries = special ? all : all.slice(1);
    return axisLabels({ queries, keys: queries }, meta);
  };

  it("say what is read and what is written then", () => {
    expect(rowLabels(of("cross", "."))).toEqual(["<s> → das", "das → Haus", "Haus → ."]);
    expect(rowLabels(of("cross", null, false))).toEqual(["das → Haus", "Haus"]);
    expect(spokenQuery(of("cross", "."), 1)).toBe("reads das, writes Haus,");
    expect(axisNames({ part: "cross" })).toEqual({ rows: "reads → writes", columns: "source" });
  });

  it("say what is read where nothing is written", () => {
    const encoder = of("encoder", null);
    expect(rowLabels(encoder)).toBe(encoder.queries);
    expect(spokenQuery(encoder, 1)).toBe("das");
    expect(axisNames({})).toEqual({ rows: "query", columns: "key" });
  });
});

test("a caption names the part, and the text that it was written from", () => {
  const { meta } = openPart("cross");
  const caption = captionOf(
    { ...meta, heads_off: [["encoder", 1, 0]] },
    DEFAULT_SELECTION,
    attention,
  );
  expect(caption).toMatchObject({ part: "cross", source_text: meta.source_text });
  const [run, texts] = captionLines(caption, meta);
  expect(run).toContain(" · cross · L0 H0");
  expect(captionLines(caption, meta)[3]).toContain("switched off encoder L1 H0");
  expect(texts).toBe(`${meta.source_text} → ${meta.text}`);
});

test("the golden cross-attention has the tokens of its target and of its source", async () => {
  const golden = openPart("cross");
  const { state, context } = fakeRun(golden.meta, () => ({ data: {}, arrays: new Map() }), {
    selection: { layer: 1, head: 1 },
  });
  const store = createMatrix(golden, state, { ...context, busy: () => undefined });
  const matrix = await new Promise<Matrix>((done) => store.on(done));
  const { queries, keys, weights, received } = matrix;
  expect([queries.length, keys.length, weights.length, received.length]).toEqual([5, 9, 45, 9]);
  expect(isSquare(matrix)).toBe(false);
  expect(isSquare(matrix)).toBe(golden.meta.tokens === golden.meta.keys);
  expect(axisLabels(matrix, golden.meta).written?.slice(1, 4)).toEqual(["A", "brown", "fox"]);
  for (let i = 0; i < 5; i++) {
    const row = weights.subarray(9 * i, 9 * i + 9).reduce((sum, weight) => sum + weight, 0);
    expect(row).toBeCloseTo(1, 5);
  }
});
