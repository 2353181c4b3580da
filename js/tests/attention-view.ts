/** A made-up head: queries and keys, and the scores and weights that follow from them. */

import { afterEach } from "vitest";
import { maximum, received } from "../src/figures/derive/matrix";
import { unitOfToken, unitsOf } from "../src/figures/derive/units";
import { createMatrix, type Matrix } from "../src/figures/matrix";
import { SliceFailure } from "../src/protocol/failure";
import type { Meta, NdArray, Slice, SliceRequest } from "../src/protocol/types";
import type { Selection } from "../src/state/selection";
import type { ViewContext } from "../src/views/contract";
import { type Fake, fakeRun } from "./fake";
import { metaOf } from "./runs";

export const TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]"];
export const N = TOKENS.length;
export const DIM = 8;
/** Park and Miller's generator: the same numbers everywhere. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}
const draw = random(7);
const normal = (): number => 3 * (draw() + draw() + draw() - 1.5);
export const Q = Float32Array.from({ length: N * DIM }, normal);
export const K = Float32Array.from({ length: N * DIM }, normal);
const SCALING = 1 / Math.sqrt(DIM);
export const SCORES = Float32Array.from({ length: N * N }, (_, cell) => {
  const [i, j] = [Math.floor(cell / N), cell % N];
  let sum = 0;
  for (let d = 0; d < DIM; d++) sum += Q[i * DIM + d]! * K[j * DIM + d]!;
  return sum * SCALING;
});
export const WEIGHTS = Float32Array.from(SCORES, (score, cell) => {
  const row = SCORES.slice(Math.floor(cell / N) * N, Math.floor(cell / N) * N + N);
  return Math.exp(score) / row.reduce((sum, other) => sum + Math.exp(other), 0);
});
/** Rows that sum to 1, unlike the weights. */
export const ROLLOUT = Float32Array.from({ length: N * N }, (_, cell) =>
  Math.floor(cell / N) === cell % N ? 0.6 : 0.1,
);

export const LENGTHS = Float32Array.from({ length: 2 * N }, (_, i) => 1 + i);

export interface Run {
  readonly stage: ViewContext;
  readonly asked: SliceRequest[];
  readonly said: string[];
}

export let fake: Fake;
afterEach(() => fake.stop());

export function run(
  selection: Partial<Selection> = {},
  change: { has?: Partial<Meta["model"]["has"]>; flow?: Float32Array | null } = {},
): Run {
  const meta = metaOf(TOKENS);
  const model = { ...meta.model, head_dim: DIM, has: { ...meta.model.has, ...change.has } };
  const array = (data: Float32Array, shape: number[]): NdArray => ({ data, shape });
  const answers: Record<string, () => Slice> = {
    weights: () => ({ data: {}, arrays: new Map([["weights", array(WEIGHTS, [N, N])]]) }),
    rollout: () => ({ data: {}, arrays: new Map([["weights", array(ROLLOUT, [N, N])]]) }),
    mixing: () => ({ data: {}, arrays: new Map([["weights", array(ROLLOUT, [N, N])]]) }),
    mixing_rollout: () => ({ data: {}, arrays: new Map([["weights", array(ROLLOUT, [N, N])]]) }),
    value_lengths: () => ({ data: {}, arrays: new Map([["lengths", array(LENGTHS, [2, N])]]) }),
    scores: () => ({ data: {}, arrays: new Map([["scores", array(SCORES, [N, N])]]) }),
    qkv: () => ({
      data: { scaling: SCALING },
      arrays: new Map([
        ["q", array(Q, [N, DIM])],
        ["k", array(K, [N, DIM])],
      ]),
    }),
    flow: () => {
      if (change.flow == null)
        throw new SliceFailure("Too long: 3,100,000 edges.", "Cut the text.");
      return { data: {}, arrays: new Map([["flow", array(change.flow, [N])]]) };
    },
    language: () => ({ data: { token_word: [null, 0, 1, 1, null] }, arrays: new Map() }),
  };
  fake = fakeRun({ ...meta, model }, ({ kind }) => answers[kind]!(), { live: false, selection });
  const { context, source, state } = fake;
  const matrix = createMatrix(source, state, { ...context, busy: () => undefined });
  return { stage: { ...context, matrix }, asked: fake.asked, said: fake.said };
}

export const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
export const shownBy = async ({ stage }: Run): Promise<Matrix> => {
  await settled();
  return stage.matrix.get()!;
};
export const text = (node: Element): string => (node.textContent ?? "").replaceAll("−", "-");
export const FACTS = {
  id: (token: number) => 10 + token,
  tags: () => "NOUN",
  window: (): string | null => null,
};

export function matrixOf(weights: Float32Array, change: Partial<Matrix> = {}): Matrix {
  const units = unitsOf(metaOf(TOKENS).tokens, { special: true });
  return {
    layer: 0,
    head: 0,
    quantity: "weights",
    queries: units,
    keys: units,
    weights,
    scores: null,
    allowed: null,
    max: maximum(weights),
    wordMax: maximum(weights),
    received: received(weights, N, N),
    queryOf: (token) => unitOfToken(units, token),
    keyOf: (token) => unitOfToken(units, token),
    ...change,
  };
}
