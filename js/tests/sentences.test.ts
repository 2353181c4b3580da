// @vitest-environment jsdom

import { afterEach, describe, expect, it, test } from "vitest";
import { formatNumber } from "../src/figures/format";
import { SliceFailure } from "../src/protocol/failure";
import { itemAt } from "../src/protocol/required";
import type { NdArray, Slice, SliceRequest } from "../src/protocol/types";
import type { Selection, State } from "../src/state/selection";
import type { ViewHandle } from "../src/views/contract";
import { massSum } from "../src/views/sentences/data";
import { columnsInSight, fitCells } from "../src/views/sentences/grid-columns";
import { sentences } from "../src/views/sentences/view";
import { fakeRun } from "./fake";
import { settled } from "./figures-run";
import { metaOf } from "./runs";

// jsdom lays nothing out.
globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

const TOKENS = ["[CLS]", "the", "cat", ".", "it", "##s", "!", "yes", "[SEP]"];
const GROUPS = [[1, 2, 3], [4, 5, 6], [7]];
const TEXTS = ["the cat.", "<img src=x onerror=alert(1)>", "yes"];
const [LAYERS, HEADS, N] = [2, 3, TOKENS.length];

/** Rows that sum to 1, different for every head. */
function attention(layer: number, head: number): number[][] {
  return TOKENS.map((_, i) => {
    const raw = TOKENS.map((_, j) => 1 + ((i * 7 + j * (3 + head) + layer * 5) % 11));
    const total = raw.reduce((a, b) => a + b);
    return raw.map((value) => value / total);
  });
}
const ALL = Array.from({ length: LAYERS }, (_, l) =>
  Array.from({ length: HEADS }, (_, k) => attention(l, k)),
);

/** Lengths: rows of different sums. */
const CARRIED = TOKENS.map((_, i) => TOKENS.map((_, j) => (1 + ((i * 5 + j * 7) % 11)) * (i + 1)));

interface Of {
  layer?: number | null;
  head?: number | null;
}
const chosen = ({ layer, head }: Of): { l: number; k: number; matrix: number[][] }[] =>
  ALL.flatMap((heads, l) =>
    heads.flatMap((matrix, k) =>
      (layer == null || layer === l) && (head == null || head === k) ? [{ l, k, matrix }] : [],
    ),
  );
const mean = (of: Of, i: number, j: number): number => {
  const found = chosen(of);
  return found.reduce((sum, { matrix }) => sum + itemAt(itemAt(matrix, i), j), 0) / found.length;
};
const largest = (of: Of, i: number, j: number) =>
  chosen(of).reduce((best, one) =>
    itemAt(itemAt(one.matrix, i), j) > itemAt(itemAt(best.matrix, i), j) ? one : best,
  );
const mass = (of: Of, a: number, b: number): number =>
  itemAt(GROUPS, a).reduce(
    (sum, i) => sum + itemAt(GROUPS, b).reduce((part, j) => part + mean(of, i, j), 0),
    0,
  ) / itemAt(GROUPS, a).length;

const array = (values: number[], ...shape: number[]): NdArray => ({
  data: Float32Array.from(values),
  shape,
});
const integers = (values: number[], ...shape: number[]): NdArray => ({
  data: Int32Array.from(values),
  shape,
});

function answer(request: SliceRequest, groups: number[][]): Slice {
  const of = request as unknown as Of & { aggregation: "mass" | "max"; a: number; b: number };
  const size = groups.length;
  if (request.kind === "drill") {
    const [queries, keys] = [itemAt(groups, of.a), itemAt(groups, of.b)];
    const weights = queries.flatMap((i) =>
      keys.map((j) =>
        of.aggregation === "mass" ? mean(of, i, j) : itemAt(itemAt(largest(of, i, j).matrix, i), j),
      ),
    );
    return {
      data: {},
      arrays: new Map([
        ["weights", array(weights, queries.length, keys.length)],
        ["queries", integers(queries, queries.length)],
        ["keys", integers(keys, keys.length)],
      ]),
    };
  }
  const pairs = groups.flatMap((_, a) => groups.map((_, b) => [a, b] as const));
  const note =
    size === 1 ? "The text is one sentence." : size === 0 ? "No sentence was found." : null;
  const data = { texts: TEXTS.slice(0, size), tokens: groups, note };
  if (of.aggregation === "mass") {
    const matrix = pairs.map(([a, b]) => mass(of, a, b));
    const elsewhere = groups.map(
      (queries) =>
        queries.reduce((sum, i) => sum + mean(of, i, 0) + mean(of, i, N - 1), 0) / queries.length,
    );
    return {
      data,
      arrays: new Map([
        ["matrix", array(matrix, size, size)],
        ["elsewhere", array(elsewhere, size)],
      ]),
    };
  }
  const best = pairs.map(([a, b]) => {
    let top = { value: -1, layer: 0, head: 0, query: 0, key: 0 };
    for (const query of itemAt(groups, a)) {
      for (const key of itemAt(groups, b)) {
        const { l, k, matrix } = largest(of, query, key);
        const value = itemAt(itemAt(matrix, query), key);
        if (value > top.value) top = { value, layer: l, head: k, query, key };
      }
    }
    return top;
  });
  return {
    data,
    arrays: new Map([
      [
        "matrix",
        array(
          best.map(({ value }) => value),
          size,
          size,
        ),
      ],
      ...(["layer", "head", "query", "key"] as const).map(
        (name) =>
          [
            `witness_${name}`,
            integers(
              best.map((one) => one[name]),
              size,
              size,
            ),
          ] as const,
      ),
    ]),
  };
}

let drawn: ViewHandle | null = null;
let element: HTMLElement;
let state: State;
let asked: SliceRequest[] = [];
let reports: string[] = [];
let broken = false;
/** `[N, N]` of every layer, 0 = forbidden. */
let mask: Uint8Array | null = null;

async function draw(
  selection: Partial<Selection> = {},
  groups: number[][] = GROUPS.slice(),
  kept: State | null = null,
): Promise<void> {
  broken = false;
  const possible = integers(Array(LAYERS * N).fill(N - 1), LAYERS, N);
  const run = fakeRun(
    metaOf(TOKENS),
    (request) => {
      if (broken) throw new SliceFailure("The kernel cannot be reached.", "Run the cell again.");
      if (request.kind === "mixing" || request.kind === "rollout") {
        return { data: {}, arrays: new Map([["weights", array(CARRIED.flat(), N, N)]]) };
      }
      if (request.kind === "weights" && mask !== null) {
        return { data: {}, arrays: new Map([["allowed", { data: mask, shape: [N, N] }]]) };
      }
      return answer(request, groups);
    },
    {
      arrays: new Map(mask === null ? [] : [["possible", possible]]),
      selection,
      ...(kept === null ? {} : { state: kept }),
    },
  );
  ({ asked, reports, state } = run);
  element = document.createElement("div");
  document.body.append(element);
  drawn = sentences(element, run.context);
  await settled();
}
afterEach(() => {
  mask = null;
  drawn?.dispose();
  element?.remove();
});

const part = (name: string): HTMLElement =>
  element.querySelector(`[data-aw-part='${name}']`) as HTMLElement;
const cell = (a: number, b: number): HTMLElement =>
  element.querySelector(`.aw-isa-cell[data-a='${a}'][data-b='${b}']`) as HTMLElement;
const value = (a: number, b: number): number => Number(cell(a, b).dataset.awValue);
const press = (target: Element, key: string): void => {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
};
async function choose(selector: string): Promise<void> {
  (element.querySelector(selector) as HTMLElement).click();
  await settled();
}

function expectMass(of: Of): void {
  for (let a = 0; a < 3; a++) {
    for (let b = 0; b < 3; b++) {
      expect(value(a, b)).toBe(Math.fround(mass(of, a, b)));
      expect(cell(a, b).textContent).toBe(formatNumber(mass(of, a, b)));
    }
  }
}

describe("matrix", () => {
  it("shows the share of each sentence on each, over all heads at first", async () => {
    await draw();
    expectMass({});
    expect(asked).toHaveLength(1);
  });

  it("has rows that sum to 1 with what lands elsewhere", async () => {
    await draw();
    for (const row of element.querySelectorAll(".aw-isa-row[data-a]")) {
      const numbers = [...row.querySelectorAll<HTMLElement>("[data-aw-value]")].map((one) =>
        Number(one.dataset.awValue),
      );
      const sum = numbers.pop() as number;
      expect(numbers.reduce((a, b) => a + b)).toBeCloseTo(1, 6);
      expect(sum).toBeCloseTo(1, 6);
    }
  });

  it("follows the layer and the head where its scope is theirs", async () => {
    await draw({ layer: 1, head: 2 });
    await choose("[data-scope='layer']");
    expectMass({ layer: 1 });
    await choose("[data-scope='head']");
    expectMass({ layer: 1, head: 2 });
    state.set({ layer: 0, head: 1 });
    await settled();
    expectMass({ layer: 0, head: 1 });
    expect(part("scope").textContent).toContain("Head L0 H1");
    state.set({ head: "mean" });
    await settled();
    expectMass({ layer: 0 });
    expect(element.querySelector("[data-scope='layer']")?.getAttribute("aria-pressed")).toBe(
      "true",
    );
  });

  it("gathers another quantity from its own matrix, rows as shares of their sums", async () => {
    await draw({ layer: 1, head: 2, quantity: "norms" });
    const share = (i: number, j: number): number => {
      const row = itemAt(CARRIED, i);
      return itemAt(row, j) / row.reduce((a, b) => a + b);
    };
    for (let a = 0; a < 3; a++) {
      for (let b = 0; b < 3; b++) {
        const [queries, keys] = [itemAt(GROUPS, a), itemAt(GROUPS, b)];
        const expected =
          queries.reduce((sum, i) => sum + keys.reduce((part, j) => part + share(i, j), 0), 0) /
          queries.length;
        expect(value(a, b)).toBeCloseTo(expected, 6);
      }
    }
    expect(asked).toContainEqual({ kind: "mixing", quantity: "norms", layer: 1, head: 2 });
    expect(part("sentences-carried").textContent).toContain("norms · L1 · H2");
    expect(part("scope").hidden).toBe(true);
    expect(part("meaning").textContent).toContain("Kobayashi");
    expect(part("strongest").textContent).toMatch(/takes most from S\d/);
    expect(drawn?.options?.()).toEqual({ aggregation: "mass", over: "norms · L1 · H2" });
    cell(0, 1).click();
    await settled();
    expect(part("drill-sum").textContent).toContain("takes from S1");
    await choose("[data-aggregation='max']");
    const largestOf = (a: number, b: number): number =>
      Math.max(
        ...itemAt(GROUPS, a).flatMap((i) =>
          itemAt(GROUPS, b).map((j) => itemAt(itemAt(CARRIED, i), j)),
        ),
      );
    expect(value(1, 2)).toBe(largestOf(1, 2));
    await choose("[data-aw-part='to-weights']");
    expect(state.get().quantity).toBe("weights");
    expect(part("sentences-carried").hidden).toBe(true);
  });

  it("names no head for what a layer carries", async () => {
    await draw({ layer: 1, head: 2, quantity: "rollout" });
    await choose("[data-aggregation='max']");
    cell(0, 1).click();
    await settled();
    expect(part("witness").hidden).toBe(true);
    expect(part("sentences-carried").textContent).toContain("rollout to L1");
  });

  it("keeps the last picture where another quantity cannot be had", async () => {
    await draw({ layer: 1 });
    broken = true;
    state.set({ quantity: "alti" });
    await settled();
    expectMass({});
    expect(reports).toHaveLength(1);
  });

  it("asks nothing when the head changes and the scope is all of them", async () => {
    await draw({ layer: 1, head: 2 });
    state.set({ layer: 0, head: 0 });
    await settled();
    expect(asked).toHaveLength(1);
  });

  it("says in words which other sentence draws the row's attention", async () => {
    await draw();
    for (const a of [0, 1, 2]) {
      (element.querySelector(`.aw-isa-row[data-a='${a}'] .aw-isa-label`) as HTMLElement).click();
      const others = [0, 1, 2].filter((b) => b !== a);
      const best = itemAt(
        others.sort((x, y) => mass({}, a, y) - mass({}, a, x)),
        0,
      );
      expect(part("strongest").textContent).toContain(
        `S${a} looks most at S${best} (${formatNumber(mass({}, a, best))})`,
      );
      expect(cell(a, best).classList.contains("is-strongest")).toBe(true);
      expect(element.querySelectorAll(`.is-strongest[data-a='${a}']`)).toHaveLength(1);
    }
  });

  it("reads the row of the focus token's sentence", async () => {
    await draw({ token: 5 });
    expect(part("strongest").textContent).toMatch(/^S1 /);
    state.set({ token: 7 });
    expect(part("strongest").textContent).toMatch(/^S2 /);
  });

  it("keeps hostile sentences text", async () => {
    await draw();
    expect(element.querySelector("img")).toBeNull();
    expect(element.textContent).toContain(TEXTS[1]);
  });

  it("hatches what the model's mask forbids, and never shows it as 0", async () => {
    mask = new Uint8Array(N * N).fill(1);
    for (const i of itemAt(GROUPS, 0)) for (const j of itemAt(GROUPS, 2)) mask[i * N + j] = 0;
    mask[itemAt(itemAt(GROUPS, 1), 0) * N + itemAt(itemAt(GROUPS, 0), 0)] = 0;
    await draw();
    expect(cell(0, 2).classList.contains("is-impossible")).toBe(true);
    expect(cell(0, 2).hasAttribute("data-aw-value")).toBe(false);
    expect(cell(0, 2).textContent).toBe("–");
    expect(part("strongest").textContent).toContain("S0 looks most at S1");
    expect(value(1, 0)).toBe(Math.fround(mass({}, 1, 0)));
    cell(0, 2).click();
    await settled();
    expect(part("drill-sum").textContent).toBe(
      "The model's mask forbids every link between the two.",
    );
    cell(1, 0).click();
    await settled();
    expect(
      part("drill-links").querySelector(
        `[data-query='${itemAt(itemAt(GROUPS, 1), 0)}'][data-key='${itemAt(itemAt(GROUPS, 0), 0)}']`,
      ),
    ).toBeNull();
  });

  it("is one stop for Tab, and arrows move in it", async () => {
    await draw();
    cell(1, 1).click();
    expect(element.querySelectorAll(".aw-isa-cell[tabindex='0']")).toHaveLength(1);
    press(cell(1, 1), "ArrowRight");
    expect(document.activeElement).toBe(cell(1, 2));
    press(cell(1, 2), "ArrowUp");
    press(cell(0, 2), "ArrowUp");
    expect(document.activeElement).toBe(cell(0, 2));
    press(cell(0, 2), "Home");
    expect(document.activeElement).toBe(cell(0, 0));
    expect(element.querySelectorAll(".aw-isa-cell[tabindex='0']")).toHaveLength(1);
  });

  it("keeps the last picture when a slice fails, and says what it shows", async () => {
    await draw();
    broken = true;
    await choose("[data-aggregation='max']");
    expect(reports).toEqual(["The kernel cannot be reached."]);
    expectMass({});
    expect(element.querySelector("[data-aggregation='mass']")?.getAttribute("aria-pressed")).toBe(
      "true",
    );
  });

  it("keeps what was chosen when the view is opened again", async () => {
    await draw({ layer: 1, head: 2 });
    await choose("[data-aggregation='max']");
    await choose("[data-scope='layer']");
    drawn?.dispose();
    element.remove();
    await draw({}, GROUPS.slice(), state);
    expect(asked).toEqual([{ kind: "sentences", aggregation: "max", layer: 1, head: null }]);
    expect(drawn?.options?.()).toEqual({ aggregation: "max", over: "L1, all heads" });
  });
});

describe("tokens of a pair", () => {
  it("open and close with Enter, and the sum gives the cell", async () => {
    await draw();
    press(cell(1, 0), "Enter");
    await settled();
    expect(cell(1, 0).getAttribute("aria-expanded")).toBe("true");
    const [total, result] = [
      ...part("drill-sum").querySelectorAll<HTMLElement>("[data-aw-value]"),
    ].map((one) => Number(one.dataset.awValue));
    expect(Number(total) / 3).toBe(result);
    expect(result).toBeCloseTo(value(1, 0), 6);
    expect(part("drill-sum").textContent).toContain(`= ${formatNumber(value(1, 0))}`);
    press(cell(1, 0), "Enter");
    expect(part("drill-down")).toBeNull();
  });

  it("list the strongest links, which pin the pair everywhere", async () => {
    await draw();
    cell(1, 0).click();
    await settled();
    const links = [...part("drill-links").querySelectorAll("button")];
    const weights = itemAt(GROUPS, 1)
      .flatMap((i) => itemAt(GROUPS, 0).map((j) => ({ i, j, weight: Math.fround(mean({}, i, j)) })))
      .sort((x, y) => y.weight - x.weight || x.i - y.i || x.j - y.j);
    expect(
      Number(itemAt(links, 0).querySelector("[data-aw-value]")?.getAttribute("data-aw-value")),
    ).toBe(itemAt(weights, 0).weight);
    itemAt(links, 0).click();
    expect(state.get().pair).toEqual([itemAt(weights, 0).i, itemAt(weights, 0).j]);
    expect(state.get().token).toBe(itemAt(weights, 0).i);
    expect(cell(1, 0).hasAttribute("data-aw-pinned")).toBe(true);
    expect(itemAt(links, 0).getAttribute("aria-pressed")).toBe("true");
  });

  it("name the head that made a maximum, and go there", async () => {
    await draw({ view: "sentences" });
    await choose("[data-aggregation='max']");
    cell(0, 1).click();
    await settled();
    let top = { value: -1, layer: 0, head: 0, query: 0, key: 0 };
    for (const { l, k, matrix } of chosen({})) {
      for (const query of itemAt(GROUPS, 0)) {
        for (const key of itemAt(GROUPS, 1)) {
          const value = itemAt(itemAt(matrix, query), key);
          if (value > top.value) {
            top = { value, layer: l, head: k, query, key };
          }
        }
      }
    }
    expect(value(0, 1)).toBe(Math.fround(top.value));
    expect(part("show-witness").textContent).toBe(`Show L${top.layer} H${top.head}`);
    part("show-witness").click();
    const { layer, head, token, pair, view } = state.get();
    expect({ layer, head, token, pair, view }).toEqual({
      layer: top.layer,
      head: top.head,
      token: top.query,
      pair: [top.query, top.key],
      view: "attention",
    });
  });

  it("follow the aggregation while they are open", async () => {
    await draw();
    cell(0, 1).click();
    await settled();
    await choose("[data-aggregation='max']");
    await settled();
    expect(part("drill-sum").textContent).toBe(
      `Largest of the 9 cells = ${formatNumber(value(0, 1))}.`,
    );
  });

  it("close with Escape", async () => {
    await draw();
    cell(0, 1).click();
    await settled();
    press(cell(0, 1), "Escape");
    expect(part("drill-down")).toBeNull();
    expect(cell(0, 1).getAttribute("aria-expanded")).toBe("false");
  });
});

describe("few sentences", () => {
  it("one is compared with itself, and the reader told why", async () => {
    await draw({}, [itemAt(GROUPS, 0)]);
    await settled();
    expect(part("note").textContent).toBe("The text is one sentence.");
    expect(part("drill-down")).not.toBeNull();
    expect(value(0, 0)).toBe(Math.fround(mass({}, 0, 0)));
  });

  it("none leave the note alone", async () => {
    await draw({}, []);
    expect(part("note").textContent).toBe("No sentence was found.");
    expect(part("sentence-matrix").closest("[hidden]")).not.toBeNull();
    expect(drawn?.table()).toBeNull();
  });
});

it("prints as many digits of the sum as the division needs", () => {
  // 1.0049 / 3 = 0.335 (0.33497), but 1.00 / 3 = 0.333.
  const found = massSum({
    queries: [0, 1, 2],
    keys: [3],
    weights: Float32Array.from([0.5, 0.25, 0.2549]),
  });
  expect(formatNumber(found.mean)).toBe("0.335");
  expect(formatNumber(Number(found.total.toPrecision(found.digits)) / 3)).toBe("0.335");
  expect(formatNumber(Number(found.total.toPrecision(3)) / 3)).not.toBe("0.335");
});

it("gives a table of all pairs with all digits", async () => {
  await draw();
  expect(drawn?.table()).toEqual({
    columns: ["a", "b", "a_text", "b_text", "value"],
    rows: [0, 1, 2].flatMap((a) =>
      [0, 1, 2].map((b) => [a, b, TEXTS[a], TEXTS[b], Math.fround(mass({}, a, b))]),
    ),
  });
});

describe("columns of many sentences", () => {
  test("are those in sight, with some on both sides", () => {
    const at = (scrollLeft: number) => ({ scrollLeft, clientWidth: 900 });
    expect(columnsInSight(at(0), 180, 24, 800)).toEqual([0, 40]);
    const [from, to] = columnsInSight(at(400 * 24), 180, 24, 800);
    expect(from).toBeLessThanOrEqual(392);
    expect(to).toBeGreaterThanOrEqual(430);
    expect(to - from).toBeLessThan(64);
    expect(columnsInSight(at(800 * 24), 180, 24, 800)[1]).toBe(800);
    expect(columnsInSight(at(-400 * 24), 180, 24, 800)).toEqual([from, to]);
    expect(columnsInSight({ scrollLeft: 0, clientWidth: 0 }, 180, 24, 800)).toEqual([0, 800]);
  });

  test("a cell that stays is the same one, and all stand in their order", () => {
    const row = document.createElement("div");
    row.append(document.createElement("b"), document.createElement("i"));
    const make = (b: number): HTMLElement => {
      const cell = document.createElement("div");
      cell.dataset.b = String(b);
      return cell;
    };
    const columns = () =>
      [...row.querySelectorAll<HTMLElement>("[data-b]")].map(({ dataset }) => Number(dataset.b));
    fitCells(row, [4, 8], make);
    const five = row.querySelector('[data-b="5"]');
    fitCells(row, [3, 6], make, 9);
    expect(columns()).toEqual([3, 4, 5, 9]);
    expect(row.querySelector('[data-b="5"]')).toBe(five);
    fitCells(row, [5, 7], make, 1);
    expect(columns()).toEqual([1, 5, 6]);
    expect(row.querySelector<HTMLElement>('[data-b="6"]')?.style.gridColumn).toBe("8");
    expect([row.firstElementChild?.tagName, row.lastElementChild?.tagName]).toEqual(["B", "I"]);
  });
});
