import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { softmax } from "../src/figures/derive/matrix";
import { SliceFailure } from "../src/protocol/failure";
import { readReply } from "../src/protocol/kernel";
import { readPack } from "../src/protocol/pack";
import type { Slice } from "../src/protocol/types";

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
    Object.entries(wanted).every(
      ([key, value]) => JSON.stringify(request[key]) === JSON.stringify(value),
    ),
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

  test("has rollout rows that sum to one, and the same row when it is asked for alone", () => {
    const whole = numbers(replyTo({ kind: "rollout", layer: 1 }), "weights");
    for (let row = 0; row < 5; row++) {
      const sum = whole.slice(row * 5, row * 5 + 5).reduce((a, b) => a + b, 0);
      expect(sum).toBeCloseTo(1, 6);
    }
    const alone = replyTo({ kind: "rollout", rows: [4, 5] });
    expect(alone.arrays.get("weights")!.shape).toEqual([1, 5]);
    expect(numbers(alone, "weights")).toEqual(whole.slice(20));
  });

  test("says for every specialization its numbers or why there are none", () => {
    const reply = replyTo({ kind: "specialization" });
    const { keys, reasons, chance } = reply.data as {
      keys: string[];
      reasons: Record<string, string>;
      chance: Record<string, number | null>;
    };
    expect(keys).toHaveLength(7);
    for (const key of keys) {
      expect(reply.arrays.get(`raw:${key}`)!.shape).toEqual([2, 2]);
      const missing = numbers(reply, `raw:${key}`).every(Number.isNaN);
      expect(missing).toBe(key in reasons);
    }
    expect(reasons.syntax).toBe("No tagger was asked for (tagger=None).");
    expect(chance.punctuation).toBeNull();
  });

  test("names the link that made a maximum, and opens its cell under the same rule", () => {
    const reply = replyTo({ kind: "sentences", aggregation: "max" });
    const drill = replyTo({ kind: "drill" });
    expect(reply.data.texts).toHaveLength(1);
    expect(reply.data.note).toMatch(/one sentence/);
    expect(numbers(reply, "witness_layer")).toEqual([1]);
    const query = numbers(reply, "witness_query")[0]!;
    expect(numbers(drill, "queries")).toContain(query);
    expect(Math.max(...numbers(drill, "weights"))).toBeGreaterThanOrEqual(
      numbers(reply, "matrix")[0]!,
    );
  });

  test("refuses in words that reach the reader", () => {
    expect(() => replyTo({ layer: 7 })).toThrow(SliceFailure);
    expect(() => replyTo({ layer: 7 })).toThrow("layer 7 is out of range.");
    expect(() => replyTo({ kind: "nothing" })).toThrow("Unknown kind of slice: 'nothing'.");
    expect(() => replyTo({ kind: "softmax" })).toThrow(/no model/);
  });
});
