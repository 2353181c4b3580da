/** The task view: attention of the first token, compared classes, other texts. */

// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { itemAt } from "../../../src/protocol/required";
import { settled } from "../../fake";
import {
  asked,
  draw,
  element,
  firstWeight,
  N,
  overTokens,
  part,
  press,
  SEQUENCE,
  slope,
  soft,
  state,
} from "./task-view";

describe("first token", () => {
  const token = (layer: number, position: number): HTMLElement =>
    element.querySelector(
      `.aw-first-token[data-layer='${layer}'][data-token='${position}']`,
    ) as HTMLElement;

  it("has a row for each layer with the head's weights", async () => {
    await draw(SEQUENCE, { head: 2 });
    overTokens();
    expect(asked).toContainEqual({ kind: "first_token", head: 2 });
    for (const layer of [0, 1]) {
      for (let i = 0; i < N; i++) {
        expect(Number(token(layer, i).dataset.awValue)).toBe(Math.fround(firstWeight(layer, i, 2)));
      }
    }
  });

  it("changes to the mean of heads and back with the selection's head", async () => {
    await draw(SEQUENCE, { head: 2 });
    state.set({ head: "mean" });
    await settled();
    expect(element.textContent).toContain("mean of heads, over words");
    expect(asked).toContainEqual({ kind: "first_token", head: "mean" });
    state.set({ head: 2 });
    await settled();
    expect(element.textContent).toContain("H2, over words");
  });

  it("selects a layer by its row, and shows the first token's row everywhere", async () => {
    await draw(SEQUENCE, { layer: 0, head: 1 });
    (element.querySelector(".aw-first-layer[data-layer='1']") as HTMLElement).click();
    const { layer, head, token: focus } = state.get();
    expect({ layer, head, focus }).toEqual({ layer: 1, head: 1, focus: 0 });
    expect(element.querySelector(".aw-first-row.is-selected")?.getAttribute("data-layer")).toBe(
      "1",
    );
  });

  it("pins the pair of a token", async () => {
    await draw(SEQUENCE, { layer: 0, head: 1 });
    overTokens();
    token(1, 3).click();
    expect(state.get().pair).toEqual([0, 3]);
    expect(state.get().layer).toBe(1);
    expect(token(1, 3).classList.contains("is-pinned")).toBe(true);
    expect(token(0, 3).classList.contains("is-pinned")).toBe(false);
  });

  it("leaves special tokens out with the widget's switch, and changes no number", async () => {
    await draw(SEQUENCE, { head: 0 });
    overTokens();
    const before = token(0, 2).dataset.awValue;
    state.set({ special: false });
    expect(token(0, 0)).toBeNull();
    expect(token(0, 2).dataset.awValue).toBe(before);
  });

  it("is one stop for Tab, and arrows move over layers and tokens", async () => {
    await draw(SEQUENCE, { layer: 0, head: 1 });
    overTokens();
    const grid = part("first-layers");
    expect(grid.querySelectorAll("[tabindex='0']")).toHaveLength(1);
    const start = grid.querySelector("[tabindex='0']") as HTMLElement;
    press(start, "ArrowRight");
    press(token(0, 0), "ArrowDown");
    expect(document.activeElement).toBe(token(1, 0));
    press(token(1, 0), "End");
    press(token(1, N - 1), "Enter");
    expect(state.get().pair).toEqual([0, N - 1]);
    expect(grid.querySelectorAll("[tabindex='0']")).toHaveLength(1);
  });
});

describe("first token over words", () => {
  const cells = (layer: number): HTMLElement[] => [
    ...element.querySelectorAll<HTMLElement>(`.aw-first-token[data-layer='${layer}']`),
  ];

  it("adds up the tokens of a word, and writes what special tokens receive at the end", async () => {
    await draw(SEQUENCE, { head: 2 });
    for (const layer of [0, 1]) {
      const weight = (token: number): number => firstWeight(layer, token, 2);
      const [the, sat] = cells(layer).map((cell) => Number(cell.dataset.awValue));
      expect(cells(layer)).toHaveLength(2);
      expect(the).toBeCloseTo(weight(1), 6);
      expect(sat).toBeCloseTo(weight(2) + weight(3), 6);
      const row = itemAt(cells(layer), 0).closest(".aw-first-row");
      const special = row?.querySelector<HTMLElement>(".aw-first-special [data-aw-value]");
      expect(Number(special?.dataset.awValue)).toBeCloseTo(weight(0) + weight(4), 6);
    }
  });

  it("pins the strongest token of a word", async () => {
    await draw(SEQUENCE, { layer: 0, head: 1 });
    itemAt(cells(1), 1).click();
    expect(state.get().pair).toEqual([0, 2]);
    expect(itemAt(cells(1), 1).classList.contains("is-pinned")).toBe(true);
    expect(itemAt(cells(0), 1).classList.contains("is-pinned")).toBe(false);
  });

  it("follows the widget's own switch of words", async () => {
    await draw(SEQUENCE, { words: true });
    state.set({ words: false });
    expect(cells(0)).toHaveLength(N);
    state.set({ words: true });
    expect(cells(0)).toHaveLength(2);
  });
});

describe("classes under comparison", () => {
  const rows = (): HTMLElement[] => [
    ...part("gradient-rows").querySelectorAll<HTMLElement>(".aw-first-row"),
  ];
  const numbers = (row: HTMLElement): number[] =>
    [...row.querySelectorAll<HTMLElement>(".aw-first-token")].map((cell) =>
      Number(cell.dataset.awValue),
    );
  const over = (label: number, layer: number): number[] => [
    slope(label, layer, 1),
    slope(label, layer, 2) + slope(label, layer, 3),
  ];

  it("have a row of slopes over the words each, and their difference", async () => {
    await draw(SEQUENCE, { layer: 1, head: "mean" });
    expect(rows().map((row) => row.dataset.class)).toEqual(["2", "3", "-1"]);
    const [good = [], fair = [], difference = []] = rows().map(numbers);
    over(2, 1).forEach((value, i) => {
      expect(itemAt(good, i)).toBeCloseTo(value, 6);
      expect(itemAt(fair, i)).toBeCloseTo(itemAt(over(3, 1), i), 6);
      expect(itemAt(difference, i)).toBeCloseTo(value - itemAt(over(3, 1), i), 6);
    });
  });

  it("follow the ticks, the layer and the head", async () => {
    await draw(SEQUENCE, { layer: 0, head: 1 });
    (element.querySelector("input[data-index='0']") as HTMLElement).click();
    await settled();
    expect(rows().map((row) => row.dataset.class)).toEqual(["2", "3", "0"]);
    expect(itemAt(numbers(itemAt(rows(), 2)), 0)).toBeCloseTo(slope(0, 0, 1), 6);
    state.set({ layer: 1 });
    expect(itemAt(numbers(itemAt(rows(), 2)), 0)).toBeCloseTo(slope(0, 1, 1), 6);
    state.set({ head: "mean" });
    await settled();
    expect(asked).toContainEqual({ kind: "class_gradient", label: 0, head: "mean" });
  });
});

describe("other texts", () => {
  const row = (text: number): HTMLElement =>
    element.querySelector(`.aw-beside-row[data-text='${text}']`) as HTMLElement;

  it("stand beside this one by class, painted by the selected layer's weights", async () => {
    await draw(SEQUENCE, { layer: 1 });
    const order = [...part("beside-rows").children].map((one) => (one as HTMLElement).dataset.text);
    expect(order).toEqual(["1", "0"]); // "awful" is the model's first class
    const weights = [...row(1).querySelectorAll<HTMLElement>(".aw-first-token")].map((cell) =>
      Number(cell.dataset.awValue),
    );
    expect(weights).toEqual([0.2, 0.3].map(Math.fround));
    state.set({ layer: 0 });
    expect(Number(row(1).querySelector<HTMLElement>(".aw-first-token")?.dataset.awValue)).toBe(
      Math.fround(0.4),
    );
  });

  it("show the probabilities of the classes under comparison", async () => {
    await draw();
    const cells = [...row(1).querySelectorAll<HTMLElement>("[data-class]")];
    expect(cells.map((cell) => cell.dataset.class)).toEqual(["0", "2", "3"]);
    const { probabilities } = soft([4, 0, 0, 1]);
    cells.forEach((cell) => {
      const value = cell.querySelector<HTMLElement>("[data-aw-value]")?.dataset.awValue;
      expect(Number(value)).toBe(Math.fround(itemAt(probabilities, Number(cell.dataset.class))));
    });
  });
});
