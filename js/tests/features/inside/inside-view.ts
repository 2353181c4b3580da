/** The view Inside over made-up tensors whose sums close. */

import { afterEach, beforeEach } from "vitest";
import { inside } from "../../../src/features/inside/view";
import { SliceFailure } from "../../../src/protocol/failure";
import type { NdArray, Precision, Slice, SliceRequest } from "../../../src/protocol/types";
import type { Selection, State } from "../../../src/state/selection";
import type { ViewHandle } from "../../../src/views/contract";
import { fakeRun, opened } from "../../fake";
import { metaOf } from "../../runs";

export const HOSTILE = "<img src=x onerror=alert(1)>";
const TEXTS = ["[CLS]", "bank", HOSTILE, "שלום", "[SEP]"];
export const N = TEXTS.length;
export const [LAYERS, HEADS, HIDDEN, HEAD, INNER] = [2, 3, 80, 4, 120];
const META = metaOf(TEXTS, {
  model: {
    ...metaOf(TEXTS).model,
    n_layers: LAYERS,
    n_heads: HEADS,
    head_dim: HEAD,
    hidden_size: HIDDEN,
  },
});

/** Some number that depends on all of its place. */
export const number = (seed: number, row: number, column: number): number =>
  Math.fround(Math.sin(seed * 12.9898 + row * 78.233 + column * 37.719) * 2);

/** This model has no segments. */
const EMBEDDED = ["token", "position"];

/** Tensors whose sums close, as a model's do. */
export function tensor(name: string, layer: number, row: number, column: number): number {
  const own = (which: string): number => tensor(which, layer, row, column);
  if (name === "sum") return Math.fround(EMBEDDED.reduce((sum, part) => sum + own(part), 0));
  if (name === "attention_sum") return Math.fround(own("layer_input") + own("attention_output"));
  if (name === "ffn_sum") return Math.fround(own("attention_norm") + own("ffn_output"));
  const seed = [...name].reduce((sum, character) => sum + character.charCodeAt(0), layer * 7);
  return number(seed, row, column);
}

const width = (name: string): number =>
  name === "ffn_activation"
    ? INNER
    : ["query", "key", "value", "head_output"].includes(name)
      ? HEAD
      : HIDDEN;

const f32 = (data: readonly number[], ...shape: number[]): NdArray => ({
  data: Float32Array.from(data),
  shape,
});

const reply = (arrays: Record<string, NdArray>, data: Slice["data"] = {}): Slice => ({
  data,
  arrays: new Map(Object.entries(arrays)),
});

const ATTENTION = [0.2, 1.5, 0.7, 0.4];
export const FFN = [0.3, 0.9, 0.1, 0.6];

export function answer(request: SliceRequest): Slice {
  const {
    kind,
    name,
    layer = 0,
    rows = [0, N],
    cols,
    target,
  } = request as unknown as {
    kind: string;
    name: string;
    target?: { position?: number; token?: number };
    layer?: number;
    rows?: [number, number];
    cols?: [number, number];
  };
  const grid = (
    columns: readonly [number, number],
    value: (row: number, column: number) => number,
  ): NdArray => {
    const [height, wide] = [rows[1] - rows[0], columns[1] - columns[0]];
    return f32(
      Array.from({ length: height * wide }, (_, i) =>
        value(rows[0] + Math.floor(i / wide), columns[0] + (i % wide)),
      ),
      height,
      wide,
    );
  };
  switch (kind) {
    case "architecture":
      return reply(
        {},
        {
          parameters: { embeddings: 1200, attention: 800, feed_forward: 1600, total: 3600 },
          sizes: {
            hidden: HIDDEN,
            intermediate: INNER,
            head_dim: HEAD,
            vocabulary: 50,
            max_length: 512,
          },
          activation: "gelu",
          pre_norm: false,
          notes: [],
          tensors: { segment: "No segment embeddings." },
          // A saved page says them.
          widths: { sum: HIDDEN, attention_output: HIDDEN, ffn_activation: INNER },
        },
      );
    case "tensor":
      return reply(
        {
          tensor: grid(
            [cols?.[0] ?? 0, Math.min(cols?.[1] ?? width(name), width(name))],
            (row, column) => tensor(name, layer, row, column),
          ),
        },
        { shape: [N, width(name)] },
      );
    case "residuals": {
      const spread = (values: readonly number[]) =>
        f32(
          Array.from(
            { length: LAYERS * N },
            (_, i) => values[Math.floor(i / N) + (i % N === 1 ? 1 : 0)]!,
          ),
          LAYERS,
          N,
        );
      return reply({ attention: spread(ATTENTION), ffn: spread(FFN) });
    }
    case "layer_change":
      return reply({ change: f32([0.25], 1) });
    case "hidden_path":
      return reply({
        norms: f32(
          Array.from({ length: (LAYERS + 1) * N }, (_, i) => 1 + i),
          LAYERS + 1,
          N,
        ),
        cosines: f32(
          Array.from({ length: LAYERS * N }, (_, i) => 1 - 0.05 * i),
          LAYERS,
          N,
        ),
        points: f32(
          Array.from({ length: (LAYERS + 1) * N * 2 }, (_, i) => number(3, i, 0)),
          LAYERS + 1,
          N,
          2,
        ),
        explained: f32([0.4, 0.2], 2),
      });
    case "targets":
      return reply(
        {},
        {
          targets: [
            { target: { label: 1 }, of: "class", names: ["good"] },
            { target: { position: 2, token: 7 }, of: "token", names: ["mat"] },
          ],
        },
      );
    case "logit_lens":
      if (target?.position === undefined) throw new SliceFailure("No word piece.");
      return reply(
        {
          probabilities: f32([0.01, 0.2, 0.3, 0.5, 0.7], LAYERS + 1),
          ranks: f32([900, 40, 4, 2, 1], LAYERS + 1),
        },
        { names: [`word ${target.token}`] },
      );
    case "weights":
      return reply({ weights: grid([0, N], () => 1 / N) });
    case "scores":
      return reply({
        scores: grid([0, N], (_, key) => (key === 4 ? Number.NEGATIVE_INFINITY : 1)),
      });
    default:
      throw new SliceFailure(`Unknown kind ${kind}.`);
  }
}

export let drawn: ViewHandle | null = null;
export let element: HTMLElement;
export let reports: string[];

/** Widths come from the page; here there is none. */
class Sized {
  constructor(readonly call: ResizeObserverCallback) {}
  observe(): void {
    const entry = { contentRect: { width: 800 } } as ResizeObserverEntry;
    this.call([entry], this as unknown as ResizeObserver);
  }
  disconnect(): void {}
  unobserve(): void {}
}

export const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

export async function draw(
  selection: Partial<Selection> = {},
  change: {
    live?: boolean;
    precision?: Precision;
    failing?: (request: SliceRequest) => boolean;
    has?: (request: SliceRequest) => boolean;
  } = {},
): Promise<State> {
  const { failing, ...of } = change;
  const run = fakeRun(
    META,
    (request) => {
      if (of.has?.(request) === false && request.kind === "tensor")
        throw new SliceFailure("This tensor is not in this saved page.");
      if (failing?.(request))
        throw new SliceFailure("The kernel went away.", "Run the cell again.");
      return answer(request);
    },
    { ...of, selection: { view: "inside", layer: 1, head: 2, token: 1, ...selection } },
  );
  reports = run.reports;
  drawn = opened(inside, element, run, run.context);
  await settled();
  await settled();
  return run.state;
}

export const one = (selector: string): HTMLElement => {
  const found = element.querySelector<HTMLElement>(selector);
  if (found === null) throw new Error(`Nothing matches ${selector}.`);
  return found;
};
export const stage = (id: string): HTMLElement => one(`[data-aw-part=stage][data-stage=${id}]`);
export const press = (target: Element, key: string): void => {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
};
export async function open(id: string): Promise<void> {
  stage(id).dispatchEvent(new MouseEvent("click", { bubbles: true }));
  await settled();
}
export const values = (selector: string): number[] =>
  [...element.querySelectorAll<HTMLElement>(selector)].map((found) =>
    Number(found.dataset.awValue),
  );
export const chain = (): number[] => values("[data-aw-part=chain] [data-aw-value]");

beforeEach(() => {
  globalThis.ResizeObserver = Sized as unknown as typeof ResizeObserver;
  element = document.createElement("div");
  document.body.append(element);
  reports = [];
});

afterEach(() => {
  drawn?.dispose();
  drawn = null;
  element.remove();
});
