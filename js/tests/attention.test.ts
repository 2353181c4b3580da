// @vitest-environment jsdom
import { h } from "preact";
import { describe, expect, test, vi } from "vitest";
import { ramp } from "../src/draw/color/ramp";
import { rampIndex } from "../src/draw/color/scale";
import { layoutHeatmap } from "../src/draw/heatmap/layout";
import { CELLS_MAX, heatmapNodes } from "../src/draw/heatmap/svg";
import { NO_HIGHLIGHTS } from "../src/draw/heatmap/types";
import { mixingDefinition } from "../src/figures/definitions";
import { maximum, received, restOf } from "../src/figures/derive/matrix";
import { createMatrix, type Matrix, NO_OVERFLOW } from "../src/figures/matrix";
import { matrixName, placeName, spokenMatrix } from "../src/figures/names";
import { sumOf } from "../src/figures/pairs";
import { focus } from "../src/frame/focus";
import { Display } from "../src/frame/lazy/display";
import { mount, selectionOf } from "../src/ui/mount";
import { Head } from "../src/views/attention/controls";
import { moveCell } from "../src/views/attention/keys";
import { CarriedSum } from "../src/views/attention/lazy/carried-sum";
import { cellTable } from "../src/views/attention/lazy/table";
import { sentenceOf } from "../src/views/attention/sentence";
import { type LazyCode, lazyCode } from "../src/views/contract";
import {
  LENGTHS,
  matrixOf,
  N,
  ROLLOUT,
  type Run,
  run,
  SCORES,
  settled,
  shownBy,
  TOKENS,
  WEIGHTS,
} from "./attention-view";
import { drawn } from "./drawn";
import { fakeRun } from "./fake";
import { metaOf } from "./runs";

describe("the matrix on screen", () => {
  test("carries scores when they are selected, and not for the mean head", async () => {
    const made = run({ quantity: "scores" });
    expect([...(await shownBy(made)).scores!]).toEqual([...SCORES]);
    made.stage.state.set({ head: "mean" });
    const mean = await shownBy(made);
    expect(mean.scores).toBeNull();
    expect([...mean.weights]).toEqual([...WEIGHTS]);
  });

  test("is the rollout of the layer, whatever the head", async () => {
    const made = run({ quantity: "rollout", layer: 1 });
    const before = await shownBy(made);
    expect(before.quantity).toBe("rollout");
    expect([...before.weights]).toEqual([...ROLLOUT]);
    expect(made.asked).toEqual([{ kind: "rollout", layer: 1 }]);
    made.stage.state.set({ head: 2 });
    expect(await shownBy(made)).toBe(before);
    made.stage.state.set({ layer: 0, head: 1 });
    expect((await shownBy(made)).layer).toBe(0);
    expect(made.asked).toHaveLength(2);
  });
});

describe("what attention carries", () => {
  test("is of the head, of the layer, or of all layers so far", async () => {
    const made = run({ quantity: "norms", layer: 1, head: 2 });
    await settled();
    made.stage.state.set({ head: "mean" });
    await settled();
    made.stage.state.set({ quantity: "alti" });
    await settled();
    made.stage.state.set({ head: 0 });
    await settled();
    made.stage.state.set({ quantity: "alti_rollout" });
    await settled();
    expect(made.asked).toEqual([
      { kind: "mixing", quantity: "norms", layer: 1, head: 2 },
      { kind: "mixing", quantity: "norms", layer: 1, head: null },
      { kind: "mixing", quantity: "alti", layer: 1, head: null },
      { kind: "mixing_rollout", quantity: "alti", layer: 1 },
    ]);
  });

  test("is named with the layer or the head that it is of", () => {
    const name = (quantity: Matrix["quantity"], head: Matrix["head"] = 5) =>
      matrixName({ layer: 3, head, quantity });
    expect(name("norms")).toBe("norms · L3 · H5");
    expect(name("norms", "mean")).toBe("norms · L3");
    expect(name("value_zeroing")).toBe("value zeroing · L3");
    expect(name("alti_rollout")).toBe("rollout of ALTI, layers 0–3");
    expect(placeName({ layer: 3, head: 5, quantity: "alti_rollout" })).toBe(
      "rollout of ALTI to L3",
    );
    expect(spokenMatrix({ layer: 3, head: 5, quantity: "mixing" })).toBe("mixing of layer 3");
  });

  test("opens the factors of a head's norm, and why a word has none", async () => {
    const made = run({ quantity: "norms", layer: 0, head: 1 });
    const matrix = await shownBy(made);
    const sumOf = (of: Matrix) =>
      drawn(h(CarriedSum, { context: made.stage, matrix: of, row: 2, column: 3, mode: "light" }));
    const opened = sumOf(matrix);
    await settled();
    const numbers = [...opened.querySelectorAll<HTMLElement>("[data-aw-value]")].map((one) =>
      Number(one.dataset.awValue),
    );
    expect(numbers[0]).toBeCloseTo(WEIGHTS[2 * N + 3]!, 6);
    expect(numbers[1]).toBeCloseTo(LENGTHS[N + 3]!, 6);
    expect(numbers[2]).toBeCloseTo(WEIGHTS[2 * N + 3]! * LENGTHS[N + 3]!, 6);
    const queries = matrix.queries.map((unit, i) =>
      i === 2 ? { ...unit, end: unit.end + 1 } : unit,
    );
    expect(sumOf({ ...matrix, queries }).textContent).toContain("A word");
  });
});

describe("the quantity", () => {
  test("of what attention carries is chosen in Display, and stands pressed with its definition", () => {
    lazyCode.value = { mixingDefinition } as LazyCode;
    const made = run();
    const head = headOf(made);
    const context = made.stage;
    const panel = document.createElement("div");
    const selection = selectionOf(context.state, ["quantity"], context.signal);
    const acts = { setMean: () => undefined, toggleKeys: () => undefined };
    mount(
      panel,
      () =>
        h(Display, {
          ...{ context, selection: selection.value, without: null, ...acts },
          toggleFullScreen: () => undefined,
        }),
      context.signal,
    );
    const select = panel.querySelector<HTMLSelectElement>("[data-aw-part=carried-quantity]")!;
    select.value = "alti";
    select.dispatchEvent(new Event("change"));
    expect(made.stage.state.get().quantity).toBe("alti");
    const note = head.querySelector("[data-aw-part=quantity-note]")!;
    expect(note.textContent).toContain("ALTI (Ferrando et al. 2022)");
    expect(note.textContent).toContain("belongs to the layer, not to a head");
    expect(option(head, "weights").getAttribute("aria-pressed")).toBe("false");
    expect(option(head, "alti").getAttribute("aria-pressed")).toBe("true");
    made.stage.state.set({ quantity: "weights" });
    expect(select.value).toBe("");
    expect(option(head, "alti")).toBeNull();
  });

  function headOf({ stage: context }: Run): HTMLElement {
    const head = document.createElement("div");
    const selection = selectionOf(context.state, ["quantity", "head"], context.signal);
    const view = () => h(Head, { context, matrix: null, selection: selection.value });
    mount(head, view, context.signal);
    return head;
  }
  const option = (head: Element, name: string): HTMLElement =>
    head.querySelector(`[data-quantity=${name}]`)!;

  test("is chosen by a button, and pressed where it is shown", () => {
    const made = run();
    const head = headOf(made);
    option(head, "rollout").click();
    expect(made.stage.state.get().quantity).toBe("rollout");
    expect(option(head, "rollout").getAttribute("aria-pressed")).toBe("true");
    expect(option(head, "weights").getAttribute("aria-pressed")).toBe("false");
  });

  test.each([
    ["the mean head", { head: "mean" } as const, {}, "mean head"],
    ["merged words", { words: true }, {}, "word"],
    ["a run without scores", {}, { scores: false }, "not recorded"],
  ])("scores are N/A for %s, said in words, and weights are shown", (_, selection, has, reason) => {
    const made = run({ quantity: "scores", ...selection }, { has });
    const head = headOf(made);
    const scores = option(head, "scores");
    expect(scores.getAttribute("aria-disabled")).toBe("true");
    expect(scores.title).toContain(reason);
    expect(head.querySelector("[data-aw-part=quantity-note]")!.textContent).toMatch(
      new RegExp(`^Weights are shown; .*${reason}`),
    );
    expect(option(head, "weights").getAttribute("aria-pressed")).toBe("true");
    scores.click();
    expect(made.said.at(-1)).toContain(reason);
  });
});

describe("the matrix of the selection", () => {
  test("says when it waits and when it has come, and knows where a token is", async () => {
    vi.useFakeTimers();
    const heard: boolean[] = [];
    const answers: (() => void)[] = [];
    const { context, source, state } = fakeRun(metaOf(TOKENS), async () => {
      await new Promise<void>((resolve) => answers.push(resolve));
      return { data: {}, arrays: new Map([["weights", { data: WEIGHTS, shape: [N, N] }]]) };
    });
    const store = createMatrix(source, state, {
      ...context,
      busy: (waiting) => heard.push(waiting),
    });
    await vi.advanceTimersByTimeAsync(200);
    expect(heard).toEqual([true]);
    // Another one is asked for before the first has come: only its answer ends the wait.
    state.set({ layer: 1 });
    answers[0]?.();
    await vi.advanceTimersByTimeAsync(0);
    expect(heard).toEqual([true]);
    answers[1]?.();
    await vi.advanceTimersByTimeAsync(0);
    expect(heard).toEqual([true, false]);
    expect(store.get()?.layer).toBe(1);
    expect(store.get()?.queryOf(2)).toBe(2);
    vi.useRealTimers();
  });
});

test("a list has one Tab stop, arrows move inside, and the focus outlives new numbers", async () => {
  const made = run({ token: 2 });
  const element = document.createElement("div");
  document.body.append(element);
  focus(element, made.stage);
  await settled();
  const buttons = (): HTMLElement[] => [...element.querySelectorAll<HTMLElement>(".aw-rowkey")];
  expect(buttons().map(({ tabIndex }) => tabIndex)).toEqual([0, -1, -1, -1, -1]);
  buttons()[0]!.focus();
  buttons()[0]!.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
  const { token } = buttons()[1]!.dataset;
  expect(document.activeElement).toBe(buttons()[1]);
  buttons()[1]!.click();
  expect(made.stage.state.get().pair).toEqual([2, Number(token)]);
  expect((document.activeElement as HTMLElement).dataset.token).toBe(token);
  expect(document.activeElement?.isConnected).toBe(true);
  element.remove();
});

describe("the focus list in rollout", () => {
  const FLOW = Float32Array.from([0.5, 0.1, 0.2, 0.15, 0.05]);
  async function listed(flow: Float32Array | null): Promise<HTMLElement> {
    const made = run({ quantity: "rollout", token: 2 }, { flow });
    const element = document.createElement("div");
    focus(element, made.stage);
    await settled();
    expect(made.asked.some(({ kind }) => kind === "flow")).toBe(false);
    element.querySelector<HTMLElement>("[data-aw-part=focus-flow] button")!.click();
    await settled();
    return element;
  }

  test("sets attention flow beside it when asked to", async () => {
    const element = await listed(FLOW);
    for (const button of element.querySelectorAll<HTMLElement>(".aw-rowkey")) {
      const token = Number(button.dataset.token);
      const [rolled, flowing] = [...button.querySelectorAll<HTMLElement>("[data-aw-value]")].map(
        (number) => Number(number.dataset.awValue),
      );
      expect(rolled).toBe(ROLLOUT[2 * N + token]);
      expect(flowing).toBe(FLOW[token]);
    }
  });

  test("says why there is no flow", async () => {
    const element = await listed(null);
    expect(element.textContent).toContain("Flow N/A: Too long: 3,100,000 edges. Cut the text.");
    expect(element.querySelectorAll(".aw-rowkey [data-aw-value]")).toHaveLength(N);
  });
});

describe("the table", () => {
  test("has a row a cell with the score beside the weight", () => {
    const { columns, rows } = cellTable(matrixOf(WEIGHTS), SCORES, N);
    expect(columns).toEqual(["query", "key", "query_token", "key_token", "weight", "score"]);
    expect(rows).toHaveLength(N * N);
    expect(rows[7]).toEqual([1, 2, "the", "cat", WEIGHTS[7], SCORES[7]]);
  });

  test("has the share of a learned sink, the query's, in each row", () => {
    const half = WEIGHTS.map((weight) => weight / 2);
    const { columns, rows } = cellTable(matrixOf(half), null, N, restOf(half, N, N));
    expect(columns.at(-1)).toBe("rest");
    for (const row of rows) expect(row.at(-1)).toBeCloseTo(0.5, 6);
  });

  test("has no number where the mask forbids a cell", () => {
    const allowed = new Uint8Array(N * N).fill(1);
    allowed[7] = 0;
    const { columns, rows } = cellTable(matrixOf(WEIGHTS, { allowed }), null, N);
    expect(columns).not.toContain("score");
    expect(rows[7]).toEqual([1, 2, "the", "cat", null]);
  });
});

describe("the vector picture", () => {
  const colors = {
    mode: "light",
    ink: "#000",
    muted: "#666",
    line: "#ccc",
    ground: "#fff",
    accent: "#00f",
    font: "sans-serif",
  } as const;
  const track = { start: 60, size: 40, count: N };
  const geometry = {
    left: 60,
    top: 60,
    width: 200,
    height: 200,
    rows: track,
    columns: track,
    zoomed: false,
  };

  test("has a rectangle a cell, hatched where impossible, and labels as text", () => {
    const allowed = new Uint8Array(N * N).fill(1);
    allowed[3] = 0;
    const picture = heatmapNodes(
      {
        rows: N,
        columns: N,
        values: WEIGHTS,
        allowed,
        ramp: "weight",
        max: maximum(WEIGHTS),
        scale: "head",
        overflow: NO_OVERFLOW,
        rowLabels: TOKENS,
        columnLabels: TOKENS,
        axes: { rows: "query", columns: "key" },
        marginal: received(WEIGHTS, N, N),
        marginalName: "received",
        boundaries: { rows: [{ at: 2, kind: "sentence" }], columns: [] },
      },
      geometry,
      NO_HIGHLIGHTS,
      colors,
    );
    const rectangles = [...picture.querySelectorAll("g > rect")];
    // The bars of "received" are rectangles, too.
    const sizeOf = (rect: Element) =>
      ["width", "height"].map((name) => rect.getAttribute(name)).join();
    const cells = rectangles.filter((rect) => sizeOf(rect) === sizeOf(rectangles[0]!));
    expect(N * N).toBeLessThan(CELLS_MAX);
    expect(cells).toHaveLength(N * N);
    expect(cells.filter((cell) => cell.getAttribute("fill")!.startsWith("url("))).toHaveLength(1);
    expect(cells[3]!.getAttribute("fill")).toContain("url(");
    const labels = [...picture.querySelectorAll("text")].map(({ textContent }) => textContent);
    for (const token of TOKENS) expect(labels.filter((label) => label === token)).toHaveLength(2);
    const dashed = [...picture.querySelectorAll("[stroke-dasharray]")];
    expect(new Set(dashed.map((line) => line.getAttribute("d"))).size).toBe(1);
  });

  test("what a learned sink takes of each row is a narrow column", () => {
    const weights = Float32Array.of(0.25, 0, 0.5, 0.125);
    const rest = restOf(weights, 2, 2);
    expect([...rest]).toEqual([0.75, 0.375]);
    const extent = { rows: 2, columns: 2 };
    const longest = { rows: 20, columns: 20, names: 20 };
    const room = { width: 150, height: 500 };
    const [plain, laid] = [
      layoutHeatmap(extent, longest, room),
      layoutHeatmap({ ...extent, rest }, longest, room),
    ];
    expect(laid.left + laid.width + laid.beside).toBeLessThan(room.width);
    expect([plain.beside, plain.width - laid.width]).toEqual([0, laid.beside]);
    const track = { start: 10, size: 20, count: 2 };
    const picture = heatmapNodes(
      {
        ...extent,
        rest,
        values: weights,
        allowed: null,
        ramp: "weight",
        max: 1,
        scale: "head",
        overflow: NO_OVERFLOW,
        rowLabels: ["a", "b"],
        columnLabels: ["a", "b"],
        axes: { rows: "query", columns: "key" },
        marginal: received(weights, 2, 2),
        marginalName: "received",
        boundaries: { rows: [], columns: [] },
      },
      { left: 10, top: 10, width: 40, height: 40, rows: track, columns: track, zoomed: false },
      NO_HIGHLIGHTS,
      colors,
    );
    const column = [...picture.querySelectorAll("rect")].filter(
      (cell) => Number(cell.getAttribute("x")) > 50,
    );
    expect(column.map((cell) => cell.getAttribute("y"))).toEqual(["11", "31"]);
    const { css } = ramp("weight", "light");
    expect(column.map((cell) => cell.getAttribute("fill"))).toEqual(
      [0.75, 0.375].map((value) => css[rampIndex(value, 1, "head")]),
    );
    expect(picture.textContent).toContain("rest");
  });
});

test("the first token of a decoder is no word that another attends to", () => {
  const units = ["a", "b", "c"].map((text, token) => ({
    token,
    end: token + 1,
    text,
    surface: text,
    segment: 0,
    special: false,
  }));
  const weights = Float32Array.of(1, 0, 0, 0.9, 0.1, 0, 0.7, 0.2, 0.1);
  const found = (sink: boolean, focus: number) =>
    sentenceOf(matrixOf(weights, { queries: units, keys: units, sink }), focus);
  expect(found(false, -1)).toEqual({ link: [1, 0], more: null });
  expect(found(true, -1)).toEqual({ link: [2, 1], more: null });
  expect(found(true, 2)).toEqual({ link: [2, 1], more: [2, 0] });
});

test("the sum of a row with a learned sink has the sink's part", () => {
  expect(sumOf(3, 1, 0.25, {})).toBe(3);
  expect(sumOf(3, 1, 0.25, { rest: true })).toBe(4);
  expect(sumOf(3, 0, 0, { rest: true })).toBe(3);
});

test("keys move over cells and stay inside", () => {
  const matrix = matrixOf(WEIGHTS);
  const at = { row: 0, column: N - 1 };
  expect(moveCell("ArrowRight", at, matrix, false)).toEqual(at);
  expect(moveCell("ArrowUp", at, matrix, false)).toEqual(at);
  expect(moveCell("ArrowDown", at, matrix, false)).toEqual({ row: 1, column: N - 1 });
  expect(moveCell("ArrowRight", { row: 2, column: 0 }, matrix, true)).toEqual({
    row: 2,
    column: 0,
  });
  const row = [...WEIGHTS.subarray(0, N)];
  expect(moveCell("m", at, matrix, false)).toEqual({
    row: 0,
    column: row.indexOf(Math.max(...row)),
  });
  expect(moveCell("x", at, matrix, false)).toBeNull();
});
