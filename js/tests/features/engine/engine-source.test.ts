import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { compileKernels } from "../../../engine/compile.mjs";
import { type Engine, openEngine } from "../../../src/features/engine/client";
import { openSession, serve } from "../../../src/features/engine/core";
import { best } from "../../../src/features/engine/page/answers/logits";
import { quartiles } from "../../../src/features/engine/page/answers/metrics";
import { QK } from "../../../src/features/engine/page/answers/qk";
import { select } from "../../../src/features/engine/page/answers/select";
import type { EngineRun } from "../../../src/features/engine/page/engine-run";
import { type Metadata, specialIds } from "../../../src/features/engine/page/metadata";
import { RequestQueue } from "../../../src/features/engine/page/request-queue";
import { EngineSource } from "../../../src/features/engine/page/source";
import { createTyping } from "../../../src/features/engine/page/typing";
import { cut, unpackWeights } from "../../../src/features/engine/page/weights";
import { headsOff } from "../../../src/protocol/meta";
import type { Activity, Meta, SliceRequest, TypedArray } from "../../../src/protocol/types";

interface Written {
  shape: number[];
  data: (number | null)[];
}
interface Answered {
  request: SliceRequest;
  data?: Record<string, unknown>;
  arrays?: Record<string, Written>;
  error?: string;
  hint?: string;
}
interface Golden {
  meta: Meta;
  arrays: Record<string, Written>;
  slices: Answered[];
}

/** A golden run again, with its masks and without the heads that are off. */
const open = ({ meta }: Pick<Golden, "meta">): Promise<EngineSource> =>
  EngineSource.open(turns, about, meta, {
    masks: () => meta.masked.map(({ token }) => token),
    off: headsOff(meta.heads_off),
  });

const read = (name: string): string =>
  readFileSync(new URL(`../../../../tests/golden/${name}`, import.meta.url), "utf8");
// Written by Python (tests/golden/make_engine_source.py), with PyTorch; NaN is no JSON.
const golden: Golden[] = JSON.parse(read("engine_source.json").replaceAll("NaN", "null"));
const { file } = JSON.parse(read("engine.json")) as { file: string };

let turns: RequestQueue;
let engine: Engine;
let about: Metadata;

beforeAll(async () => {
  const kernels = await compileKernels();
  const bytes = new Uint8Array(Buffer.from(file, "base64"));
  engine = await openEngine(() => ({ serve, openSession }), kernels, bytes);
  turns = new RequestQueue(engine);
  const architecture = golden[0]!.slices.find(({ request }) => request.kind === "architecture")!
    .data!;
  const { model } = golden[0]!.meta;
  about = { model, versions: {}, architecture, ids: await specialIds(turns) };
}, 60_000);

/**
 * Logits may differ by 1e-4, thumbnails by one of 255 levels, all else by 1e-5, relative above 1. A z-score, and the
 * layout of the heads by such, divide a rounding error by the spread of the heads, which is small in a tiny model.
 */
function limit(name: string): number {
  if (name === "thumbs") return 1;
  return /logit|log_sum_exp|^exp$|^sum$|^z:|^layout$/.test(name) ? 1e-4 : 1e-5;
}

function expectClose(name: string, found: ArrayLike<number>, expected: readonly unknown[]): void {
  expect(found.length, name).toBe(expected.length);
  expected.forEach((value, i) => {
    const own = found[i] as number;
    if (value === null) expect(own, name).toBeNaN();
    else {
      const size = Math.max(1, Math.abs(value as number));
      expect(Math.abs(own - (value as number)), `${name}[${i}]`).toBeLessThanOrEqual(
        limit(name) * size,
      );
    }
  });
}

/** Equal, but for numbers, which may differ by 1e-4 of the larger ones. */
function expectAlike(found: unknown, expected: unknown, where: string): void {
  if (typeof expected === "number") expectClose("logit", [found as number], [expected]);
  else if (typeof expected === "object" && expected !== null) {
    expect(Object.keys(found as object).sort(), where).toEqual(Object.keys(expected).sort());
    for (const [key, value] of Object.entries(expected)) {
      expectAlike((found as Record<string, unknown>)[key], value, `${where}.${key}`);
    }
  } else expect(found, where).toEqual(expected);
}

function expectArrays(
  found: ReadonlyMap<string, { data: TypedArray; shape: readonly number[] }>,
  expected: Record<string, Written>,
): void {
  expect([...found.keys()].sort()).toEqual(Object.keys(expected).sort());
  for (const [name, { data, shape }] of Object.entries(expected)) {
    expect(found.get(name)!.shape, name).toEqual(shape);
    expectClose(name, found.get(name)!.data, data);
  }
}

describe.each(golden)("$meta.text", ({ meta, arrays, slices }) => {
  test("paints what the kernel paints", async () => {
    const source = await open({ meta });
    const { selected, versions, ...own } = source.meta;
    expect({ selected, versions }).toEqual({ selected: null, versions: {} });
    expectAlike(own, meta, "meta");
    expectArrays(source.arrays, arrays);
  });

  test("answers what the kernel answers, also after another text", async () => {
    const source = await open({ meta });
    await EngineSource.open(turns, about, { text: "z y" });
    for (const { request, data, arrays: expected, error, hint } of slices) {
      const answer = source.ask(request);
      if (error !== undefined) {
        const failed = await answer.then(
          () => null,
          (reason: unknown) => reason,
        );
        expect(failed, JSON.stringify(request)).toMatchObject({ name: "SliceFailure" });
        if (request.kind === "next_sentence")
          expect(failed).toMatchObject({ message: error, hint });
        continue;
      }
      const found = await answer;
      expectAlike(found.data, data, JSON.stringify(request));
      expectArrays(found.arrays, expected!);
    }
  });
});

describe("a source of the engine", () => {
  test("says why a head looks there by tokens alone, of a short text, running a layer once for all its cells", async () => {
    const cell = { kind: "qk", layer: 1, head: 1, query: 2, key: 1, against: "others" } as const;
    const source = await EngineSource.open(turns, about, { text: "a bad cab" });
    expect(source.has({ ...cell, by: null })).toBe(true);
    expect(source.has({ ...cell, by: "parts" })).toBe(false);
    await source.ask({ ...cell, by: null });
    const asked = vi.spyOn(engine, "carriedProjections");
    await source.ask({ ...cell, by: null, key: 3, head: 0 });
    expect(asked).not.toHaveBeenCalled();
    await source.ask({ ...cell, by: null, layer: 0 });
    expect(asked).toHaveBeenCalledTimes(1);
    asked.mockRestore();
    const long = { n: 65, meta: source.meta } as EngineRun;
    await expect(QK.qk?.(long, { ...cell, by: null }, {})).rejects.toMatchObject({
      message:
        "Why a head looks there is computed in this page for texts of at most 64 tokens, and this one has 65.",
    });
  });

  test("answers questions that are asked at once, each about its own text", async () => {
    const [first, third] = [golden[0]!, golden[2]!];
    const sources = await Promise.all(
      [first, third].map(({ meta }) => EngineSource.open(turns, about, meta)),
    );
    const asked = sources.flatMap((source, i) =>
      [first, third]
        [i]!.slices.filter(({ error }) => error === undefined)
        .map(async ({ request, arrays }) => ({ found: await source.ask(request), arrays })),
    );
    for (const { found, arrays } of await Promise.all(asked)) expectArrays(found.arrays, arrays!);
  });

  test("says what is wrong with a text, and answers the last one on", async () => {
    const { meta, slices } = golden[0]!;
    const source = await EngineSource.open(turns, about, meta);
    await expect(EngineSource.open(turns, about, { text: " \n" })).rejects.toMatchObject({
      name: "SliceFailure",
      hint: "Give at least one word.",
    });
    const long = "a ".repeat(23);
    await expect(EngineSource.open(turns, about, { text: long })).rejects.toMatchObject({
      name: "SliceFailure",
      message: "The text has more than 24 tokens, the most that the model reads. Shorten it.",
    });
    const { request, arrays } = slices.find(({ request: { kind } }) => kind === "scores")!;
    expectArrays((await source.ask(request)).arrays, arrays!);
  });

  test("leaves to a kernel what it cannot compute", async () => {
    const source = await EngineSource.open(turns, about, golden[0]!.meta);
    for (const request of [
      { kind: "class_gradient", label: 0, head: 0 },
      { kind: "tensor", name: "soup", layer: 0 },
    ] as SliceRequest[]) {
      expect(source.has(request)).toBe(request.kind === "tensor");
      await expect(source.ask(request)).rejects.toMatchObject({
        name: "SliceFailure",
        hint: "It needs a kernel: open the text in a notebook.",
      });
    }
  });

  test("leaves masked predictions that nobody waits for", async () => {
    const source = await EngineSource.open(turns, about, golden[0]!.meta);
    const stop = new AbortController();
    const done: number[] = [];
    const asked = source.ask(
      { kind: "predictions", mode: "masked", top_k: 2 },
      {
        signal: stop.signal,
        progress: (count) => {
          done.push(count);
          if (count === 2) stop.abort();
        },
      },
    );
    await expect(asked).rejects.toMatchObject({ name: "AbortError" });
    expect(done).toEqual([1, 2]);
  });
});

describe("questions about a text that another one has replaced", () => {
  const ran = async (work: () => Promise<unknown>): Promise<string[]> => {
    const runs = vi.spyOn(engine, "run");
    await work();
    const found = runs.mock.calls.map(([{ ids }]) => String(ids));
    runs.mockRestore();
    return found;
  };
  const states = { kind: "tensor", name: "ffn_output", layer: 1 } as const;

  test("run it again only while somebody waits, and not at all once the next one is shown", async () => {
    const first = await EngineSource.open(turns, about, { text: "a b c" });
    const stop = new AbortController();
    const { signal } = stop;
    const runs = await ran(async () => {
      const second = EngineSource.open(turns, about, { text: "a b c d" });
      const left = expect(first.ask(states, { signal })).rejects.toThrow("canceled");
      // The view of the first text ends when the second one is here.
      const shown = await second;
      stop.abort();
      await shown.ask({ kind: "tensor", name: "hidden", layer: 1 });
      await left;
    });
    expect(runs).toHaveLength(1);

    const again = await ran(async () => {
      const { arrays } = await first.ask(states);
      expect(arrays.size).toBeGreaterThan(0);
    });
    expect(again).toEqual([String(first.meta.tokens.id)]);
  });
});

describe("typing", () => {
  const setUp = () => {
    const shown: string[] = [];
    const told: Activity[] = [];
    const host = {
      show: ({ meta }: EngineSource) => void shown.push(meta.text),
      activity: (activity: Activity) => void told.push(activity),
      predicts: () => true,
    };
    return { shown, told, typing: createTyping(turns, about, host, golden[0]!.meta) };
  };

  test("runs the latest text, and none that it overtook", async () => {
    const { shown, typing } = setUp();
    await Promise.all(["a", "a b", "a b c", "a b c d"].map((text) => typing.type({ text })));
    expect(shown).toEqual(["a", "a b c d"]);
  });

  test("keeps the picture of a text that runs, and says why the next does not", async () => {
    const { shown, told, typing } = setUp();
    await typing.type({ text: "a" });
    await typing.type({ text: "a ".repeat(30) });
    expect(shown).toEqual(["a"]);
    expect(told.at(-1)).toMatchObject({ status: "error" });
    expect(told.at(-1)!.error!.message).toMatch(/more than 24 tokens/);
    await typing.type({ text: "a b" });
    expect(shown).toEqual(["a", "a b"]);
    expect(told.at(-1)).toMatchObject({ status: "ready", error: null });
  });

  test("remembers what was run on purpose", async () => {
    const { told, typing } = setUp();
    await typing.act({ kind: "run", text: "a b" });
    await typing.act({ kind: "run", text: "cab" });
    await typing.act({ kind: "cancel" });
    expect(
      told
        .at(-1)!
        .history.map(({ text }) => text)
        .slice(0, 2),
    ).toEqual(["cab", "a b"]);
  });

  test("carries masks and heads that are off over to the next text", async () => {
    const shown: Meta[] = [];
    const host = {
      show: ({ meta }: EngineSource) => void shown.push(meta),
      activity: () => undefined,
      predicts: () => true,
    };
    const typing = createTyping(turns, about, host, golden[0]!.meta);
    await typing.type({ text: "a b c" });
    await typing.act({ kind: "mask", tokens: [1, 3] });
    await typing.act({ kind: "switch_off", heads: [[1, 1]] });
    await typing.type({ text: "a b d c" });
    expect(shown.map(({ masked }) => masked.map(({ token }) => token))).toEqual([
      [],
      [1, 3],
      [1, 3],
      [1, 4],
    ]);
    expect(shown.map(({ heads_off }) => heads_off)).toEqual([[], [], [[1, 1]], [[1, 1]]]);
    await typing.act({ kind: "mask", tokens: [] });
    expect(shown.at(-1)).toMatchObject({ text: "a b d c", masked: [], heads_off: [[1, 1]] });
    await typing.type({ text: "x" });
    expect(shown.at(-1)).toMatchObject({ masked: [] });
  });

  test("computes predictions with the text only where they are looked at, the same ones later", async () => {
    const shown: EngineSource[] = [];
    let looking = false;
    const host = {
      show: (source: EngineSource) => void shown.push(source),
      activity: () => undefined,
      predicts: () => looking,
    };
    const typing = createTyping(turns, about, host, golden[0]!.meta);
    await typing.type({ text: "a b c" });
    looking = true;
    await typing.type({ text: "a b c" });
    const [without, painted] = shown as [EngineSource, EngineSource];
    expect(without.meta.predictions).toBeNull();
    expect(painted.meta.predictions).not.toBeNull();
    const later = await without.ask({ kind: "predictions", mode: "as_is" });
    expect(later.arrays.size).toBeGreaterThan(0);
    for (const [name, { data }] of later.arrays)
      expect(data, name).toEqual(painted.arrays.get(name)!.data);
  });

  test("says why a token cannot be masked, and keeps the picture", async () => {
    const { shown, told, typing } = setUp();
    await typing.type({ text: "a b" });
    await typing.act({ kind: "mask", tokens: [0] });
    expect(shown).toEqual(["a b"]);
    expect(told.at(-1)!.error).toEqual({
      message: "Token 0 is [CLS], which the tokenizer added.",
      hint: "Only tokens of the text can be masked.",
    });
  });
});

test("a page's weights come out of their text, or not at all", async () => {
  // As attn_widget.features.engine.text.as_text writes b"aAbBc".
  const text = async (packed: string) => Buffer.from(await unpackWeights(cut(packed))).toString();
  const whole = "OH4|3bOHb";
  expect(await text(whole)).toBe("aAbBc");
  for (const damaged of [whole.slice(0, 6), "", "?", `~${whole.slice(1)}`])
    await expect(unpackWeights(cut(damaged))).rejects.toMatchObject({ code: "truncated" });
});

test("ranks are those of the sorted values", () => {
  let seed = 1;
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  for (let size = 1; size < 60; size++) {
    const values = Float32Array.from({ length: size }, () => Math.floor(random() * 20) / 20);
    const ranks = [...values.keys()];
    expect(select(values, ranks)).toEqual([...values].sort((a, b) => a - b));
  }
  expect(quartiles(Float32Array.of(4, 1, 3, 2))).toEqual([1.75, 2.5, 3.25]);
  expect(best(Float32Array.of(1, 3, 2, 3), 3)).toEqual([1, 3, 2]);
});
