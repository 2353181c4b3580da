/** The tokens of a pair of sentences, and texts of few and of many sentences. */

// @vitest-environment jsdom
import { signal } from "@preact/signals-core";
import { h } from "preact";
import { describe, expect, it, test } from "vitest";
import { massSum, slicedMatrix } from "../../../src/features/sentences/data";
import { createGrid } from "../../../src/features/sentences/grid";
import { linesInSight } from "../../../src/features/sentences/layout";
import { formatNumber } from "../../../src/figures/format";
import type { Table } from "../../../src/figures/table";
import type { Meta } from "../../../src/protocol/meta";
import { itemAt } from "../../../src/protocol/required";
import { mount } from "../../../src/ui/mount";
import { settled } from "../../fake";
import { metaOf } from "../../runs";
import {
  cell,
  choose,
  chosen,
  draw,
  drawn,
  GROUPS,
  mass,
  mean,
  part,
  press,
  state,
  TEXTS,
  value,
} from "./sentences-view";

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
  it("one gives an example and no matrix, and the reader told why", async () => {
    await draw({}, [itemAt(GROUPS, 0)]);
    await settled();
    expect(part("note").textContent).toBe("The text is one sentence.");
    expect(part("sentence-matrix")).toBeNull();
    expect(part("drill-down")).toBeNull();
    expect(part("sentences-example").textContent).toContain(
      "“It was tired.” looks most at “The cat sat on the mat.” (0.194)",
    );
    const table = (await drawn?.table()) as Table | null;
    expect(table?.rows).toHaveLength(1);
  });

  it("none leave the note alone", async () => {
    await draw({}, []);
    expect(part("note").textContent).toBe("No sentence was found.");
    expect(part("sentence-matrix")).toBeNull();
    expect(part("sentences-example")).toBeNull();
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

test("what lies in no sentence is the first token where the mask looks back alone and keeps it out", () => {
  const back = { ...metaOf(["x"]), mask: { back: [0], found: false, rollout: null } };
  const outside = (meta: Meta, first: number): string =>
    slicedMatrix(
      { aggregation: "mass", layer: 0, head: 0, quantity: null },
      { data: { texts: ["x"], tokens: [[first, 2]] }, arrays: new Map() },
      meta,
      null,
      () => 0,
    ).outside;
  expect([outside(back, 1), outside(back, 0)]).toEqual(["the first token", "special tokens"]);
  expect(outside(metaOf(["x"]), 1)).toBe("special tokens");
});

describe("many sentences", () => {
  test("have lines in sight, with some on both sides", () => {
    const at = (scrolled: number) => linesInSight(scrolled, 720, 24, 800);
    expect(at(0)).toEqual([0, 40]);
    const [from, to] = at(400 * 24);
    expect(from).toBeLessThanOrEqual(392);
    expect(to).toBeGreaterThanOrEqual(430);
    expect(to - from).toBeLessThan(64);
    expect(at(800 * 24)[1]).toBe(800);
    expect(at(-400 * 24)).toEqual([from, to]);
    expect(linesInSight(0, 0, 24, 800)).toEqual([0, 800]);
  });

  test("have cells where they are in sight, and the one that Tab enters", () => {
    const size = 200;
    const matrix = signal(
      slicedMatrix(
        { aggregation: "max", layer: 0, head: 0, quantity: null },
        {
          data: { texts: Array(size).fill("x"), tokens: Array(size).fill([0]) },
          arrays: new Map([
            ["matrix", { data: new Float32Array(size * size), shape: [size, size] }],
          ]),
        },
        metaOf(["x"]),
        null,
        () => 0,
      ),
    );
    const host = document.createElement("div");
    const stop = new AbortController();
    const grid = createGrid({
      matrix,
      width: signal(900),
      scale: signal("head" as const),
      mode: signal("light" as const),
      opened: signal(null),
      pinned: signal(null),
      paired: false,
      open: () => undefined,
      close: () => false,
    });
    mount(host, () => h(grid.Grid, { matrix: matrix.value }), stop.signal);
    const element = host.firstElementChild as HTMLElement;
    Object.defineProperties(element, { clientWidth: { value: 700 }, clientHeight: { value: 500 } });
    const scroll = (left: number, top: number): void => {
      [element.scrollLeft, element.scrollTop] = [left, top];
      element.dispatchEvent(new Event("scroll"));
    };
    const columns = (a: number): number[] =>
      [...host.querySelectorAll<HTMLElement>(`[data-a="${a}"][data-b]`)].map(({ dataset }) =>
        Number(dataset.b),
      );
    scroll(50 * 24, 60 * 32);
    expect([columns(60)[0], columns(199)]).toEqual([40, []]);
    expect(columns(0)).toEqual([0]);
    const stays = host.querySelector('[data-a="60"][data-b="56"]') as HTMLElement;
    expect(stays.style.gridColumn).toBe("58");
    scroll(58 * 24, 60 * 32);
    expect(columns(60)[0]).toBe(48);
    expect(host.querySelector('[data-a="60"][data-b="56"]')).toBe(stays);
    stop.abort();
  });
});
