/** The task view over made-up answers. */

import { signal } from "@preact/signals-core";
import { afterEach } from "vitest";
import { task } from "../../../src/features/tasks/view";
import { SliceFailure } from "../../../src/protocol/failure";
import { itemAt } from "../../../src/protocol/required";
import type { Meta, NdArray, Slice, SliceRequest, TypedArray } from "../../../src/protocol/types";
import type { Selection, State } from "../../../src/state/selection";
import { mount } from "../../../src/ui/mount";
import type { DisplayPart, ViewHandle } from "../../../src/views/contract";
import { fakeRun, opened, settled } from "../../fake";
import { metaOf } from "../../runs";

// jsdom lays nothing out.
globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

const TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]"];
export const N = TOKENS.length;
export const LABELS = ["awful", "<b>so\u202eso</b>", "a label that is very long indeed", "good"];
export const LOGITS = [-1.25, 0.5, 2.125, 1.75];

export function soft(logits: readonly number[]) {
  const top = Math.max(...logits);
  const exp = logits.map((z) => Math.exp(z - top));
  const sum = exp.reduce((a, b) => a + b);
  return { exp, sum, probabilities: exp.map((value) => value / sum) };
}

const nd = <T extends TypedArray>(data: T, ...shape: number[]): NdArray<T> => ({ data, shape });

/** The slice of a classifier whose softmax runs over each row. */
export function classified(rows: number[][], labels: string[], kind: string): Slice {
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
export function answered(rows: [number, number][]): Slice {
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
export const firstWeight = (layer: number, token: number, head: number | "mean"): number =>
  (token === layer + 1 ? 0.6 : 0.1) + (head === "mean" ? 0 : 0.01 * head * (token === 0 ? 1 : 0));

/** A class's slope at a token, the same in both layers up to a factor. */
export const slope = (label: number, layer: number, token: number): number =>
  (layer + 1) * (0.1 * (label - 1) - 0.05 * token);

/** Each label by itself, or values. */
export function outputs(
  logits: number[],
  labels: string[],
  activation: "sigmoid" | "identity",
): Slice {
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

export const SEQUENCE = classified([LOGITS], LABELS, "sequence");
export const PER_TOKEN = TOKENS.map((_, i) => LABELS.map((_, j) => ((i * 5 + j * 3) % 7) - 2.5));
export const SPANS: [number, number][] = [
  [3, 3],
  [0.5, -1],
  [1, 0.25],
  [-0.5, 2],
  [0, 0],
];

export let drawn: ViewHandle | null = null;
export let element: HTMLElement;
export let state: State;
/** The view's part of the Display popover. */
let settings: HTMLElement;
export let asked: SliceRequest[] = [];
export let reports: string[] = [];

export async function draw(
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
      // The second word, in two pieces.
      if (request.kind === "contributions")
        return {
          data: {},
          arrays: new Map([["values", nd(Float32Array.of(9, 0.1, 0.75, 0.25, 9), N)]]),
        };
      if (request.kind === "beside") return BESIDE;
      if (answer instanceof SliceFailure) throw answer;
      return answer;
    },
    { selection },
  );
  ({ asked, reports, state } = run);
  element = document.createElement("div");
  document.body.append(element);
  const display = signal<DisplayPart | null>(null);
  drawn = opened(task, element, run, { ...run.context, display });
  settings = document.createElement("div");
  mount(settings, () => display.value?.View(), run.context.signal);
  await settled();
}
afterEach(() => {
  drawn?.dispose();
  element?.remove();
});

export const part = (name: string): HTMLElement =>
  element.querySelector(`[data-aw-part='${name}']`) as HTMLElement;
export const press = (target: Element, key: string): void => {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
};
/** The first token's rows over single tokens. */
export const overTokens = (): void =>
  (settings.querySelector("[data-first-unit='tokens']") as HTMLElement).click();
export const values = (root: Element): number[] =>
  [...root.querySelectorAll<HTMLElement>("td[data-aw-value]")].map((cell) =>
    Number(cell.dataset.awValue),
  );
/** A printed number read back. */
export const read = (text: string): number => {
  const [mantissa = "", exponent] = text.replaceAll(",", "").split("×10");
  const digits = [..."⁰¹²³⁴⁵⁶⁷⁸⁹"];
  const power = [...(exponent ?? "⁰")]
    .map((mark) => (mark === "⁻" ? "-" : String(digits.indexOf(mark))))
    .join("");
  return Number(mantissa.replace("−", "-")) * 10 ** Number(power);
};
export const printed = (row: Element, index: number): number =>
  read(itemAt(row.querySelectorAll("td.aw-number"), index).textContent ?? "");
