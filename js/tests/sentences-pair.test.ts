/** The tokens of a pair of sentences, and texts of few and of many sentences. */

// @vitest-environment jsdom
import { describe, expect, it, test } from "vitest";
import { formatNumber } from "../src/figures/format";
import { itemAt } from "../src/protocol/required";
import { massSum } from "../src/views/sentences/data";
import { columnsInSight, fitCells } from "../src/views/sentences/grid-columns";
import { settled } from "./fake";
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
