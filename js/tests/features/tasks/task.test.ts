// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { bestSpan, spanText } from "../../../src/features/tasks/answers";
import { nextCell } from "../../../src/features/tasks/next-cell";
import { spanLabels } from "../../../src/features/tasks/span";
import { usualLabel } from "../../../src/features/tasks/tokens";
import { classesOf, closingColumn, oddsOf, slicedClasses } from "../../../src/figures/classes";
import { formatNumber, formatPercent, shown, visible } from "../../../src/figures/format";
import { SliceFailure } from "../../../src/protocol/failure";
import { itemAt } from "../../../src/protocol/required";
import { metaOf } from "../../runs";
import {
  answered,
  classified,
  draw,
  drawn,
  element,
  LABELS,
  LOGITS,
  outputs,
  PER_TOKEN,
  part,
  press,
  printed,
  read,
  reports,
  SPANS,
  soft,
  state,
  values,
} from "./task-view";

describe("sequence classifier", () => {
  it("shows the model's own labels in its own order, the largest marked", async () => {
    await draw();
    const rows = [...part("classes").querySelectorAll("tbody tr")];
    expect(rows.map((row) => row.querySelector("button")?.title)).toEqual(LABELS);
    expect(rows.map((row) => row.classList.contains("is-best"))).toEqual([
      false,
      false,
      true,
      false,
    ]);
    const { probabilities } = soft(LOGITS);
    const [first, second] = [...probabilities.keys()].sort(
      (i, j) => itemAt(probabilities, j) - itemAt(probabilities, i),
    );
    const term = (i = -1): string =>
      `${itemAt(LABELS, i)}: ${formatPercent(itemAt(probabilities, i), 2)}`;
    expect(part("sentence").textContent).toBe(
      `cat pushes to ${LABELS[2]}, away from ${LABELS[second ?? -1]}: by 0.750 logits. ` +
        `The model leans to ${term(first)}, chance 25%.`,
    );
  });

  it("opens the softmax with all digits behind its numbers", async () => {
    await draw();
    const { exp, sum, probabilities } = soft(LOGITS);
    for (const [i, row] of [...part("classes").querySelectorAll("tbody tr")].entries()) {
      expect(values(row)).toEqual([
        itemAt(LOGITS, i),
        Math.fround(itemAt(exp, i)),
        Math.fround(itemAt(probabilities, i)),
      ]);
    }
    expect(values(part("classes").querySelector("tfoot") as Element)).toEqual([sum, 1]);
  });

  it("prints numbers with which a reader's own calculation closes", async () => {
    await draw();
    const rows = [...part("classes").querySelectorAll("tbody tr")];
    const sum = read(part("classes").querySelector("tfoot td.aw-number")?.textContent as string);
    const top = Math.max(...rows.map((row) => printed(row, 0)));
    const added = rows.reduce((total, row) => total + printed(row, 1), 0);
    expect(shown(added)).toBe(shown(sum));
    for (const row of rows) {
      const cells = row.querySelectorAll("td.aw-number");
      expect(formatNumber(Math.exp(printed(row, 0) - top))).toBe(formatNumber(printed(row, 1)));
      expect(formatPercent(printed(row, 1) / sum)).toBe(itemAt(cells, 2).textContent);
    }
  });

  it("writes the equation of the chosen class", async () => {
    await draw();
    const numbers = (): number[] =>
      [...element.querySelectorAll(".aw-classes-equation mn[data-aw-value]")].map((mn) =>
        Number(mn.getAttribute("data-aw-value")),
      );
    expect(numbers()[0]).toBe(LOGITS[2]);
    (part("classes").querySelector("button[data-index='0']") as HTMLElement).click();
    expect(numbers()[0]).toBe(LOGITS[0]);
    expect(numbers()[1]).toBe(LOGITS[2]);
    expect(numbers().at(-1)).toBe(Math.fround(itemAt(soft(LOGITS).probabilities, 0)));
  });

  it("compares the two largest at first, in words", async () => {
    await draw();
    const ratio = Math.exp(itemAt(LOGITS, 2) - itemAt(LOGITS, 3));
    expect(part("odds").textContent).toContain(
      `${LABELS[2]} is ${formatNumber(ratio)} times as probable as ${LABELS[3]}`,
    );
    const [first, second] = part("odds").querySelectorAll<HTMLElement>("[data-aw-value]");
    expect(Number(first?.dataset.awValue)).toBe(ratio);
    expect(Number(second?.dataset.awValue)).toBe(itemAt(LOGITS, 2) - itemAt(LOGITS, 3));
  });

  it("compares the classes that are ticked", async () => {
    await draw();
    const tick = (index: number): void =>
      (element.querySelector(`input[data-index='${index}']`) as HTMLElement).click();
    tick(0);
    expect(part("odds").querySelectorAll(".aw-odds-line")).toHaveLength(2);
    tick(0);
    tick(3);
    expect(part("odds").textContent).toContain("Select two or more");
  });

  it("keeps hostile labels text, and shows what would reorder them", async () => {
    await draw();
    expect(part("classes").querySelector("b")).toBeNull();
    expect(part("classes").textContent).toContain("<b>so⟨U+202E⟩so</b>");
  });

  it("is one stop for Tab, and arrows move over classes and their ticks", async () => {
    await draw();
    const stops = (): Element[] => [...part("classes").querySelectorAll("[tabindex='0']")];
    expect(stops()).toHaveLength(1);
    const button = part("classes").querySelector("button[data-index='2']") as HTMLElement;
    expect(stops()[0]).toBe(button);
    button.focus();
    press(button, "ArrowDown");
    expect(document.activeElement).toBe(part("classes").querySelector("button[data-index='3']"));
    press(document.activeElement as Element, "ArrowLeft");
    expect(document.activeElement).toBe(part("classes").querySelector("input[data-index='3']"));
    expect(stops()).toHaveLength(1);
  });

  it("gives a table of all classes", async () => {
    await draw();
    const { exp, sum, probabilities } = soft(LOGITS);
    expect(await drawn?.table()).toEqual({
      columns: ["row", "label", "logit", "exp", "sum", "probability"],
      rows: LABELS.map((label, i) => [
        0,
        label,
        LOGITS[i],
        Math.fround(itemAt(exp, i)),
        sum,
        Math.fround(itemAt(probabilities, i)),
      ]),
    });
  });

  it("says in words what went wrong, and still shows where the first token looks", async () => {
    await draw(new SliceFailure("The kernel cannot be reached.", "Run the cell again."));
    expect(reports).toEqual(["The kernel cannot be reached."]);
    expect(part("task").textContent).toContain("Run the cell again.");
    expect(part("first-layers")).not.toBeNull();
  });
});

describe("outputs that are no softmax", () => {
  it("open each sigmoid, and a reader's own calculation closes", async () => {
    await draw(outputs([-2.345, 0.25, 1.5], ["a", "b", "c"], "sigmoid"));
    expect(part("classes").textContent).toContain("No softmax");
    expect(part("classes").querySelector("tfoot")?.textContent).toBe("");
    for (const row of part("classes").querySelectorAll("tbody tr")) {
      const cells = row.querySelectorAll("td.aw-number");
      expect(formatNumber(Math.exp(-printed(row, 0)))).toBe(formatNumber(printed(row, 1)));
      expect(formatPercent(1 / (1 + printed(row, 1)))).toBe(itemAt(cells, 2).textContent);
    }
    expect(part("sentence").textContent).toBe(
      `2 of 3 labels have 50% or more: c: ${formatPercent(1 / (1 + Math.exp(-1.5)), 2)}, b: ${formatPercent(1 / (1 + Math.exp(-0.25)), 2)}.`,
    );
    expect(part("activation-note").textContent).toBe("What the checkpoint leaves open.");
  });

  it("show a regression's value and no probability", async () => {
    await draw(outputs([3.25], ["stars"], "identity"));
    expect(part("sentence").textContent).toBe("The value of stars is 3.250.");
    expect(values(part("classes"))).toEqual([3.25]);
    expect(part("classes").textContent).toContain("neither softmax nor sigmoid");
    expect(await drawn?.table()).toEqual({
      columns: ["row", "label", "logit", "exp", "sum", "probability"],
      rows: [[0, "stars", 3.25, null, null, null]],
    });
    const slopes = part("gradient-rows").querySelectorAll(".aw-first-row");
    expect(slopes).toHaveLength(1);
  });
});

describe("token classifier", () => {
  const found = classified(PER_TOKEN, LABELS, "token");

  it("gives every token its most probable label", async () => {
    await draw(found);
    for (const [i, row] of [...part("token-classes").children].entries()) {
      const { probabilities } = soft(itemAt(PER_TOKEN, i));
      const best = probabilities.indexOf(Math.max(...probabilities));
      expect(row.querySelector<HTMLElement>(".aw-class-name")?.title).toBe(LABELS[best]);
      expect(Number(row.querySelector<HTMLElement>("[data-aw-value]")?.dataset.awValue)).toBe(
        Math.fround(itemAt(probabilities, best)),
      );
    }
  });

  it("writes the label of a word's first token over the words", async () => {
    await draw(found);
    const words = [...part("word-labels").querySelectorAll<HTMLElement>(".aw-word-label")];
    const label = (token: number): string => {
      const { probabilities } = soft(itemAt(PER_TOKEN, token));
      return itemAt(LABELS, probabilities.indexOf(Math.max(...probabilities)));
    };
    expect(words.map((word) => word.title)).toEqual(
      [
        ["the", label(1)],
        ["cat sat", label(2)],
      ].map((pair) => pair.map(visible).join(": ")),
    );
    itemAt(words, 1).click();
    expect(state.get().token).toBe(2);
    expect(itemAt(words, 1).classList.contains("is-focus")).toBe(true);
  });

  it("asks why about the label of the open token, and about none that the tokenizer added", async () => {
    await draw(found, { token: 2 });
    const order = [...itemAt(PER_TOKEN, 2).keys()].sort(
      (i, j) => itemAt(itemAt(PER_TOKEN, 2), j) - itemAt(itemAt(PER_TOKEN, 2), i),
    );
    part("why-button").click();
    expect(state.get().target).toEqual({ position: 2, against: order[1], label: order[0] });
    expect(state.get().view).toBe("why");
    await draw(found, { token: 0 });
    expect(part("why-button")).toBeNull();
  });

  it("opens the focus token's softmax, and arrows move the focus", async () => {
    await draw(found, { token: 2 });
    const logits = (): number[] =>
      [...part("classes").querySelectorAll("tbody tr")].map((row) => itemAt(values(row), 0));
    expect(logits()).toEqual(PER_TOKEN[2]);
    press(itemAt(part("token-classes").children, 2), "ArrowDown");
    expect(state.get().token).toBe(3);
    expect(logits()).toEqual(PER_TOKEN[3]);
    expect(document.activeElement).toBe(part("token-classes").children[3]);
  });
});

describe("question answering", () => {
  it("says when start and end at the first token are more probable than any span", async () => {
    const sure = SPANS.map((row, i): [number, number] => (i === 0 ? [9, 9] : row));
    await draw(answered(sure));
    const said = part("no-answer");
    expect(said.textContent).toContain("[CLS]");
    const share = sure.map(([z]) => Math.exp(z - 9)).reduce((a, b) => a + b);
    expect(Number(said.querySelector<HTMLElement>("[data-aw-value]")!.dataset.awValue)).toBeCloseTo(
      1 / share / sure.map(([, z]) => Math.exp(z - 9)).reduce((a, b) => a + b),
      6,
    );
  });

  it("marks the most probable span outside of special tokens, with its text", async () => {
    await draw(answered(SPANS));
    expect(part("answer").textContent).toContain("“cat sat”");
    const starts = soft(SPANS.map(([start]) => start)).probabilities;
    const ends = soft(SPANS.map(([, end]) => end)).probabilities;
    const numbers = [...part("answer").querySelectorAll<HTMLElement>("[data-aw-value]")].map(
      (one) => Number(one.dataset.awValue),
    );
    expect(itemAt(numbers, 0)).toBe(Math.fround(itemAt(starts, 2)));
    expect(itemAt(numbers, 1)).toBe(Math.fround(itemAt(ends, 3)));
    expect(itemAt(numbers, 2)).toBeCloseTo(itemAt(starts, 2) * itemAt(ends, 3), 6);
    const marked = [...part("spans").querySelectorAll<HTMLElement>(".is-answer")];
    expect(marked.map((cell) => Number(cell.dataset.token))).toEqual([2, 3, 2, 3]);
  });

  it("shows each distribution over the positions, and others that sum to its sum", async () => {
    await draw(answered(SPANS));
    const cells = [...part("spans").querySelectorAll<HTMLElement>("[data-boundary='1']")];
    expect(cells.map((cell) => Number(cell.dataset.awValue))).toEqual(
      soft(SPANS.map(([, end]) => end)).probabilities.map(Math.fround),
    );
    expect(cells.reduce((sum, cell) => sum + Number(cell.dataset.awValue), 0)).toBeCloseTo(1, 6);
    const [sum] = values(part("positions-1").querySelector(".aw-sum") as Element);
    expect(sum).toBe(soft(SPANS.map(([, end]) => end)).sum);
  });

  it("never lets an answer end before it starts, nor lie in the question", () => {
    const meta = metaOf(["[CLS]", "who", "[SEP]", "a", "b", "[SEP]"]);
    const tokens = { ...meta.tokens, segment: [0, 0, 0, 1, 1, 1] };
    const found = slicedClasses(
      answered([
        [9, 9],
        [8, 8],
        [0, 0],
        [1, 5],
        [4, 1],
        [0, 0],
      ]),
    );
    const span = bestSpan(found, tokens);
    // P(a) P(a) is e^6, P(a) P(b) e^2, P(b) P(b) e^5; b before a would be e^9.
    expect(span).toMatchObject({ start: 3, end: 3 });
    expect(spanText(tokens, span as NonNullable<typeof span>)).toBe("a");
  });
});

describe("numbers", () => {
  it("close for many classes far apart", () => {
    const logits = Array.from({ length: 24 }, (_, i) => 6 * Math.sin(i * 1.7));
    const column = classesOf(
      slicedClasses(classified([logits], logits.map(String), "sequence")),
      0,
    );
    const digits = closingColumn(column);
    const exp = column.exp.map((value) => shown(value, digits.exp));
    const sum = shown(column.sum, digits.sum);
    expect(
      shown(
        exp.reduce((a, b) => a + b),
        digits.sum,
      ),
    ).toBe(sum);
    exp.forEach((value, i) => {
      expect(shown(value / sum)).toBe(shown(itemAt(column.probabilities, i)));
    });
  });

  it("give the ratio of two classes from the printed difference of their logits", () => {
    const column = classesOf(
      slicedClasses(classified([[5.4321, -1.2345]], ["a", "b"], "sequence")),
      0,
    );
    const { difference, ratio, digits } = oddsOf(column, 0, 1);
    expect(ratio).toBeCloseTo(itemAt(column.probabilities, 0) / itemAt(column.probabilities, 1), 1);
    expect(shown(Math.exp(shown(difference, digits)))).toBe(shown(ratio));
  });
});

describe("layout", () => {
  it.each([
    // Each token has its label where all fit: 48 px of names, then the middles of equal bars.
    {
      priorities: [0.1, 0.2, 0.3],
      width: 90,
      expected: [
        [0, 63],
        [1, 93],
        [2, 123],
      ],
    },
    // Where they are crowded the most probable ones have.
    {
      priorities: [0.1, 0.9, 0.2, 0.3],
      width: 32,
      expected: [
        [1, 60],
        [3, 76],
      ],
    },
    { priorities: [0.9, 0.1, 0.2, 0.3], width: 14, expected: [[0, 49.75]] },
    { priorities: [], width: 100, expected: [] },
    { priorities: [1], width: 0, expected: [] },
  ])("labels $priorities on $width px", ({ priorities, width, expected }) => {
    expect(spanLabels(priorities, width).map(({ at, x }) => [at, x])).toEqual(expected);
  });

  it.each([
    [["A", "A", "B"], "A"],
    [["A", "B"], undefined],
    [["A", "B", "B", "B"], "B"],
    [[], undefined],
  ])("calls the label of most words of %j usual: %s", (labels, expected) => {
    expect(usualLabel(labels)).toBe(expected);
  });

  it.each([
    ["ArrowRight", { row: 1, column: 2 }],
    ["ArrowLeft", { row: 1, column: 0 }],
    ["ArrowUp", { row: 0, column: 1 }],
    ["ArrowDown", { row: 2, column: 1 }],
    ["Home", { row: 1, column: 0 }],
    ["End", { row: 1, column: 3 }],
    ["Enter", null],
  ])("leads %s from the middle of a grid", (key, expected) => {
    const event = new KeyboardEvent("keydown", { key });
    expect(nextCell(event, { row: 1, column: 1 }, 3, 4)).toEqual(expected);
    const held = new KeyboardEvent("keydown", { key, ctrlKey: true });
    expect(nextCell(held, { row: 1, column: 1 }, 3, 4)).toBeNull();
  });
});

it("an answer begins and ends at the first of equal places", () => {
  const found = (starts: readonly number[], ends: readonly number[]) => ({
    labels: ["start", "end"],
    rows: starts.length,
    activation: "softmax" as const,
    task: "question_answering" as const,
    note: "",
    logits: new Float32Array(0),
    exp: new Float32Array(0),
    sum: new Float64Array(0),
    probabilities: Float32Array.from(starts.flatMap((start, i) => [start, ends[i] ?? 0])),
  });
  const tokens = {
    special: [true, false, false, false, true],
    segment: [0, 0, 0, 0, 0],
  } as unknown as Parameters<typeof bestSpan>[1];
  const span = bestSpan(
    found([0.9, 0.2, 0.2 + 1e-7, 0.1, 0.9], [0.9, 0.1, 0.3, 0.3 + 1e-7, 0.9]),
    tokens,
  );
  expect(span).toMatchObject({ start: 1, end: 2 });
  expect(bestSpan(found([0.5], [0.5]), { ...tokens, special: [true] })).toBeNull();
});
