// @vitest-environment jsdom

import { afterEach, describe, expect, it } from "vitest";
import {
  bestSpan,
  classesOf,
  closingColumn,
  oddsOf,
  slicedClasses,
  spanText,
} from "../src/figures/classes";
import { formatNumber, formatPercent, shown, visible } from "../src/figures/format";
import { SliceFailure } from "../src/protocol/failure";
import { itemAt } from "../src/protocol/required";
import type { Meta, NdArray, Slice, SliceRequest, TypedArray } from "../src/protocol/types";
import type { Selection, State } from "../src/state/selection";
import type { ViewHandle } from "../src/views/contract";
import { task } from "../src/views/task/view";
import { fakeRun } from "./fake";
import { settled } from "./figures-run";
import { metaOf } from "./runs";

// jsdom lays nothing out.
globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

const TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]"];
const N = TOKENS.length;
const LABELS = ["awful", "<b>so\u202eso</b>", "a label that is very long indeed", "good"];
const LOGITS = [-1.25, 0.5, 2.125, 1.75];

function soft(logits: readonly number[]) {
  const top = Math.max(...logits);
  const exp = logits.map((z) => Math.exp(z - top));
  const sum = exp.reduce((a, b) => a + b);
  return { exp, sum, probabilities: exp.map((value) => value / sum) };
}

const nd = <T extends TypedArray>(data: T, ...shape: number[]): NdArray<T> => ({ data, shape });

/** The slice of a classifier whose softmax runs over each row. */
function classified(rows: number[][], labels: string[], kind: string): Slice {
  const opened = rows.map(soft);
  const shape = [rows.length, labels.length];
  return {
    data: { labels, task: kind, activation: "softmax", note: "" },
    arrays: new Map<string, NdArray>([
      ["logits", nd(Float32Array.from(rows.flat()), ...shape)],
      ["exp", nd(Float32Array.from(opened.flatMap(({ exp }) => exp)), ...shape)],
      [
        "sum",
        nd(
          Float64Array.from(opened, ({ sum }) => sum),
          rows.length,
        ),
      ],
      [
        "probabilities",
        nd(Float32Array.from(opened.flatMap(({ probabilities }) => probabilities)), ...shape),
      ],
    ]),
  };
}

/** The same for question answering, whose softmax runs over the positions. */
function answered(rows: [number, number][]): Slice {
  const starts = soft(rows.map(([start]) => start));
  const ends = soft(rows.map(([, end]) => end));
  const pairs = (key: "exp" | "probabilities"): number[] =>
    rows.flatMap((_, i) => [itemAt(starts[key], i), itemAt(ends[key], i)]);
  return {
    data: { labels: ["start", "end"], task: "question_answering", activation: "softmax", note: "" },
    arrays: new Map<string, NdArray>([
      ["logits", nd(Float32Array.from(rows.flat()), rows.length, 2)],
      ["exp", nd(Float32Array.from(pairs("exp")), rows.length, 2)],
      ["sum", nd(Float64Array.from([starts.sum, ends.sum]), 2)],
      ["probabilities", nd(Float32Array.from(pairs("probabilities")), rows.length, 2)],
    ]),
  };
}

/** Weights of the first token: layer `l` looks mostly at token `l + 1`. */
const firstWeight = (layer: number, token: number, head: number | "mean"): number =>
  (token === layer + 1 ? 0.6 : 0.1) + (head === "mean" ? 0 : 0.01 * head * (token === 0 ? 1 : 0));

/** A class's slope at a token, the same in both layers up to a factor. */
const slope = (label: number, layer: number, token: number): number =>
  (layer + 1) * (0.1 * (label - 1) - 0.05 * token);

/** Each label by itself, or values. */
function outputs(logits: number[], labels: string[], activation: "sigmoid" | "identity"): Slice {
  const exp = logits.map((z) => (activation === "sigmoid" ? Math.exp(-z) : Number.NaN));
  const whole = (values: number[]) => nd(Float32Array.from(values), 1, labels.length);
  return {
    data: { labels, task: "sequence", activation, note: "What the checkpoint leaves open." },
    arrays: new Map<string, NdArray>([
      ["logits", whole(logits)],
      ["exp", whole(exp)],
      [
        "sum",
        nd(
          Float64Array.from(exp, (e) => 1 + e),
          labels.length,
        ),
      ],
      ["probabilities", whole(exp.map((e) => 1 / (1 + e)))],
    ]),
  };
}

/** Two texts: the one on screen, and one that is said to be awful. */
const BESIDE: Slice = {
  data: {
    texts: [
      {
        text: "the cat sat",
        text_pair: null,
        words: ["the", "cat", "sat"],
        before: ["", " ", " "],
        segments: [0, 0, 0],
      },
      { text: "no!", text_pair: null, words: ["no", "!"], before: ["", ""], segments: [0, 0] },
    ],
    layers: [0, 1],
  },
  arrays: new Map<string, NdArray>([
    ["logits", nd(Float32Array.from([...LOGITS, 4, 0, 0, 1]), 2, 4)],
    [
      "probabilities",
      nd(
        Float32Array.from([...soft(LOGITS).probabilities, ...soft([4, 0, 0, 1]).probabilities]),
        2,
        4,
      ),
    ],
    ["weights", nd(Float32Array.from([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.1, 0.1, 0.2, 0.3]), 2, 5)],
    ["special", nd(Float32Array.from([0.4, 0.2, 0.1, 0.5]), 2, 2)],
  ]),
};

const SEQUENCE = classified([LOGITS], LABELS, "sequence");
const PER_TOKEN = TOKENS.map((_, i) => LABELS.map((_, j) => ((i * 5 + j * 3) % 7) - 2.5));
const SPANS: [number, number][] = [
  [3, 3],
  [0.5, -1],
  [1, 0.25],
  [-0.5, 2],
  [0, 0],
];

let drawn: ViewHandle | null = null;
let element: HTMLElement;
let state: State;
let asked: SliceRequest[] = [];
let reports: string[] = [];

async function draw(
  answer: Slice | SliceFailure = SEQUENCE,
  selection: Partial<Selection> = {},
  change: Partial<Meta> = {},
): Promise<void> {
  const run = fakeRun(
    metaOf(TOKENS, change),
    (request) => {
      if (request.kind === "first_token") {
        const head = request.head as number | "mean";
        const weights = [0, 1].flatMap((layer) =>
          TOKENS.map((_, token) => firstWeight(layer, token, head)),
        );
        return {
          data: { layers: [0, 1] },
          arrays: new Map([["weights", nd(Float32Array.from(weights), 2, N)]]),
        };
      }
      if (request.kind === "language") {
        return { data: { token_word: [null, 0, 1, 1, null] }, arrays: new Map() };
      }
      if (request.kind === "class_gradient") {
        const label = request.label as number;
        const gradient = [0, 1].flatMap((layer) =>
          TOKENS.map((_, token) => slope(label, layer, token)),
        );
        return {
          data: { layers: [0, 1] },
          arrays: new Map([["gradient", nd(Float32Array.from(gradient), 2, N)]]),
        };
      }
      if (request.kind === "beside") return BESIDE;
      if (answer instanceof SliceFailure) throw answer;
      return answer;
    },
    { selection },
  );
  ({ asked, reports, state } = run);
  element = document.createElement("div");
  document.body.append(element);
  drawn = task(element, run.context);
  await settled();
}
afterEach(() => {
  drawn?.dispose();
  element?.remove();
});

const part = (name: string): HTMLElement =>
  element.querySelector(`[data-aw-part='${name}']`) as HTMLElement;
const press = (target: Element, key: string): void => {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
};
/** The first token's rows over single tokens. */
const overTokens = (): void =>
  (element.querySelector("[data-first-unit='tokens']") as HTMLElement).click();
const values = (root: Element): number[] =>
  [...root.querySelectorAll<HTMLElement>("td[data-aw-value]")].map((cell) =>
    Number(cell.dataset.awValue),
  );
/** A printed number read back. */
const read = (text: string): number => {
  const [mantissa = "", exponent] = text.replaceAll(",", "").split("×10");
  const digits = [..."⁰¹²³⁴⁵⁶⁷⁸⁹"];
  const power = [...(exponent ?? "⁰")]
    .map((mark) => (mark === "⁻" ? "-" : String(digits.indexOf(mark))))
    .join("");
  return Number(mantissa.replace("−", "-")) * 10 ** Number(power);
};
const printed = (row: Element, index: number): number =>
  read(itemAt(row.querySelectorAll("td.aw-number"), index).textContent ?? "");

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
    expect(part("verdict").textContent).toBe(
      `${itemAt(LABELS, 2)} with ${formatPercent(itemAt(soft(LOGITS).probabilities, 2))}`,
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
    expect(part("odds").textContent).toContain("Tick two or more");
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
    expect(drawn?.table()).toEqual({
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
    (element.querySelector("[data-first-head='mean']") as HTMLElement).click();
    await settled();
    expect(state.get().head).toBe("mean");
    expect(asked).toContainEqual({ kind: "first_token", head: "mean" });
    (element.querySelector("[data-first-head='one']") as HTMLElement).click();
    await settled();
    expect(state.get().head).toBe(2);
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
    expect(part("verdict").textContent).toBe("2 of 3 at 50% or more: c, b");
    expect(part("activation-note").textContent).toBe("What the checkpoint leaves open.");
  });

  it("show a regression's value and no probability", async () => {
    await draw(outputs([3.25], ["stars"], "identity"));
    expect(part("verdict").textContent).toBe("stars = 3.250");
    expect(values(part("classes"))).toEqual([3.25]);
    expect(part("classes").textContent).toContain("neither softmax nor sigmoid");
    expect(drawn?.table()).toEqual({
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
