import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { SliceFailure } from "../src/protocol/failure";
import { readReply } from "../src/protocol/kernel";
import { readPack } from "../src/protocol/pack";
import { inflate } from "../src/protocol/saved/inflate";
import type { Chunks } from "../src/protocol/saved/run";
import { SavedSource } from "../src/protocol/saved/source";
import type { NdArray, Slice, SliceRequest } from "../src/protocol/types";
import { fieldsOf } from "./runs";

interface Page {
  name: string;
  chunks: Record<string, string>;
  /** The kernel's first paint. */
  paint: string;
  slices: {
    request: SliceRequest;
    how: "exact" | "coded" | "refused";
    reply?: unknown;
    buffers?: string[];
  }[];
}

// Written by Python with the kernel's own answers (tests/golden/make_page.py).
const pages: Page[] = JSON.parse(
  readFileSync(new URL("../../tests/golden/page.json", import.meta.url), "utf8"),
);
const chunksOf =
  ({ chunks }: Page): Chunks =>
  (name) =>
    chunks[name] ?? null;
const bytes = (base64: string) => new Uint8Array(Buffer.from(base64, "base64"));
const kernelOf = ({ reply, buffers }: Page["slices"][number]): Slice =>
  readReply(reply, buffers!.map(bytes));

const FLOAT = 1e-5; // of logits, read back through logarithms

function close(found: unknown, expected: unknown, where: string): void {
  if (typeof expected === "number" && typeof found === "number") {
    expect(Math.abs(found - expected), where).toBeLessThanOrEqual(
      FLOAT * Math.max(1, Math.abs(expected)),
    );
  } else if (expected !== null && typeof expected === "object") {
    expect(typeof found, where).toBe("object");
    for (const [key, value] of Object.entries(expected)) {
      close((found as Record<string, unknown>)[key], value, `${where}.${key}`);
    }
  } else {
    expect(found, where).toEqual(expected);
  }
}

/** The largest difference; what is impossible (-Infinity) or N/A (NaN) must be so in both. */
function difference(found: NdArray, expected: NdArray): number {
  expect(found.shape).toEqual(expected.shape);
  let most = 0;
  expected.data.forEach((value: number, i: number) => {
    const own = found.data[i]!;
    if (Number.isFinite(value)) most = Math.max(most, Math.abs(own - value));
    else expect(Object.is(own, value) || (Number.isNaN(own) && Number.isNaN(value))).toBe(true);
  });
  return most;
}

/** The most that an array of an answer may be off by what the page says of itself. */
function bound(source: SavedSource, request: SliceRequest, n: number): number {
  const { kind, aggregation } = fieldsOf(request);
  const { error, score_error, rollout_error } = source.meta.snapshot;
  if (kind === "scores") return score_error!;
  const { quantity } = request as { quantity?: string };
  const carried = kind === "mixing_rollout" ? `${quantity}_rollout` : quantity;
  const { head } = request as { head?: number };
  if (carried === "norms" && head !== undefined) return 10 * error; // no length here is above 10
  if (carried !== undefined) return source.meta.snapshot.mixing_errors![carried]!;
  if (kind === "rollout") return rollout_error!;
  // A sum over the words of a sentence.
  return kind === "sentences" && aggregation === "mass" ? n * error : error;
}

describe.each(pages)("a page of $name", (page) => {
  const named = page.slices.map((slice) => ({
    ...slice,
    title: `${slice.how}: ${JSON.stringify(slice.request)}`,
  }));

  test("has the whole first paint but for the selected head, whatever it leaves out as following from the rest", async () => {
    const source = await SavedSource.open(chunksOf(page));
    const { meta, arrays } = readPack(await inflate(page.paint));
    for (const [name, array] of arrays) {
      if (["weights", "allowed"].includes(name)) continue;
      expect(difference(source.arrays.get(name)!, array), name).toBe(0);
    }
    const { predictions } = source.meta;
    close(predictions, meta.predictions, "predictions");
  });

  test.each(named.filter(({ how }) => how === "exact"))("$title", async (slice) => {
    const source = await SavedSource.open(chunksOf(page));
    const [found, kernel] = [await source.ask(slice.request), kernelOf(slice)];
    close(found.data, kernel.data, "data");
    expect([...found.arrays.keys()]).toEqual([...kernel.arrays.keys()]);
    for (const [name, array] of kernel.arrays) {
      expect(difference(found.arrays.get(name)!, array), name).toBe(0);
    }
  });

  test.each(named.filter(({ how }) => how === "coded"))("$title", async (slice) => {
    const source = await SavedSource.open(chunksOf(page));
    const [found, kernel] = [await source.ask(slice.request), kernelOf(slice)];
    close(found.data, kernel.data, "data");
    const most = bound(source, slice.request, source.meta.tokens.text.length);
    for (const [name, array] of kernel.arrays) {
      // Which of two almost equal weights is the larger is not the code's to say.
      if (name.startsWith("witness_")) continue;
      if (slice.request.kind === "qkv") {
        expect(found.arrays.size).toBe(0);
        continue;
      }
      expect(difference(found.arrays.get(name)!, array), name).toBeLessThanOrEqual(most);
    }
  });

  test.each(named.filter(({ how }) => how === "refused"))("$title", async ({ request }) => {
    const source = await SavedSource.open(chunksOf(page));
    const failure = await source.ask(request).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SliceFailure);
    expect((failure as SliceFailure).hint).toContain("kernel");
  });
});

describe("a saved page", () => {
  const [page] = pages as [Page];

  test("says that of a tensor it has one token's row alone", async () => {
    const without = pages.find(({ name }) => name === "factors without tensors")!;
    const source = await SavedSource.open(chunksOf(without));
    const row = { kind: "tensor", name: "ffn_sum", layer: 1, rows: [1, 2] } as const;
    expect(source.has(row)).toBe(true);
    for (const request of [
      { ...row, rows: [2, 3] },
      { ...row, rows: null, cols: [0, 64] },
    ] as const) {
      expect(source.has(request)).toBe(false);
      await expect(source.ask(request)).rejects.toThrow("one token only");
    }
    await expect(source.ask({ ...row, name: "nothing" })).rejects.toThrow("This tensor is not");
    expect(source.has({ ...row, layer: 9 })).toBe(false);
  });

  test("says which lists of predictions it has before it is asked", async () => {
    const source = await SavedSource.open(chunksOf(page));
    expect(source.has({ kind: "predictions", mode: "masked", top_k: 3 })).toBe(true);
    expect(source.has({ kind: "predictions", mode: "as_is", top_k: 7 })).toBe(true);
    expect(source.has({ kind: "flow", token: 1 })).toBe(false);
    const bare = await SavedSource.open(chunksOf(pages.find(({ name }) => name === "classes")!));
    expect(bare.has({ kind: "predictions", mode: "as_is", top_k: 5 })).toBe(false);
  });

  test("says what is wrong when it holds no run, or one that was not packed for it", async () => {
    await expect(SavedSource.open(() => null)).rejects.toThrow("holds no run");
    const layer: Chunks = () => page.chunks["layer-0"]!;
    await expect(SavedSource.open(layer)).rejects.toThrow();
  });

  const KINDS = [
    ...["language", "layer_change", "specialization", "patterns", "roles", "metrics", "flow"],
    ...["hidden_path", "residuals", "architecture", "classification", "next_sentence", "beside"],
    ...["class_gradient", "predictions", "code", "intact", "targets", "contributions", "trust"],
    ...["head_effects", "logit_lens", "compared", "patched", "recovery", "examples", "near"],
  ];
  test.each(KINDS)("has words for what it lacks of the kind %s", async (kind) => {
    const source = await SavedSource.open(chunksOf(page));
    const failure = source
      .ask({ kind, never: "recorded" } as unknown as SliceRequest)
      .catch((error: Error) => error.message);
    expect(await failure).toMatch(/^[A-Z][^"_]+ is not in this saved page\.$/);
  });

  test("refuses a layer or head that was left out", async () => {
    const source = await SavedSource.open((name) => (name === "paint" ? page.chunks.paint! : null));
    await expect(source.ask({ kind: "weights", layer: 0, head: 0 })).rejects.toThrow("Layer 0");
  });

  test("gives up an answer that nobody waits for", async () => {
    const source = await SavedSource.open(chunksOf(page));
    const signal = AbortSignal.abort();
    const asked = source.ask({ kind: "weights", layer: 0, head: 0 }, { signal });
    await expect(asked).rejects.toMatchObject({ name: "AbortError" });
  });
});
