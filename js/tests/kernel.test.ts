import { beforeEach, describe, expect, test, vi } from "vitest";
import { ByteCache } from "../src/protocol/cache";
import type { Invoke } from "../src/protocol/comm/invoke";
import { SliceFailure } from "../src/protocol/failure";
import { joinRows, KernelSource, readReply } from "../src/protocol/kernel";
import { requestKey } from "../src/protocol/slice";
import type { NdArray, SliceRequest } from "../src/protocol/types";
import { counting, fieldsOf, metaOf, packOf } from "./runs";

const TEXTS = ["[CLS]", "a", "b", "[SEP]"];

// The reason of a failure is kept for the curious, in the console.
beforeEach(() => void vi.spyOn(console, "debug").mockImplementation(() => undefined));

/** A kernel that answers `weights` with cells numbered by row, when it is told to. */
function kernel(options: { held?: boolean } = {}) {
  const asked: SliceRequest[] = [];
  const signals: AbortSignal[] = [];
  const waiting: (() => void)[] = [];
  const invoke: Invoke = (_name, request, { signal }) => {
    asked.push(request as SliceRequest);
    signals.push(signal);
    const { rows } = request as { rows?: [number, number] };
    const [start, stop] = rows ?? [0, TEXTS.length];
    const data = counting([TEXTS.length, TEXTS.length]).data.slice(
      start * TEXTS.length,
      stop * TEXTS.length,
    );
    const reply = {
      ok: true,
      data: {},
      arrays: [{ name: "weights", dtype: "float32", shape: [stop - start, TEXTS.length] }],
    };
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      const answer = () => resolve([reply, [new DataView(data.buffer)]]);
      if (options.held) waiting.push(answer);
      else answer();
    });
  };
  return { asked, signals, invoke, answer: () => waiting.splice(0).forEach((go) => void go()) };
}

const weights = (layer: number, head = 0): SliceRequest => ({ kind: "weights", layer, head });
const pack = { meta: metaOf(TEXTS), arrays: new Map() };

describe("parts of an encoder-decoder", () => {
  const meta = metaOf(TEXTS, { parts: ["encoder", "decoder", "cross"], part: "cross" });

  test("are named by every question, so that a late answer is still about its part", async () => {
    const { asked, invoke } = kernel();
    await new KernelSource({ meta, arrays: new Map() }, invoke).ask(weights(0));
    expect(asked).toEqual([{ ...weights(0), source: { part: "cross" } }]);
  });

  test("open each other, and ask of themselves", async () => {
    const encoder = metaOf(["a", "b"], { parts: meta.parts!, part: "encoder" });
    const pack = packOf(encoder);
    const asked: unknown[] = [];
    const invoke: Invoke = async (_name, request) => {
      asked.push(request);
      const { kind } = request as unknown as { kind: string };
      return kind === "part_paint"
        ? [
            {
              ok: true,
              data: {},
              arrays: [{ name: "paint", dtype: "uint8", shape: [pack.length] }],
            },
            [new DataView(pack.buffer)],
          ]
        : [{ ok: true, data: {}, arrays: [] }, []];
    };
    const cross = new KernelSource({ meta, arrays: new Map() }, invoke);
    const [opened, again] = await Promise.all([cross.part("encoder"), cross.part("encoder")]);
    expect(again).toBe(opened);
    expect(opened.meta.tokens.text).toEqual(["a", "b"]);
    await opened.ask({ kind: "language" });
    expect(asked).toEqual([
      { kind: "part_paint", part: "encoder" },
      { kind: "language", source: { part: "encoder" } },
    ]);
  });
});

describe("work that takes seconds", () => {
  const request: SliceRequest = { kind: "head_effects", target: { position: 1, token: 3 } };
  /** A kernel that is so far at each question, and then has the answer. */
  function slow(stages: readonly (readonly [number, number])[]) {
    const asked: unknown[] = [];
    const invoke: Invoke = async (_name, question) => {
      asked.push(question);
      const progress = stages[asked.length - 1];
      if (progress !== undefined) return [{ ok: false, later: 1, progress, error: "" }, []];
      return [{ ok: true, data: { value: 2 }, arrays: [] }, []];
    };
    return { asked, invoke };
  }

  test("tells how far it is, and then gives the answer", async () => {
    const { asked, invoke } = slow([
      [0, 0],
      [3, 72],
      [60, 72],
    ]);
    const seen: (readonly [number, number])[] = [];
    const source = new KernelSource(pack, invoke);
    const { data } = await source.ask(request, { progress: (...far) => void seen.push(far) });
    expect(data).toEqual({ value: 2 });
    expect(seen).toEqual([
      [0, 0],
      [3, 72],
      [60, 72],
    ]);
    expect(asked).toEqual(Array.from({ length: 4 }, () => request));
  });

  test("names the run that it is about, also where it is dropped", async () => {
    const { asked, invoke } = slow(Array.from({ length: 100 }, () => [1, 2] as const));
    const source = new KernelSource(pack, invoke, { address: { example: 3 } });
    const abort = new AbortController();
    const progress = vi.fn();
    const answer = source.ask(request, { signal: abort.signal, progress });
    await vi.waitFor(() => expect(progress).toHaveBeenCalledWith(1, 2));
    abort.abort();
    await expect(answer).rejects.toThrow("canceled");
    await vi.waitFor(() =>
      expect(asked.at(-1)).toEqual({ source: { example: 3 }, kind: "drop", of: request }),
    );
    expect(asked[0]).toEqual({ source: { example: 3 }, ...request });
  });

  test("is dropped in the kernel when nobody waits for it any longer", async () => {
    const { asked, invoke } = slow(Array.from({ length: 1000 }, () => [1, 2] as const));
    const source = new KernelSource(pack, invoke);
    const leave = new AbortController();
    const progress = (): void => leave.abort();
    const gone = source.ask(request, { signal: leave.signal, progress });
    await expect(gone).rejects.toThrow("canceled");
    expect(asked.at(-1)).toEqual({ kind: "drop", of: request });
    const count = asked.length;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(asked).toHaveLength(count);
  });
});

describe("a question to the kernel", () => {
  test("is asked once, however often and in whatever order of its words", async () => {
    const { asked, invoke } = kernel();
    const source = new KernelSource(pack, invoke);
    const [first, second] = await Promise.all([
      source.ask({ kind: "weights", layer: 1, head: 2 }),
      source.ask({ head: 2, layer: 1, kind: "weights" }),
    ]);
    expect(await source.ask(weights(1, 2))).toBe(first);
    expect(second).toBe(first);
    expect(asked).toHaveLength(1);
    expect(requestKey({ kind: "scores", layer: 0, head: 1, rows: null })).toBe(
      requestKey({ kind: "scores", layer: 0, head: 1 }),
    );
  });

  test("is not asked at all when the first paint holds the answer", async () => {
    const { asked, invoke } = kernel();
    const held = counting([4, 4]);
    const meta = metaOf(TEXTS, { selected: { layer: 1, head: "mean" } });
    const source = new KernelSource({ meta, arrays: new Map([["weights", held]]) }, invoke);
    const slice = await source.ask({ kind: "weights", layer: 1, head: "mean" });
    expect(slice.arrays.get("weights")).toBe(held);
    expect(asked).toHaveLength(0);
  });

  test("about a head is not asked at all when the first paint holds those of a short text", async () => {
    const { asked, invoke } = kernel();
    const [layers, heads, n] = [2, 3, 4];
    const every = counting([layers, heads + 1, n, n]);
    // Layer 0 allows every cell, layer 1 all but one.
    const masks = { data: new Uint8Array(layers * n * n).fill(1), shape: [layers, n, n] };
    masks.data[n * n + 5] = 0;
    const meta = metaOf(TEXTS, { selected: null });
    Object.assign(meta.model, { n_layers: layers, n_heads: heads });
    const arrays = new Map<string, NdArray>(Object.entries({ heads: every, masks }));
    const source = new KernelSource({ meta, arrays }, invoke);
    for (const layer of [0, 1]) {
      for (const [i, head] of [0, 1, 2, "mean" as const].entries()) {
        const slice = await source.ask({ kind: "weights", layer, head });
        const { data, shape } = slice.arrays.get("weights")!;
        const first = (layer * (heads + 1) + i) * n * n;
        expect([shape, data]).toEqual([[n, n], every.data.slice(first, first + n * n)]);
        const allowed = layer === 0 ? undefined : masks.data.slice(n * n);
        expect(slice.arrays.get("allowed")?.data).toEqual(allowed);
      }
    }
    expect(asked).toHaveLength(0);
  });

  test("is dropped when its last asker leaves, and can be asked again at once", async () => {
    const { asked, signals, invoke, answer } = kernel({ held: true });
    const source = new KernelSource(pack, invoke);
    const [one, two] = [new AbortController(), new AbortController()];
    const first = source.ask(weights(0), { signal: one.signal });
    const second = source.ask(weights(0), { signal: two.signal });
    one.abort();
    await expect(first).rejects.toThrow("request was canceled");
    expect(signals[0]!.aborted).toBe(false);
    two.abort();
    await expect(second).rejects.toThrow("request was canceled");
    expect(signals[0]!.aborted).toBe(true);
    const again = source.ask(weights(0), { signal: new AbortController().signal });
    answer();
    expect((await again).arrays.get("weights")!.shape).toEqual([4, 4]);
    expect(asked).toHaveLength(2);
  });

  test("goes on for those who stay", async () => {
    const { invoke, answer } = kernel({ held: true });
    const source = new KernelSource(pack, invoke);
    const leaving = new AbortController();
    const left = source.ask(weights(0), { signal: leaving.signal });
    const stayed = source.ask(weights(0), { signal: new AbortController().signal });
    leaving.abort();
    await expect(left).rejects.toThrow();
    answer();
    expect((await stayed).arrays.has("weights")).toBe(true);
  });

  test("is split by rows when the reply would be too large, and put together again", async () => {
    const { asked, invoke } = kernel();
    // 4 cells of 4 + 1 bytes a row: two rows fit.
    const source = new KernelSource(pack, invoke, { replyBytes: 40 });
    const { data, shape } = (await source.ask(weights(0))).arrays.get("weights")!;
    expect(asked.map((request) => fieldsOf(request).rows)).toEqual([
      [0, 2],
      [2, 4],
    ]);
    expect(shape).toEqual([4, 4]);
    expect(data).toEqual(counting([4, 4]).data);
  });

  test("is split so that a mask of one byte a cell fits beside the weights", async () => {
    const { asked, invoke } = kernel();
    // A row has 16 bytes of weights and 4 of a mask: one row fits, two would without the mask.
    const source = new KernelSource(pack, invoke, { replyBytes: 32 });
    await source.ask(weights(0));
    expect(asked.map((request) => fieldsOf(request).rows)).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 4],
    ]);
  });

  test("that failed is asked anew, not remembered", async () => {
    const invoke = vi
      .fn<Invoke>()
      .mockResolvedValueOnce([{ ok: false, error: "busy", hint: "wait" }, []])
      .mockResolvedValueOnce([{ ok: true, data: { n: 1 }, arrays: [] }, []]);
    const source = new KernelSource(pack, invoke);
    await expect(source.ask({ kind: "language" })).rejects.toMatchObject({
      message: "busy",
      hint: "wait",
    });
    expect((await source.ask({ kind: "language" })).data).toEqual({ n: 1 });
  });
});

describe("a reply", () => {
  test("that is malformed is a failure, whatever it is", () => {
    const bad: [unknown, Uint8Array[]][] = [
      [null, []],
      ["text", []],
      [{ ok: "yes" }, []],
      [{ ok: true, arrays: [{ name: "a", dtype: "float32", shape: [1] }] }, []],
    ];
    for (const [reply, buffers] of bad)
      expect(() => readReply(reply, buffers)).toThrow(SliceFailure);
    const short = { ok: true, arrays: [{ name: "a", dtype: "float32", shape: [2] }] };
    expect(() => readReply(short, [new Uint8Array(4)])).toThrow(/needs 8/);
  });

  test("is read from misaligned bytes", () => {
    const bytes = new Uint8Array(new Float32Array([0, 1.5]).buffer);
    const shifted = new Uint8Array(9);
    shifted.set(bytes, 1);
    const reply = { ok: true, arrays: [{ name: "a", dtype: "float32", shape: [2] }] };
    const { data } = readReply(reply, [new DataView(shifted.buffer, 1, 8)]).arrays.get("a")!;
    expect(data).toEqual(new Float32Array([0, 1.5]));
  });

  test("in one piece is left as it is", () => {
    const slice = { data: {}, arrays: new Map() };
    expect(joinRows([slice])).toBe(slice);
  });
});

describe("a kernel that is not ready to answer", () => {
  const later = { ok: false, later: 5, error: "The tagger is still being loaded.", hint: "Wait." };

  function unready(times: number) {
    let asked = 0;
    const invoke: Invoke = () =>
      Promise.resolve([asked++ < times ? later : { ok: true, data: { words: 3 } }, []]);
    return { invoke, asked: () => asked };
  }

  test("is asked again until it is", async () => {
    const { invoke, asked } = unready(3);
    const source = new KernelSource(pack, invoke);
    expect((await source.ask({ kind: "language" })).data).toEqual({ words: 3 });
    expect(asked()).toBe(4);
  });

  test("is left alone once nobody waits", async () => {
    const { invoke, asked } = unready(Number.POSITIVE_INFINITY);
    const leaving = new AbortController();
    const source = new KernelSource(pack, invoke);
    const answer = source.ask({ kind: "language" }, { signal: leaving.signal });
    leaving.abort();
    await expect(answer).rejects.toThrow(/request was canceled/);
    const before = asked();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(asked()).toBe(before);
  });
});

describe("the cache", () => {
  test("forgets what was least recently used", () => {
    const cache = new ByteCache<number>(30);
    cache.set("a", 1, 10);
    cache.set("b", 2, 10);
    cache.set("c", 3, 10);
    cache.get("a");
    cache.set("d", 4, 10);
    expect(["a", "b", "c", "d"].map((key) => cache.get(key))).toEqual([1, undefined, 3, 4]);
    expect(cache.bytes).toBe(30);
  });

  test("counts a replaced entry once and never keeps what is larger than itself", () => {
    const cache = new ByteCache<number>(30);
    cache.set("a", 1, 10);
    cache.set("a", 2, 20);
    expect(cache.bytes).toBe(20);
    cache.set("b", 3, 31);
    expect(cache.get("b")).toBeUndefined();
    expect(cache.get("a")).toBe(2);
  });
});
