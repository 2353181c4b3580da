// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CellMap } from "../src/draw/cell-map/cell-map";
import type { CellAt } from "../src/draw/cell-map/layout";
import type { CellsData } from "../src/draw/cell-map/paint";

// jsdom has no canvas: letters are 6 px wide, and rectangles are written down.
const written: string[] = [];
const drawn: { style: unknown; box: readonly number[] }[] = [];

function context(): CanvasRenderingContext2D {
  const known: Record<string, unknown> = {
    measureText: (text: string) => ({ width: 6 * text.length }),
    createImageData: (w: number, h: number) => ({ data: new Uint8ClampedArray(4 * w * h) }),
    createPattern: () => "hatching",
  };
  known.fillText = (text: string) => written.push(text);
  known.fillRect = (...box: number[]) => drawn.push({ style: known.fillStyle, box });
  return new Proxy(known, {
    get: (target, name) => target[name as string] ?? (() => undefined),
  }) as unknown as CanvasRenderingContext2D;
}

const ROWS = 4;
const COLUMNS = 5;
const CELL = 20;
// Labels of 3 letters take 18 px: those of rows get 8 px of padding, those of columns fit above a cell.
const LEFT = 26;
const TOP = 20;

const data = (change: Partial<CellsData> = {}): CellsData => {
  const values = new Float32Array(ROWS * COLUMNS).fill(0.1);
  values[1 * COLUMNS + 3] = 0.9;
  return {
    rows: ROWS,
    columns: COLUMNS,
    values,
    top: 1,
    scale: "unit",
    rowLabels: ["r00", "r01", "r02", "r03"],
    columnLabels: ["c00", "c01", "c02", "c03", "c04"],
    ...change,
  };
};

let stop: AbortController;
let map: CellMap;
let pointed: (CellAt | null)[];
let picked: CellAt[];
let rows: number[];

beforeEach(() => {
  drawn.length = 0;
  written.length = 0;
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockImplementation(context as never);
  stop = new AbortController();
  [pointed, picked, rows] = [[], [], []];
  map = new CellMap(
    { rowHeight: null, cellMost: CELL, heightMost: 400 },
    {
      point: (cell) => pointed.push(cell),
      pick: (cell) => picked.push(cell),
      row: (row) => rows.push(row),
    },
    "cells",
    stop.signal,
  );
  map.show(data(), "Cells");
  map.resize(500);
});

afterEach(() => {
  stop.abort();
  vi.restoreAllMocks();
});

/** The middle of a cell, px. */
const middle = (row: number, column: number) => ({
  clientX: LEFT + (column + 0.5) * CELL,
  clientY: TOP + (row + 0.5) * CELL,
});

const mouse = (type: string, place: { clientX: number; clientY: number }): void => {
  map.element.dispatchEvent(new MouseEvent(type, { bubbles: true, ...place }));
};

const press = (...keys: string[]): void => {
  for (const key of keys) map.element.dispatchEvent(new KeyboardEvent("keydown", { key }));
};

describe("a map of cells", () => {
  test("finds the cell under the pointer, at its edges too", () => {
    for (const [row, column] of [
      [0, 0],
      [2, 1],
      [ROWS - 1, COLUMNS - 1],
    ] as const) {
      mouse("click", middle(row, column));
      mouse("click", { clientX: LEFT + column * CELL, clientY: TOP + row * CELL });
      mouse("click", {
        clientX: LEFT + (column + 1) * CELL - 0.5,
        clientY: TOP + (row + 1) * CELL - 0.5,
      });
      expect(picked.splice(0)).toEqual(Array(3).fill({ row, column }));
    }
    mouse("click", { clientX: LEFT + COLUMNS * CELL, clientY: TOP + 1 });
    mouse("click", { clientX: LEFT + 1, clientY: TOP + ROWS * CELL });
    mouse("click", { clientX: LEFT + 1, clientY: TOP - 1 });
    expect(picked).toEqual([]);
  });

  test("takes a click on a label for its row", () => {
    mouse("click", { clientX: LEFT - 1, clientY: middle(2, 0).clientY });
    mouse("click", { clientX: LEFT - 1, clientY: TOP - 1 });
    mouse("click", { clientX: LEFT - 1, clientY: TOP + ROWS * CELL });
    expect(rows).toEqual([2]);
  });

  test("tells of a cell once while the pointer stays on it, and of none when it leaves", () => {
    mouse("pointermove", middle(1, 2));
    mouse("pointermove", { ...middle(1, 2), clientX: LEFT + 2 * CELL });
    mouse("pointermove", middle(1, 3));
    mouse("pointerleave", middle(1, 3));
    expect(pointed).toEqual([{ row: 1, column: 2 }, { row: 1, column: 3 }, null]);
  });

  test("moves by keys where they point, after the first has shown the cursor", () => {
    press("ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowRight", "ArrowLeft");
    expect(pointed).toEqual([
      { row: 0, column: 0 },
      { row: 1, column: 0 },
      { row: 1, column: 1 },
      { row: 0, column: 1 },
      { row: 0, column: 2 },
      { row: 0, column: 1 },
    ]);
    press("ArrowDown", "End", "m", "Home", "Enter");
    expect(pointed.slice(6)).toEqual([
      { row: 1, column: 1 },
      { row: 1, column: 4 },
      { row: 1, column: 3 },
      { row: 1, column: 0 },
    ]);
    expect(picked).toEqual([{ row: 1, column: 0 }]);
  });

  test("keeps the cursor inside", () => {
    press("Home", "ArrowUp", "ArrowLeft");
    expect(pointed).toEqual([{ row: 0, column: 0 }]);
    press("End", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight");
    expect(pointed.at(-1)).toEqual({ row: ROWS - 1, column: COLUMNS - 1 });
    press("Escape");
    expect(pointed.at(-1)).toBeNull();
  });

  test("begins at the pinned cell, else at the chosen row", () => {
    map.mark(null, 2);
    press("Enter");
    map.mark({ row: 3, column: 1 }, 2);
    press("Enter");
    expect(picked).toEqual([
      { row: 2, column: 0 },
      { row: 3, column: 1 },
    ]);
  });

  test("finds the strongest cell of a row beside impossible ones", () => {
    const values = data().values.slice();
    values[1 * COLUMNS + 4] = Number.NaN;
    map.show(data({ values }), "Cells");
    map.mark(null, 1);
    press("m");
    expect(pointed).toEqual([{ row: 1, column: 3 }]);
  });

  test("hatches impossible cells, neighbors in one run, and no others", () => {
    const values = data().values.slice();
    for (const cell of [1, 2, 4, COLUMNS]) values[cell] = Number.NaN;
    drawn.length = 0;
    map.show(data({ values }), "Cells");
    expect(drawn.filter(({ style }) => style === "hatching").map(({ box }) => box)).toEqual([
      [LEFT + CELL, TOP, 2 * CELL, CELL],
      [LEFT + 4 * CELL, TOP, CELL, CELL],
      [LEFT, TOP + CELL, CELL, CELL],
    ]);
  });

  test("turns column labels that are wider than a cell, and leaves room for them", () => {
    const columnLabels = ["c0000", "c0001", "c0002", "c0003", "c0004"];
    map.show(data({ columnLabels }), "Cells");
    const top = 6 * 5 + 8;
    mouse("click", { clientX: LEFT + 1, clientY: top - 1 });
    mouse("click", { clientX: LEFT + 1, clientY: top });
    expect(picked).toEqual([{ row: 0, column: 0 }]);
    expect(map.element.style.height).toBe(`${top + ROWS * CELL + 1}px`);
  });

  test("writes the label of the strongest row where not all of them fit", () => {
    const rows = 200;
    const values = new Float32Array(rows * COLUMNS).fill(0.1);
    values[138 * COLUMNS + 2] = -0.9;
    values[51 * COLUMNS + 4] = Number.NaN;
    const rowLabels = Array.from({ length: rows }, (_, i) => `r${i}`);
    written.length = 0;
    map.show(data({ rows, values, rowLabels }), "Cells");
    const shown = written.filter((text) => text.startsWith("r"));
    expect(shown.length).toBeLessThan(100);
    expect(shown).toContain("r138");
  });

  test("forgets a cursor that lies outside new data, and keeps one inside", () => {
    press("End", "ArrowDown");
    map.show(data({ rows: 2 }), "Cells");
    press("Enter");
    map.show(data({ columns: 4 }), "Cells");
    press("Enter");
    expect(picked).toEqual([
      { row: 1, column: COLUMNS - 1 },
      { row: 0, column: 0 },
    ]);
  });
});
