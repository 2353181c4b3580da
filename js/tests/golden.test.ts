// @vitest-environment node
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { softmax } from "../src/derive/matrix";
import { readPack } from "../src/pack";
import { SliceFailure } from "../src/source/failure";
import { readReply } from "../src/source/kernel";
import type { Slice } from "../src/types";

interface Golden {
  first_paint: string;
  slices: { request: Record<string, unknown>; reply: unknown; buffers: string[] }[];
}

// Written by Python (tests/golden/make.py), whose tests compare the kernel with the same file.
const golden: Golden = JSON.parse(
  readFileSync(new URL("../../tests/golden/golden.json", import.meta.url), "utf8"),
);
const bytes = (base64: string) => new Uint8Array(Buffer.from(base64, "base64"));
const replyTo = (wanted: Record<string, unknown>): Slice => {
  const found = golden.slices.find(({ request }) =>
    Object.entries(wanted).every(([key, value]) => request[key] === value),
  );
  if (found === undefined) throw new Error(`no golden reply to ${JSON.stringify(wanted)}`);
  return readReply(found.reply, found.buffers.map(bytes));
};
const numbers = (slice: Slice, name: string) => [...slice.arrays.get(name)!.data];

describe("what Python sends", () => {
  const { meta, arrays } = readPack(bytes(golden.first_paint));

  test("gives the text and its tokens back, whatever characters they hold", () => {
    expect(meta.text).toBe("naïve 👩‍🚀 </script>");
    expect(meta.tokens.text).toEqual(["[CLS]", "naïve", "👩‍🚀", "</script>", "[SEP]"]);
    expect(meta.tokens.before).toEqual(["", "", " ", " ", ""]);
  });

  test("has every array of the first paint in the shape that its name promises", () => {
    expect(arrays.get("weights")!.shape).toEqual([5, 5]);
    expect(arrays.get("thumbs")!.shape).toEqual([2, 2, 5, 5]);
    expect(arrays.get("head_max")!.data).toEqual(new Float32Array([0.5, 0.5, 1, 1]));
    expect([...arrays.get("possible")!.data]).toEqual([5, 5, 5, 5, 5, 1, 2, 3, 4, 5]);
    for (const key of meta.metrics.keys) {
      expect(arrays.get(`metric:${key}`)!.shape).toEqual([2, 2]);
    }
  });

  test("says which cells the mask of a layer forbids", () => {
    const reply = replyTo({ kind: "weights", layer: 1, head: 0 });
    expect(numbers(reply, "weights").slice(5, 10)).toEqual([0.5, 0.5, 0, 0, 0]);
    expect(numbers(reply, "allowed").slice(5, 10)).toEqual([1, 1, 0, 0, 0]);
  });

  test("cuts out the rows that were asked for", () => {
    const reply = replyTo({ kind: "weights", head: "mean" });
    expect(reply.arrays.get("weights")!.shape).toEqual([2, 5]);
    expect(numbers(reply, "weights").slice(5)).toEqual([0.5, 0.25, 0.25, 0, 0]);
  });

  test("has scores whose softmax is the weights", () => {
    const { weights } = softmax(numbers(replyTo({ kind: "scores" }), "scores").slice(0, 5));
    [0.0625, 0.5, 0.25, 0.125, 0.0625].forEach((expected, i) => {
      expect(weights[i]).toBeCloseTo(expected, 6);
    });
  });

  test("refuses in words that reach the reader", () => {
    expect(() => replyTo({ layer: 7 })).toThrow(SliceFailure);
    expect(() => replyTo({ layer: 7 })).toThrow("layer 7 is out of range.");
    expect(() => replyTo({ kind: "nothing" })).toThrow("Unknown kind of slice: 'nothing'.");
    expect(() => replyTo({ kind: "softmax" })).toThrow(/no model/);
  });
});
