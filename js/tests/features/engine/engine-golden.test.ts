import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { compileKernels } from "../../../engine/compile.mjs";
import { openEngine } from "../../../src/features/engine/client";
import {
  EngineError,
  loadModel,
  openSession,
  readFile,
  serve,
  Tokenizer,
} from "../../../src/features/engine/core";
import { startKernels } from "../../../src/features/engine/kernels";
import type { Model } from "../../../src/features/engine/model";
import { cut, unpackWeights } from "../../../src/features/engine/page/weights";

interface Golden {
  file: string;
  text: string;
  ids: number[];
  attention: number[];
  hidden: number[][];
  queries: number[];
  logits: number[];
  next_sentence: number[];
  text_of_file: string;
  light: { file: string; attention: number[]; logits: number[] };
  lines: { text: string; ids: number[]; offsets: [number, number][] }[];
}

const json = (path: string) =>
  JSON.parse(readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8"));
// Written by Python (tests/golden/make_engine.py) with PyTorch and the tokenizers package.
const golden: Golden = json("tests/golden/engine.json");
const file = () => new Uint8Array(Buffer.from(golden.file, "base64"));

let kernels: Uint8Array<ArrayBuffer>;
let model: Model;

beforeAll(async () => {
  kernels = await compileKernels();
  model = await loadModel(file(), kernels);
}, 60_000);

const difference = (a: ArrayLike<number>, b: ArrayLike<number>) => {
  expect(a.length).toBe(b.length);
  return Array.from(a).reduce((most, x, i) => Math.max(most, Math.abs(x - b[i]!)), 0);
};
const codeOf = async (work: () => unknown): Promise<string> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof EngineError) return error.code;
    throw error;
  }
  return "none";
};

describe("the engine's model", () => {
  test("gives what PyTorch gives", () => {
    model.run({ ids: golden.ids });
    expect(difference(model.attention(), golden.attention)).toBeLessThan(1e-5);
    golden.hidden.forEach((state, layer) => {
      expect(difference(model.hidden(layer), state)).toBeLessThan(1e-5);
    });
    expect(difference(model.projection("query", 1), golden.queries)).toBeLessThan(1e-5);
    expect(difference(model.logits([1, 2]), golden.logits)).toBeLessThan(1e-4);
    expect(difference(model.nextSentence(), golden.next_sentence)).toBeLessThan(1e-4);
  });

  test("comes out of the text that Python writes into a page", async () => {
    expect(Buffer.from(await unpackWeights(cut(golden.text_of_file)))).toEqual(Buffer.from(file()));
    async function* small(text: string): AsyncGenerator<string, void, void> {
      for (let start = 0; start < text.length; start += 35) yield text.slice(start, start + 35);
    }
    const pieces = small(golden.text_of_file);
    expect(Buffer.from(await unpackWeights(pieces))).toEqual(Buffer.from(file()));
  });

  test("is a sum over its input tokens and its biases, once it is linearized", () => {
    const n = golden.ids.length;
    const { hidden } = model.header;
    for (const off of [[], [[0, 1]] as const]) {
      model.run({ ids: golden.ids, off });
      const weights = Array.from({ length: n }, (_, i) => (i + 1) / n);
      const last = model.hidden(model.header.layers);
      const whole = Array.from({ length: hidden }, (_, d) =>
        weights.reduce((sum, weight, i) => sum + weight * last[i * hidden + d]!, 0),
      );
      const parts = model.carried(0, n, weights);
      const total = model.carriedBiases(weights).slice();
      for (let i = 0; i < n; i++)
        for (let d = 0; d < hidden; d++) total[d]! += parts[i * hidden + d]!;
      expect(difference(total, whole)).toBeLessThan(1e-5 * n);
      // In blocks they are the same, and the run is left as it was.
      expect(difference(model.carried(2, 3, weights), parts.slice(2 * hidden, 3 * hidden))).toBe(0);
      expect(model.hidden(0).some((value) => value !== 0)).toBe(true);
    }
    expect(() => model.carried(0, n + 1, [])).toThrow("not in 0 to");
    expect(() => model.carried(0, 1, [1])).toThrow("1 weights were given");
  });

  test("has queries and keys that are sums over its input tokens, with their biases", () => {
    const n = golden.ids.length;
    const { hidden, layers } = model.header;
    for (const off of [[], [[0, 1]] as const])
      for (let layer = 0; layer < layers; layer++) {
        model.run({ ids: golden.ids, off });
        const size = n * hidden;
        const parts = model.carriedProjections(layer, 0, n);
        (["query", "key"] as const).forEach((which, k) => {
          const total = new Float32Array(size);
          for (let source = 0; source < n; source++)
            for (let i = 0; i < size; i++) total[i]! += parts[(k * n + source) * size + i]!;
          expect(difference(total, model.projection(which, layer))).toBeLessThan(1e-5 * n);
        });
        const one = model.carriedProjections(layer, 2, 3);
        expect(difference(one.subarray(0, size), parts.subarray(2 * size, 3 * size))).toBe(0);
      }
    expect(() => model.carriedProjections(layers, 0, 1)).toThrow("not in 0 to");
    expect(() => model.carriedProjections(0, 0, n + 1)).toThrow("not in 0 to");
  });

  test("gives the same after a longer text", () => {
    model.run({ ids: golden.ids });
    const before = model.attention().slice();
    model.run({ ids: Array.from({ length: 24 }, (_, i) => i + 5) });
    expect(model.length).toBe(24);
    model.run({ ids: golden.ids });
    expect(model.attention()).toEqual(before);
  });

  test("gives masked keys no weight, and others what they get without them", () => {
    const ids = golden.ids.slice(0, 5);
    model.run({ ids });
    const alone = model.attention(1, 1).slice();
    model.run({ ids: [...ids, 7, 8], mask: [1, 1, 1, 1, 1, 0, 0] });
    const padded = model.attention(1, 1);
    for (let query = 0; query < 5; query++) {
      const row = padded.slice(query * 7, query * 7 + 7);
      expect(difference(row.slice(0, 5), alone.slice(query * 5, query * 5 + 5))).toBeLessThan(1e-6);
      expect([...row.slice(5)]).toEqual([0, 0]);
    }
  });

  test("says what is wrong with an input, and keeps the last run", async () => {
    model.run({ ids: golden.ids });
    expect(await codeOf(() => model.run({ ids: new Array(25).fill(5) }))).toBe("too-long");
    expect(await codeOf(() => model.run({ ids: [] }))).toBe("input");
    expect(await codeOf(() => model.run({ ids: [57] }))).toBe("input");
    expect(await codeOf(() => model.run({ ids: [1.5] }))).toBe("input");
    expect(await codeOf(() => model.run({ ids: [1, 2], typeIds: [0] }))).toBe("input");
    expect(await codeOf(() => model.run({ ids: [1, 2], mask: [0, 0] }))).toBe("input");
    expect(await codeOf(() => model.attention(0, 2))).toBe("input");
    expect(await codeOf(() => model.logits([golden.ids.length]))).toBe("input");
    expect(difference(model.attention(), golden.attention)).toBeLessThan(1e-5);
    const fresh = await loadModel(file(), kernels);
    expect(await codeOf(() => fresh.attention())).toBe("no-run");
  });
});

describe("a file of weights", () => {
  test("that is cut off, damaged or something else is refused", async () => {
    const whole = file();
    const load = (bytes: Uint8Array) => codeOf(() => loadModel(bytes, kernels));
    expect(await load(whole)).toBe("none");
    for (const length of [20, 2000, whole.length - 1])
      expect(await load(whole.slice(0, length))).toBe("truncated");
    expect(await load(new Uint8Array(3))).toBe("file");
    expect(await load(new TextEncoder().encode("<!doctype html><title>404</title>"))).toBe("file");
    const damaged = file();
    damaged[damaged.length - 4000]! ^= 1;
    expect(await load(damaged)).toBe("checksum");
  });

  test("may start anywhere in its buffer", async () => {
    const shifted = new Uint8Array(file().length + 3);
    shifted.set(file(), 3);
    const loaded = await loadModel(shifted.subarray(3), kernels);
    loaded.run({ ids: golden.ids });
    expect(difference(loaded.attention(), golden.attention)).toBeLessThan(1e-5);
  });
});

test("a browser without WebAssembly or SIMD is told so", async () => {
  const kept = globalThis.WebAssembly;
  try {
    Object.assign(globalThis, { WebAssembly: undefined });
    await expect(startKernels(kernels)).rejects.toThrow(/has no WebAssembly/);
    Object.assign(globalThis, { WebAssembly: { validate: () => false } });
    await expect(startKernels(kernels)).rejects.toThrow(/without SIMD/);
    const instantiate = () => Promise.reject(new Error("CSP"));
    Object.assign(globalThis, { WebAssembly: { validate: () => true, instantiate } });
    await expect(startKernels(kernels)).rejects.toThrow(/policy forbids it/);
  } finally {
    Object.assign(globalThis, { WebAssembly: kept });
  }
});

test("without workers the engine answers on the main thread", async () => {
  const engine = await openEngine(() => ({ serve, openSession }), kernels, file());
  expect(engine.where).toBe("main thread");
  const { ids, offsets } = await engine.encode(golden.text);
  expect(ids).toEqual(golden.ids);
  expect(offsets).toHaveLength(ids.length);
  expect(await engine.run({ ids })).toBe(ids.length);
  expect(difference(await engine.attention(), golden.attention)).toBeLessThan(1e-5);
  expect((await engine.tokens(ids)).slice(0, 4)).toEqual(["[CLS]", "c", "##a", "##b"]);
  await expect(engine.hidden(3)).rejects.toThrow("hidden state 3 is not in 0 to 2");
});

describe("the tokenizer", () => {
  const entries: Record<string, number> = json("attn_widget/mini/tokenizer.json").model.vocab;
  const vocabulary = Object.keys(entries).sort((a, b) => entries[a]! - entries[b]!);
  const tokenizer = new Tokenizer(vocabulary, 512);

  test("gives the ids and offsets of Python's", () => {
    for (const { text, ids, offsets } of golden.lines) {
      const found = tokenizer.encode(text);
      expect({ text, ids: found.ids, offsets: found.offsets }).toEqual({ text, ids, offsets });
    }
  });

  test("reads pairs as two segments, each with offsets of its own", () => {
    const { ids, typeIds, offsets } = tokenizer.encode("the cat", "a dog");
    expect(ids.map((id) => vocabulary[id])).toEqual("[CLS] the cat [SEP] a dog [SEP]".split(" "));
    expect(typeIds).toEqual([0, 0, 0, 0, 1, 1, 1]);
    expect(offsets[4]).toEqual([0, 1]);
  });

  test("refuses more tokens than the model reads, however long the text", async () => {
    expect(tokenizer.encode("a ".repeat(510)).ids).toHaveLength(512);
    expect(await codeOf(() => tokenizer.encode("a ".repeat(511)))).toBe("too-long");
    expect(await codeOf(() => tokenizer.encode("word ".repeat(200_000)))).toBe("too-long");
  });

  test("drops lone surrogates", () => {
    expect(tokenizer.encode("a\ud800b").ids).toEqual(tokenizer.encode("ab").ids);
  });

  test("reads one endless word as unknown", () => {
    expect(tokenizer.encode("x".repeat(1_000_000)).ids).toHaveLength(3);
  });
});

test("the file's vocabulary is in the order of its ids", () => {
  const { vocabulary, header } = readFile(file());
  expect(vocabulary).toHaveLength(header.vocabulary);
  expect(vocabulary.slice(0, 6)).toEqual(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]);
});
