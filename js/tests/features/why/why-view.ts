/** The view Why over a small run: the kernel's answers, and the view as it is opened. */

import { METHODS } from "../../../src/catalog/definitions";
import { firstUnits } from "../../../src/draw/text-line";
import type { Trust } from "../../../src/features/why/data";
import type { OrderTest } from "../../../src/features/why/order-test";
import { why } from "../../../src/features/why/view";
import { type Unit, unitOfToken } from "../../../src/figures/derive/units";
import type { Matrix } from "../../../src/figures/matrix";
import { SliceFailure } from "../../../src/protocol/failure";
import type {
  Meta,
  NdArray,
  Slice,
  SliceOptions,
  SliceRequest,
  Target,
} from "../../../src/protocol/types";
import { createOverlay } from "../../../src/views/contract";
import { fakeRun, settled } from "../../fake";
import { fieldsOf, metaOf } from "../../runs";

export type Answer = (request: SliceRequest, options: SliceOptions) => Slice | Promise<Slice>;

globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

export const TEXTS = ["[CLS]", "the", "keys", "are", "here", "[SEP]"];
const N = TEXTS.length;
export const TOKENS = firstUnits(metaOf(TEXTS), true);
export const TARGET: Target = { position: 3, token: 7, against: 8, masked: true };
export const NAMES: Readonly<Record<number, string>> = { 7: "are", 8: "is", 9: "<b>was</b>" };
export const nd = (values: number[], ...shape: number[]): NdArray => ({
  data: Float32Array.from(values),
  shape,
});

/** A fall above 0.3 is better than random orders. */
const testOf = (fall: number): OrderTest => {
  const percentile = Math.min(100, 300 * fall);
  const better = fall > 0.3;
  return { percentile, low: percentile, high: percentile, adjusted: better ? 0.01 : 1, better };
};

export function trustOf(
  comprehensiveness: number[],
  methods = METHODS.slice(0, comprehensiveness.length).map(({ key }) => key),
): Trust {
  return {
    methods,
    probability: 0.9,
    comprehensiveness,
    tests: comprehensiveness.map((fall) => testOf(fall)),
    untestable: null,
    random: { mean: 0.2, low: 0.1, high: 0.3, orders: 5040, drawn: false, words: 7 },
    shares: Float32Array.from([0, 0.5, 1]),
    deleted: nd(
      methods.flatMap(() => [0.9, 0.4, 0.1]),
      methods.length,
      3,
    ),
    band: nd([0.9, 0.5, 0.1, 0.9, 0.2, 0.1, 0.9, 0.8, 0.1], 3, 3),
    rho: null,
  };
}

/** The same three guesses at every position. */
function predictionsOf({ rows = [0, N], top_k = 3 }) {
  const [from, to] = rows as [number, number];
  const at = (row: number[], k = Math.min(top_k, 3)) =>
    nd(Array.from({ length: to - from }, () => row.slice(0, k)).flat(), to - from, k);
  return { prediction_ids: at([7, 8, 9]), prediction_probabilities: at([0.7, 0.2, 0.1]) };
}

/** The kernel's answers; `refuse` names kinds and methods that fail. */
export function source(refuse: readonly string[] = []) {
  return (request: SliceRequest, _options?: SliceOptions): Slice => {
    const {
      method,
      target = TARGET,
      methods = [],
    } = fieldsOf(request) as {
      method?: string;
      target?: Target;
      methods?: string[];
    };
    if (refuse.includes(request.kind) || refuse.includes(String(method))) {
      throw new SliceFailure(`No ${method ?? request.kind} here.`, "Ask another.");
    }
    const ids = [target.token, target.against].filter((id) => id !== undefined);
    const described = {
      target,
      of: "token",
      names: ids.map((id) => NAMES[id as number] ?? `token ${id}`),
    };
    const answer = (data: object, arrays: Record<string, NdArray> = {}): Slice => ({
      data: data as Slice["data"],
      arrays: new Map(Object.entries(arrays)),
    });
    const signed = METHODS.findIndex(({ key }) => key === method) < 4;
    switch (request.kind) {
      case "targets":
        return answer({ targets: [described] });
      case "contributions":
        return answer(
          {
            ...described,
            method,
            signed,
            value: 2.5,
            bias: method === "decomposition" ? 0.5 : null,
            baseline: null,
            gap: method === "decomposition" ? 1e-6 : null,
          },
          { values: nd([0.25, -0.5, 3, 0.125, -1, 0.125], N) },
        );
      case "trust": {
        const { deleted, band, shares, ...data } = trustOf(
          methods.map((_, i) => i / 10),
          methods,
        );
        return answer(data, {
          deleted,
          random: band,
          shares: { data: shares, shape: [3] },
          rho: nd(
            methods.flatMap(() => methods.map(() => 0.5)),
            methods.length,
            methods.length,
          ),
        });
      }
      case "head_effects":
        return answer(
          { correlation: 0.8 },
          {
            effects: nd([0, 0, 0.5, 0, -2, 0], 2, 3),
            proxy: nd([0.1, 0, 0.4, 0, 1.5, 0.2], 2, 3),
          },
        );
      case "components":
        return answer(
          { ...described, value: 2.5, embedding: -0.25, bias: 0.5, gap: 1e-7 },
          { heads: nd([0.25, 0, -0.5, 0, 2, 0], 2, 3), mlps: nd([-1, 1.5], 2) },
        );
      case "logit_lens":
        return answer({}, { probabilities: nd([0, 0.2, 0.8], 3), ranks: nd([900, 4, 1], 3) });
      case "predictions":
        return answer(
          { vocabulary: NAMES },
          predictionsOf(fieldsOf(request) as { rows?: [number, number]; top_k?: number }),
        );
      default:
        throw new SliceFailure(`Unexpected: ${request.kind}`);
    }
  };
}

/** A matrix of the head L1 H2 over these units; entry (i, j) is i + j / 10. */
export function matrixOf(units: readonly Unit[]): Matrix {
  const size = units.length;
  const cell = (_: unknown, k: number): number => Math.floor(k / size) + (k % size) / 10;
  const weights = Float32Array.from({ length: size * size }, cell);
  return {
    ...{
      layer: 1,
      head: 2,
      quantity: "weights",
      queries: units,
      keys: units,
      weights,
      scores: null,
    },
    ...{ allowed: null, max: 1, wordMax: 1, received: weights.subarray(0, size) },
    queryOf: (token) => unitOfToken(units, token),
    keyOf: (token) => unitOfToken(units, token),
  };
}

export function open(
  refuse: readonly string[] = [],
  live = true,
  answer: Answer = source(refuse),
  outside: readonly string[] = [],
  predicts: "here" | "next" = "here",
  change: Partial<Meta> = {},
) {
  const element = document.createElement("div");
  document.body.replaceChildren(element);
  const overlay = createOverlay();
  const meta = metaOf(TEXTS, change);
  const run = { ...meta, outside, model: { ...meta.model, n_layers: 2, n_heads: 3, predicts } };
  const { context, asked, state, reports } = fakeRun(run, answer, {
    live,
    overlay,
    selection: { view: "why" },
  });
  let shown = matrixOf(TOKENS);
  let listen: (matrix: Matrix) => void = () => undefined;
  const on = (listener: typeof listen): (() => void) => {
    listen = listener;
    listener(shown);
    return () => undefined;
  };
  const turn = (next: Matrix): void => {
    shown = next;
    listen(next);
  };
  const view = why(element, { ...context, matrix: { get: () => shown, on } });
  const part = (name: string): HTMLElement =>
    element.querySelector(`[data-aw-part="${name}"]`) as HTMLElement;
  return { asked, state, element, overlay, problems: reports, view, part, turn };
}

/** Work that says how far it is and never ends by itself. */
export const stalled = ({ signal, progress }: SliceOptions): Promise<Slice> =>
  new Promise((_, reject) => {
    setTimeout(() => progress?.(1, 4), 140);
    signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
  });

/** Contributions come one after the other. */
export async function quiet(): Promise<void> {
  for (let i = 0; i < 40; i++) await settled();
}
