// @vitest-environment jsdom

import { afterEach, describe, expect, it } from "vitest";
import { itemAt } from "../src/protocol/required";
import type { Mode } from "../src/views/predictions/data";
import { predictions } from "../src/views/predictions/view";
import { opened, settled } from "./fake";
import { type Run, run } from "./figures-run";
import { descending, LOGITS } from "./prediction-figures";
import { IDS, softmax, TOKENS, VOCABULARY } from "./tiny-text";

let dispose: () => void = () => undefined;
let element: HTMLElement;

function draw(options: Parameters<typeof run>[0] = {}): Run {
  const made = run(options);
  element = document.createElement("div");
  document.body.append(element);
  dispose = opened(predictions, element, made, made.context).dispose;
  return made;
}
afterEach(() => {
  dispose();
  element?.remove();
});

const one = (selector: string): HTMLElement => element.querySelector(selector) as HTMLElement;
const cell = (position: number, rank: number): HTMLElement =>
  one(`.aw-position[data-position='${position}'] [data-column='${rank}']`);
const original = (position: number): HTMLElement =>
  one(`.aw-position[data-position='${position}'] .aw-original`);
const shownRows = (): number[] =>
  [...element.querySelectorAll<HTMLElement>(".aw-position:not([hidden])")].map((row) =>
    Number(row.dataset.position),
  );
const press = (target: Element, key: string): void => {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
};

function expectNumbers(mode: Mode): void {
  for (let position = 0; position < TOKENS.length; position++) {
    const row = itemAt(LOGITS[mode], position);
    const best = descending(row);
    for (let rank = 1; rank <= 5; rank++) {
      expect(Number(cell(position, rank).dataset.tokenId)).toBe(best[rank - 1]);
      expect(Number(cell(position, rank).dataset.awValue)).toBe(
        Math.fround(itemAt(softmax(row), itemAt(best, rank - 1))),
      );
    }
    expect(Number(original(position).dataset.awRank)).toBe(best.indexOf(itemAt(IDS, position)) + 1);
    expect(Number(original(position).dataset.awValue)).toBe(
      Math.fround(itemAt(softmax(row), itemAt(IDS, position))),
    );
  }
}

describe("list", () => {
  it("shows the five most probable tokens and the original's rank at every position", () => {
    draw();
    expect(shownRows()).toEqual([0, 1, 2, 3, 4, 5]);
    expectNumbers("as_is");
  });

  it("marks a prediction that is the original token", () => {
    draw();
    for (const marked of element.querySelectorAll<HTMLElement>(".aw-prediction")) {
      const own = Number(marked.dataset.tokenId) === IDS[Number(marked.dataset.position)];
      expect(marked.classList.contains("is-original")).toBe(own);
    }
    // Nothing is predicted at a special token.
    const plain = TOKENS.flatMap((text, i) => (/^\[(CLS|SEP)\]$/.test(text) ? [] : [i]));
    const hits = plain.filter(
      (i) => itemAt(descending(itemAt(LOGITS.as_is, i)), 0) === IDS[i],
    ).length;
    expect(one(".aw-predictions-status").textContent).toContain(
      `at ${hits} of ${plain.length} positions`,
    );
  });

  it("leaves special tokens out with the widget's switch", () => {
    const { state } = draw();
    state.set({ special: false });
    expect(shownRows()).toEqual([1, 2, 3, 4]);
    expect(one(".aw-predictions-status").textContent).toContain("of 4 positions");
  });

  it("marks the focus token, and a click on a token sets it", () => {
    const { state } = draw({ selection: { token: 3 } });
    expect(one(".is-focus").dataset.position).toBe("3");
    one(".aw-position[data-position='4'] .aw-position-token").click();
    expect(state.get().token).toBe(4);
    expect(one(".is-focus").dataset.position).toBe("4");
    expect(element.querySelectorAll(".is-focus")).toHaveLength(1);
  });

  it("keeps hostile tokens text", () => {
    draw();
    expect(element.querySelector("img, script")).toBeNull();
    expect(one(".aw-position[data-position='1'] .aw-token-text").textContent).toBe(TOKENS[1]);
    expect(one(".aw-position[data-position='3'] .aw-token-word").textContent).toBe("ting");
  });

  it("is one stop for Tab, and arrows move in it", () => {
    draw();
    expect(element.querySelectorAll(".aw-guess[tabindex='0']")).toHaveLength(1);
    const start = cell(2, 2);
    start.click();
    start.click();
    press(start, "ArrowDown");
    expect(document.activeElement).toBe(cell(3, 2));
    press(cell(3, 2), "ArrowRight");
    expect(document.activeElement).toBe(cell(3, 3));
    press(cell(3, 3), "Home");
    expect((document.activeElement as HTMLElement).classList.contains("aw-position-token")).toBe(
      true,
    );
    expect(element.querySelectorAll(".aw-guess[tabindex='0']")).toHaveLength(1);
  });

  it("skips rows of special tokens that are not shown", () => {
    draw({ selection: { special: false } });
    cell(1, 1).focus();
    press(cell(1, 1), "ArrowUp");
    expect(document.activeElement).toBe(cell(1, 1));
  });
});

describe("masked predictions", () => {
  it("come from the kernel, and back again from the first paint", async () => {
    const { asked } = draw();
    one("[data-mode=masked]").click();
    expect(one(".aw-predictions").getAttribute("aria-busy")).toBe("true");
    for (let i = 0; i < 6; i++) await settled();
    const asks = { kind: "predictions", mode: "masked", top_k: 5 } as const;
    expect(asked).toEqual([
      { ...asks, rows: [0, 1] },
      { ...asks, rows: [0, 4] },
      { ...asks, rows: [4, 6] },
    ]);
    expectNumbers("masked");
    expect(one("[data-mode=masked]").getAttribute("aria-pressed")).toBe("true");
    one("[data-mode=as_is]").click();
    expect(asked).toHaveLength(3);
    expectNumbers("as_is");
  });

  it("are dropped when the reader goes back before they arrive", async () => {
    draw();
    one("[data-mode=masked]").click();
    one("[data-mode=as_is]").click();
    await settled();
    expectNumbers("as_is");
    expect(one(".aw-predictions").hasAttribute("aria-busy")).toBe(false);
    expect(one("[data-mode=as_is]").getAttribute("aria-pressed")).toBe("true");
  });

  it("say that they need a kernel where there is none, and keep the last picture", async () => {
    const { reports } = draw({ live: false });
    expect(one("[data-mode=masked]").textContent).toContain("needs a kernel");
    one("[data-mode=masked]").click();
    await settled();
    expect(one(".aw-predictions-status").textContent).toContain("need a running kernel");
    expect(reports).toEqual([]);
    expectNumbers("as_is");
    expect(one("[data-mode=as_is]").getAttribute("aria-pressed")).toBe("true");
  });
});

describe("softmax of a prediction", () => {
  const numbers = (): number[] =>
    [...element.querySelectorAll(".aw-softmax mn[data-aw-value]")].map((mn) =>
      Number(mn.getAttribute("data-aw-value")),
    );

  it.each(["as_is", "masked"] as const)(
    "opens with numbers that are the model's and close (%s)",
    async (mode) => {
      const { state } = draw();
      one(`[data-mode=${mode}]`).click();
      for (let i = 0; i < 6; i++) await settled();
      cell(2, 3).click();
      await settled();
      expect(state.get().token).toBe(2);
      const row = itemAt(LOGITS[mode], 2);
      const id = itemAt(descending(row), 2);
      const [logit = 0, largest = 0, sum = 0, exp = 0, , probability] = numbers();
      expect(logit).toBe(itemAt(row, id));
      expect(largest).toBe(Math.max(...row));
      expect(exp).toBeCloseTo(Math.exp(logit - largest), 12);
      expect(sum).toBeCloseTo(
        row.reduce((total, z) => total + Math.exp(z - largest), 0),
        12,
      );
      expect(probability).toBeCloseTo(exp / sum, 12);
      expect(probability).toBeCloseTo(Number(cell(2, 3).dataset.awValue), 6);
    },
  );

  it("lists terms that sum to the sum, and probabilities that sum to 1", async () => {
    draw();
    cell(1, 1).click();
    await settled();
    const column = (index: number): number[] =>
      [...element.querySelectorAll(".aw-terms tr")]
        .slice(1)
        .map((row) => Number(itemAt(row.children, index).getAttribute("data-aw-value")));
    for (const index of [3, 4]) {
      const values = column(index);
      const total = values.pop() as number;
      expect(values.reduce((a, b) => a + b)).toBeCloseTo(total, 12);
    }
    expect(column(4).at(-1)).toBe(1);
    expect(one(".aw-terms tfoot th").textContent).toBe(`${VOCABULARY - 6} others`);
    const mass = [...element.querySelectorAll(".aw-mass-part")].map((part) =>
      Number(part.getAttribute("data-aw-value")),
    );
    expect(mass).toHaveLength(21);
    expect(mass.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
  });

  it("opens for an original token that is far down", async () => {
    const { asked } = draw();
    one("[data-mode=masked]").click();
    await settled();
    const far = IDS.findIndex((id, i) => descending(itemAt(LOGITS.masked, i)).indexOf(id) >= 20);
    expect(far).toBeGreaterThanOrEqual(0);
    original(far).click();
    await settled();
    await settled();
    expect(asked.at(-1)).toEqual({
      kind: "softmax",
      position: far,
      mode: "masked",
      token_ids: [IDS[far]],
    });
    expect(itemAt(numbers(), 0)).toBe(itemAt(itemAt(LOGITS.masked, far), itemAt(IDS, far)));
    expect(one(".aw-terms tr[aria-current] .aw-rank").textContent).toBe(
      original(far).dataset.awRank,
    );
  });

  it("lets another term be the numerator", async () => {
    draw();
    cell(2, 1).click();
    await settled();
    const other = itemAt(descending(itemAt(LOGITS.as_is, 2)), 3);
    one(`.aw-terms button[data-token-id='${other}']`).click();
    await settled();
    expect(itemAt(numbers(), 0)).toBe(itemAt(itemAt(LOGITS.as_is, 2), other));
    expect(document.activeElement).toBe(one(`.aw-terms button[data-token-id='${other}']`));
  });

  it("opens without a kernel from what the page has", async () => {
    const { reports } = draw({ live: false });
    cell(2, 2).click();
    await settled();
    const row = itemAt(LOGITS.as_is, 2);
    expect(itemAt(numbers(), 0)).toBe(itemAt(row, itemAt(descending(row), 1)));
    expect(numbers().at(-1)).toBeCloseTo(itemAt(softmax(row), itemAt(descending(row), 1)), 9);
    expect(reports).toEqual([]);
  });

  it("closes on a second click and on Escape, with the focus where it was", async () => {
    draw();
    const anchor = cell(2, 2);
    anchor.click();
    expect(anchor.getAttribute("aria-expanded")).toBe("true");
    anchor.click();
    expect(element.querySelector(".aw-softmax")).toBeNull();
    anchor.click();
    await settled();
    press(one(".aw-softmax"), "Escape");
    expect(element.querySelector(".aw-softmax")).toBeNull();
    expect(document.activeElement).toBe(anchor);
    expect(anchor.getAttribute("aria-expanded")).toBe("false");
  });
});

it("says why there is nothing to show for a model without a masked-LM head", () => {
  draw({ mlm: false });
  expect(one(".aw-empty").textContent).toContain("no masked-LM head");
});

it("leaves nothing behind", () => {
  const { state } = draw();
  dispose();
  expect(element.childElementCount).toBe(0);
  state.set({ token: 1 });
  expect(element.childElementCount).toBe(0);
});
