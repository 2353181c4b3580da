// @vitest-environment jsdom

import { afterEach, describe, expect, test, vi } from "vitest";
import { CELLS_MOST, heatmapNodes } from "../src/draw/heatmap/svg";
import { NO_HIGHLIGHTS } from "../src/draw/heatmap/types";
import { maximum, received } from "../src/figures/derive/matrix";
import { unitOfToken, unitsOf } from "../src/figures/derive/units";
import { createMatrix, type Matrix } from "../src/figures/matrix";
import { matrixName, placeName, spokenMatrix } from "../src/figures/names";
import { createPairNumbers, type Link } from "../src/figures/pairs";
import { NOT_OF_WEIGHTS } from "../src/figures/quantities";
import { focus } from "../src/frame/focus";
import * as lazy from "../src/lazy";
import { SliceFailure } from "../src/protocol/failure";
import type { Meta, NdArray, Slice, SliceRequest } from "../src/protocol/types";
import type { Selection } from "../src/state/selection";
import { attentionControls } from "../src/views/attention/controls";
import { cellTable } from "../src/views/attention/export";
import { attendedList } from "../src/views/attention/group";
import { moveCell } from "../src/views/attention/keys";
import { carriedSum } from "../src/views/attention/later/carried-sum";
import { groupStrip } from "../src/views/attention/later/group-strip";
import { arithmetic, linkCard, linkStrip } from "../src/views/attention/link";
import type { ViewContext } from "../src/views/contract";
import { giveParts } from "../src/views/contract";
import { type Fake, fakeRun } from "./fake";
import { metaOf } from "./runs";

const TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]"];
const N = TOKENS.length;
const DIM = 8;
/** Park and Miller's generator: the same numbers everywhere. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}
const draw = random(7);
const normal = (): number => 3 * (draw() + draw() + draw() - 1.5);
const Q = Float32Array.from({ length: N * DIM }, normal);
const K = Float32Array.from({ length: N * DIM }, normal);
const SCALING = 1 / Math.sqrt(DIM);
const SCORES = Float32Array.from({ length: N * N }, (_, cell) => {
  const [i, j] = [Math.floor(cell / N), cell % N];
  let sum = 0;
  for (let d = 0; d < DIM; d++) sum += Q[i * DIM + d]! * K[j * DIM + d]!;
  return sum * SCALING;
});
const WEIGHTS = Float32Array.from(SCORES, (score, cell) => {
  const row = SCORES.slice(Math.floor(cell / N) * N, Math.floor(cell / N) * N + N);
  return Math.exp(score) / row.reduce((sum, other) => sum + Math.exp(other), 0);
});
/** Rows that sum to 1, unlike the weights. */
const ROLLOUT = Float32Array.from({ length: N * N }, (_, cell) =>
  Math.floor(cell / N) === cell % N ? 0.6 : 0.1,
);

const LENGTHS = Float32Array.from({ length: 2 * N }, (_, i) => 1 + i);

interface Run {
  readonly stage: ViewContext;
  readonly asked: SliceRequest[];
  readonly said: string[];
}

let fake: Fake;
afterEach(() => fake.stop());

function run(
  selection: Partial<Selection> = {},
  change: { has?: Partial<Meta["model"]["has"]>; flow?: Float32Array | null } = {},
): Run {
  const meta = metaOf(TOKENS);
  const model = { ...meta.model, head_dim: DIM, has: { ...meta.model.has, ...change.has } };
  const array = (data: Float32Array, shape: number[]): NdArray => ({ data, shape });
  const answers: Record<string, () => Slice> = {
    weights: () => ({ data: {}, arrays: new Map([["weights", array(WEIGHTS, [N, N])]]) }),
    rollout: () => ({ data: {}, arrays: new Map([["weights", array(ROLLOUT, [N, N])]]) }),
    mixing: () => ({ data: {}, arrays: new Map([["weights", array(ROLLOUT, [N, N])]]) }),
    mixing_rollout: () => ({ data: {}, arrays: new Map([["weights", array(ROLLOUT, [N, N])]]) }),
    value_lengths: () => ({ data: {}, arrays: new Map([["lengths", array(LENGTHS, [2, N])]]) }),
    scores: () => ({ data: {}, arrays: new Map([["scores", array(SCORES, [N, N])]]) }),
    qkv: () => ({
      data: { scaling: SCALING },
      arrays: new Map([
        ["q", array(Q, [N, DIM])],
        ["k", array(K, [N, DIM])],
      ]),
    }),
    flow: () => {
      if (change.flow == null)
        throw new SliceFailure("Too long: 3,100,000 edges.", "Cut the text.");
      return { data: {}, arrays: new Map([["flow", array(change.flow, [N])]]) };
    },
    language: () => ({ data: { token_word: [null, 0, 1, 1, null] }, arrays: new Map() }),
  };
  fake = fakeRun({ ...meta, model }, ({ kind }) => answers[kind]!(), { live: false, selection });
  const { context, source, state } = fake;
  const matrix = createMatrix(source, state, { ...context, busy: () => undefined });
  return { stage: { ...context, matrix }, asked: fake.asked, said: fake.said };
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
const shownBy = async ({ stage }: Run): Promise<Matrix> => {
  await settled();
  return stage.matrix.get()!;
};
const text = (node: Element): string => (node.textContent ?? "").replaceAll("−", "-");
const FACTS = {
  id: (token: number) => 10 + token,
  tags: () => "NOUN",
  window: (): string | null => null,
};

function matrixOf(weights: Float32Array, change: Partial<Matrix> = {}): Matrix {
  const units = unitsOf(metaOf(TOKENS).tokens, { special: true });
  return {
    layer: 0,
    head: 0,
    quantity: "weights",
    units,
    size: N,
    weights,
    scores: null,
    allowed: null,
    max: maximum(weights),
    wordMax: maximum(weights),
    received: received(weights, N, N),
    unitOf: (token) => unitOfToken(units, token),
    ...change,
  };
}

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
    const opened = carriedSum(made.stage, matrix, 2, 3)!;
    await settled();
    const numbers = [...opened.querySelectorAll<HTMLElement>("[data-aw-value]")].map((one) =>
      Number(one.dataset.awValue),
    );
    expect(numbers[0]).toBeCloseTo(WEIGHTS[2 * N + 3]!, 6);
    expect(numbers[1]).toBeCloseTo(LENGTHS[N + 3]!, 6);
    expect(numbers[2]).toBeCloseTo(WEIGHTS[2 * N + 3]! * LENGTHS[N + 3]!, 6);
    expect(carriedSum(made.stage, { ...matrix, quantity: "weights" }, 2, 3)).toBeNull();
    const units = matrix.units.map((unit, i) => (i === 2 ? { ...unit, end: unit.end + 1 } : unit));
    expect(carriedSum(made.stage, { ...matrix, units }, 2, 3)!.textContent).toContain("A word");
  });
});

describe("the quantity", () => {
  test("of what attention carries is chosen in a list, with its definition", () => {
    const made = run();
    const { head } = controls(made);
    const select = head.querySelector<HTMLSelectElement>("[data-aw-part=carried-quantity]")!;
    select.value = "alti";
    select.dispatchEvent(new Event("change"));
    expect(made.stage.state.get().quantity).toBe("alti");
    const note = head.querySelector("[data-aw-part=quantity-note]")!;
    expect(note.textContent).toContain("ALTI (Ferrando et al. 2022)");
    expect(note.textContent).toContain("of the layer, not of a head");
    expect(option(head, "weights").getAttribute("aria-pressed")).toBe("false");
    made.stage.state.set({ quantity: "weights" });
    expect(select.value).toBe("");
  });

  const controls = (made: Run) =>
    attentionControls(document.body, made.stage, {
      zoom: () => undefined,
      threshold: () => undefined,
      picture: () => undefined,
      lines: () => undefined,
    });
  const option = (head: Element, name: string): HTMLElement =>
    head.querySelector(`[data-quantity=${name}]`)!;

  test("is chosen by a button, and pressed where it is shown", () => {
    const made = run();
    const { head } = controls(made);
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
    const { head } = controls(made);
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

/** Numbers by name as they are written in the chain. */
function written(strip: Element): Record<string, { value: number; unit: number }> {
  return Object.fromEntries(
    [...strip.querySelectorAll(".aw-figure")].map((figure) => {
      const [, mantissa, power] = /^([-\d.,]+)(?:×10(.+))?$/.exec(
        text(figure.querySelector("dd")!).replaceAll(",", ""),
      )!;
      const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
      const exponent =
        power === undefined
          ? 0
          : Number(power.replace("⁻", "-").replace(/[⁰-⁹¹²³]/g, (d) => String(digits.indexOf(d))));
      const decimals = mantissa!.split(".")[1]?.length ?? 0;
      return [
        text(figure.querySelector("dt")!),
        { value: Number(mantissa) * 10 ** exponent, unit: 10 ** (exponent - decimals) },
      ];
    }),
  );
}

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
    expect(store.get()?.unitOf(2)).toBe(2);
    vi.useRealTimers();
  });
});

describe("the pinned pair", () => {
  test("has no score where the quantity is no weight", async () => {
    const made = run({ quantity: "norms" });
    const matrix = await shownBy(made);
    const numbers = createPairNumbers(made.stage.source, fake.context.signal);
    await numbers.load(matrix);
    expect(numbers.of(matrix, 1, 2)).toMatchObject({ absent: NOT_OF_WEIGHTS, pending: false });
    expect(numbers.of(await shownBy(run()), 1, 2).absent).not.toBe(NOT_OF_WEIGHTS);
  });

  test("closes by the digits that are written, from q · k to the weight, in every cell", async () => {
    const made = run();
    const matrix = await shownBy(made);
    const numbers = createPairNumbers(made.stage.source, fake.context.signal);
    await numbers.load(matrix);
    for (let row = 0; row < N; row++) {
      for (let column = 0; column < N; column++) {
        const link = numbers.of(matrix, row, column);
        const strip = arithmetic(matrix, link);
        const shown = written(strip);
        const follows = (name: string, from: number): void => {
          const { value, unit } = shown[name]!;
          expect(Math.abs(from - value), `${name} of ${row}, ${column}`).toBeLessThanOrEqual(unit);
        };
        const of = (name: string): number => shown[name]!.value;
        follows("scaled score", of("q · k") * of("scale"));
        follows("exp(score - max)", Math.exp(of("scaled score") - of("row max")));
        follows("weight", of("exp(score - max)") / of("sum of the row"));
        expect(link.weight).toBe(WEIGHTS[row * N + column]);
      }
    }
  });

  test("shows q and k value by value, and their products add up to the dot", async () => {
    giveParts(lazy);
    const made = run();
    const matrix = await shownBy(made);
    const numbers = createPairNumbers(made.stage.source, fake.context.signal);
    await numbers.load(matrix);
    const link = numbers.of(matrix, 2, 1);
    const strip = linkStrip(document.body, matrix, 2, 1, TOKENS, link, FACTS, () => undefined);
    const details = strip.querySelector("details")!;
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    const rows = [...details.querySelectorAll("tbody tr")].map((row) =>
      [...row.querySelectorAll<HTMLElement>("td")].map((cell) => Number(cell.dataset.awValue)),
    );
    expect(rows.map(([q]) => q)).toEqual([...Q.subarray(2 * DIM, 3 * DIM)]);
    expect(rows.map(([, k]) => k)).toEqual([...K.subarray(DIM, 2 * DIM)]);
    expect(rows.reduce((sum, [, , product]) => sum + product!, 0)).toBeCloseTo(link.product!, 5);
  });

  test("says why there is no score and no product", async () => {
    const weightsOnly = run({}, { has: { scores: false, qkv: false } });
    const matrix = await shownBy(weightsOnly);
    const numbers = createPairNumbers(weightsOnly.stage.source, fake.context.signal);
    await numbers.load(matrix);
    const link = numbers.of(matrix, 1, 2);
    expect(link).toMatchObject({ score: null, product: null, pending: false });
    const card = linkCard(matrix, 1, 2, TOKENS, link, FACTS);
    expect(card.textContent).toContain("N/A: this run holds weights alone");
    const rolled = numbers.of({ ...matrix, quantity: "rollout" }, 1, 2);
    expect(rolled.absent).toContain("rollout mixes the heads");
  });

  test("is masked where the model forbids it, without a number", () => {
    const allowed = new Uint8Array(N * N).fill(1);
    allowed[1 * N + 3] = 0;
    const matrix = matrixOf(WEIGHTS, { allowed });
    const link = { weight: 0, rank: 1 } as Link;
    const strip = linkStrip(document.body, matrix, 1, 3, TOKENS, link, FACTS, () => undefined);
    expect(strip.textContent).toContain("cannot see this key");
    expect(strip.querySelector("[data-aw-value]")).toBeNull();
  });
});

describe("the card", () => {
  const names = (card: Element): string[] =>
    [...card.querySelectorAll("dt")].map((name) => name.textContent!);

  test("names both tokens with index, id and tag, and the rank in the row", async () => {
    const made = run();
    const matrix = await shownBy(made);
    const numbers = createPairNumbers(made.stage.source, fake.context.signal);
    await numbers.load(matrix);
    const card = linkCard(matrix, 2, 3, TOKENS, numbers.of(matrix, 2, 3), FACTS);
    expect(text(card)).toContain("querycat2 · id 12 · NOUN");
    expect(text(card)).toContain("keysat3 · id 13 · NOUN");
    const row = [...WEIGHTS.subarray(2 * N, 3 * N)];
    const rank = row.filter((value) => value > row[3]!).length + 1;
    expect(text(card)).toMatch(new RegExp(`${rank}(st|nd|rd|th) of ${N}`));
    expect(names(card)).toEqual(["weight", "share of row", "scaled score", "q · k"]);
  });

  test("puts the score first where scores are shown", async () => {
    const made = run({ quantity: "scores" });
    const matrix = await shownBy(made);
    const numbers = createPairNumbers(made.stage.source, fake.context.signal);
    await numbers.load(matrix);
    const card = linkCard(matrix, 2, 3, TOKENS, numbers.of(matrix, 2, 3), FACTS);
    expect(names(card).slice(0, 2)).toEqual(["scaled score", "weight"]);
    expect(Number(card.querySelector<HTMLElement>("dd")!.dataset.awValue)).toBe(SCORES[2 * N + 3]);
  });

  test("waits for a score with dots, not with a dash", async () => {
    const made = run();
    const matrix = await shownBy(made);
    const numbers = createPairNumbers(made.stage.source, fake.context.signal);
    const card = linkCard(matrix, 2, 3, TOKENS, numbers.of(matrix, 2, 3), FACTS);
    expect(text(card)).toContain("scaled score…");
  });
});

describe("a group of tokens", () => {
  const values = (strip: Element): number[] =>
    [...strip.querySelectorAll<HTMLElement>("[data-aw-value]")].map((number) =>
      Number(number.dataset.awValue),
    );

  test("is summed as it receives and averaged as it gives", async () => {
    const made = run({ group: [1, 3], token: 2 });
    const matrix = await shownBy(made);
    const strip = groupStrip(made.stage, matrix, TOKENS)!;
    const at = (i: number, j: number): number => WEIGHTS[i * N + j]!;
    const rows = TOKENS.map((_, i) => at(i, 1) + at(i, 3));
    const [row, mean, within, most] = values(strip);
    expect(row).toBeCloseTo(rows[2]!, 12);
    expect(mean).toBeCloseTo(rows.reduce((a, b) => a + b) / N, 12);
    expect(within).toBeCloseTo((rows[1]! + rows[3]!) / 2, 12);
    expect(most).toBeCloseTo(Math.max(...TOKENS.map((_, j) => (at(1, j) + at(3, j)) / 2)), 12);
    expect(text(strip)).toMatch(/^2 tokens: the, sat/);
    strip.querySelector("button")!.click();
    expect(made.stage.state.get().group).toEqual([]);
    expect(groupStrip(made.stage, matrix, TOKENS)).toBeNull();
  });

  test("leaves out what is hidden, and says so", async () => {
    const made = run({ group: [0, 2], special: false });
    const strip = groupStrip(made.stage, await shownBy(made), TOKENS.slice(1, 4))!;
    expect(text(strip)).toContain("1 token: cat");
    expect(text(strip)).toContain("1 of the group not shown");
  });
});

test("the most attended stand in order of what they receive, and a click shows a row", async () => {
  const made = run();
  const { element: list, show } = attendedList(made.stage);
  show(await shownBy(made), TOKENS);
  const means = [...received(WEIGHTS, N, N)];
  const order = means.map((_, i) => i).sort((a, b) => means[b]! - means[a]!);
  const buttons = [...list.querySelectorAll<HTMLElement>("button")];
  expect(buttons.map((button) => Number(button.dataset.token))).toEqual(order);
  expect(Number(buttons[0]!.querySelector<HTMLElement>("[data-aw-value]")!.dataset.awValue)).toBe(
    means[order[0]!],
  );
  buttons[1]!.click();
  expect(made.stage.state.get().token).toBe(order[1]);
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
  const geometry = { left: 60, top: 60, side: 200, rows: track, columns: track, zoomed: false };

  test("has a rectangle a cell, hatched where impossible, and labels as text", () => {
    const allowed = new Uint8Array(N * N).fill(1);
    allowed[3] = 0;
    const picture = heatmapNodes(
      {
        size: N,
        values: WEIGHTS,
        allowed,
        ramp: "weight",
        max: maximum(WEIGHTS),
        scale: "head",
        beyond: [],
        labels: TOKENS,
        marginal: received(WEIGHTS, N, N),
        marginalName: "received",
        boundaries: [{ at: 2, kind: "sentence" }],
      },
      geometry,
      NO_HIGHLIGHTS,
      colors,
    );
    const cells = [...picture.querySelectorAll("g > rect")];
    expect(N * N).toBeLessThan(CELLS_MOST);
    expect(cells).toHaveLength(N * N);
    expect(cells.filter((cell) => cell.getAttribute("fill")!.startsWith("url("))).toHaveLength(1);
    expect(cells[3]!.getAttribute("fill")).toContain("url(");
    const labels = [...picture.querySelectorAll("text")].map(({ textContent }) => textContent);
    for (const token of TOKENS) expect(labels.filter((label) => label === token)).toHaveLength(2);
    expect(picture.querySelectorAll("[stroke-dasharray]")).toHaveLength(1);
  });
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
