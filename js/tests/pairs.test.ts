import { expect, test } from "vitest";
import type { Matrix } from "../src/figures/matrix";
import { createPairNumbers } from "../src/figures/pairs";
import type { NdArray, Slice, SliceRequest, Source } from "../src/protocol/types";
import { metaOf } from "./runs";

const TOKENS = ["[CLS]", "cat"];
const array = (numbers: number[], shape: number[]): NdArray => ({
  data: Float32Array.from(numbers),
  shape,
});

/** A source that answers when told to, in any order. */
function slowSource() {
  const waiting: { request: SliceRequest; answer: () => void; fail: () => void }[] = [];
  const meta = metaOf(TOKENS);
  const source: Source = {
    meta: {
      ...meta,
      model: { ...meta.model, head_dim: 1, has: { ...meta.model.has, scores: true, qkv: true } },
    },
    arrays: new Map(),
    live: true,
    ask: (request) =>
      new Promise<Slice>((resolve, reject) => {
        const { head } = request as SliceRequest<"scores">;
        const arrays =
          request.kind === "scores"
            ? new Map([["scores", array([head, 0, 0, head], [2, 2])]])
            : new Map(["q", "k", "v"].map((name) => [name, array([head, 1], [2, 1])]));
        waiting.push({
          request,
          answer: () => resolve({ data: { scaling: 1 }, arrays }),
          fail: () => reject(new Error("gone")),
        });
      }),
  };
  return { source, waiting };
}

const UNITS = TOKENS.map((text, token) => ({ token, end: token + 1, text, surface: text }));
const matrixOf = (head: number): Matrix =>
  ({
    layer: 0,
    head,
    quantity: "weights",
    weights: new Float32Array([0.5, 0.5, 0.5, 0.5]),
    queries: UNITS,
    keys: UNITS,
  }) as unknown as Matrix;

test("answers that overtake each other leave the numbers of the head that is shown", async () => {
  const { source, waiting } = slowSource();
  const numbers = createPairNumbers(source, new AbortController().signal);
  const [first, second] = [matrixOf(3), matrixOf(5)];
  const loads = [numbers.load(first), numbers.load(second)];
  for (const { request, answer } of [...waiting].reverse()) {
    expect([3, 5]).toContain((request as SliceRequest<"scores">).head);
    answer();
  }
  await Promise.all(loads);
  expect(numbers.of(second, 0, 0).score).toBe(5);
  expect(numbers.of(second, 0, 0).product).toBe(25);
  expect(numbers.of(first, 0, 0).score).toBeNull();
});

test("what could not be had is asked for again", async () => {
  const { source, waiting } = slowSource();
  const numbers = createPairNumbers(source, new AbortController().signal);
  const matrix = matrixOf(5);
  const load = numbers.load(matrix);
  for (const { fail } of waiting.splice(0)) fail();
  await load;
  expect(numbers.of(matrix, 0, 0).score).toBeNull();
  const again = numbers.load(matrix);
  for (const { answer } of waiting) answer();
  await again;
  expect(numbers.of(matrix, 0, 0).score).toBe(5);
});
