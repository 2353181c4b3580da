import { describe, expect, test } from "vitest";
import {
  argmax,
  countActive,
  envelope,
  largestAbsolute,
  length,
  topOf,
  windowAround,
  windowAt,
} from "../src/figures/derive/dimensions";
import { type Architecture, stagesOf, stepOf, walkOf } from "../src/figures/derive/stages";
import { layoutMap, type Placed } from "../src/views/inside/map/layout";
import { formatParameters } from "../src/views/inside/map/parameters";
import { metaOf } from "./runs";

const TEXTS = ["[CLS]", "bank", "of", "the", "river", "[SEP]"];
const META = metaOf(TEXTS);
const ARCH: Architecture = {
  parameters: { embeddings: 10, total: 10 },
  hidden: 12,
  headDim: 4,
  vocabulary: 50,
  activation: "gelu",
  preNorm: false,
  notes: [],
  missing: {},
  embedding: 12,
  inner: 12,
  intermediate: 48,
};
const ROTARY = "this model has no position embeddings: positions rotate queries and keys (RoPE)";
const PRE_NORM: Architecture = { ...ARCH, preNorm: true, missing: { position: ROTARY } };

describe("the stages", () => {
  const ids = (arch: Architecture) => stagesOf(META, arch).map(({ id }) => id);

  test("normalize after each sum in a post-norm layer", () => {
    const order = ids(ARCH);
    expect(order.indexOf("attention_norm")).toBe(order.indexOf("attention_sum") + 1);
    expect(order.indexOf("ffn_norm")).toBe(order.indexOf("ffn_sum") + 1);
  });

  test("normalize before attention and before the FFN in a pre-norm layer", () => {
    const order = ids(PRE_NORM);
    expect(order.indexOf("attention_norm")).toBe(order.indexOf("qkv") - 1);
    expect(order.indexOf("ffn_norm")).toBe(order.indexOf("ffn_activation") - 1);
  });

  test("say the model's real sizes", () => {
    const size = Object.fromEntries(stagesOf(META, ARCH).map((stage) => [stage.id, stage.size]));
    expect(size).toMatchObject({
      token: "6 × 12",
      qkv: "3 × 4",
      scores: "6 × 6",
      ffn_activation: "12 → 48 gelu",
      ffn_output: "48 → 12",
      hidden: "3 × 6 × 12",
      mlm: "12 → 50",
    });
  });

  test("have a projection only where the embeddings are narrower than the hidden states", () => {
    expect(ids(ARCH)).not.toContain("output");
    expect(ids({ ...ARCH, embedding: 8 })).toContain("output");
  });

  test("keep what the model lacks, with the reason", () => {
    const stages = stagesOf(META, PRE_NORM);
    expect(stages.find(({ id }) => id === "position")?.missing).toBe(ROTARY);
    const bare = metaOf(TEXTS, {
      model: { ...META.model, has: { ...META.model.has, mlm: false } },
    });
    const head = stagesOf(bare, ARCH).find(({ id }) => id === "mlm");
    expect(head?.missing).toContain("no masked-LM head");
  });
});

describe("the walk", () => {
  const stages = stagesOf(META, PRE_NORM);
  const walk = walkOf(stages, 2);

  test("passes every stage of every layer once, in order, and leaves out what is not there", () => {
    expect(walk.map(({ id, layer }) => (layer === null ? id : `${layer} ${id}`))).toEqual([
      "token",
      "segment",
      "sum",
      "norm",
      ...[0, 1].flatMap((layer) =>
        [
          "attention_norm",
          "qkv",
          "scores",
          "weights",
          "head_output",
          "attention_output",
          "attention_sum",
          "ffn_norm",
          "ffn_activation",
          "ffn_output",
          "ffn_sum",
        ].map((id) => `${layer} ${id}`),
      ),
      "hidden",
      "mlm",
    ]);
  });

  test("goes from the end of a layer to the beginning of the next", () => {
    const end = stepOf(walk, "ffn_sum", 0);
    expect(walk[end + 1]).toEqual({ id: "attention_norm", layer: 1 });
    expect(stepOf(walk, "position", 0)).toBe(-1);
  });
});

describe("the map", () => {
  const widths = [400, 438, 577, 783, 968];
  const depths = [1, 6, 12, 24, 48];
  const overlap = (a: Placed, b: Placed): boolean =>
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

  test.each(widths)("has no box over another, and none outside, at %d px", (width) => {
    for (const arch of [ARCH, PRE_NORM, { ...ARCH, embedding: 8 }]) {
      for (const layers of depths) {
        const { boxes, height, frame } = layoutMap(stagesOf(META, arch), layers, width);
        expect(boxes).toHaveLength(stagesOf(META, arch).length);
        boxes.forEach((box, i) => {
          expect(box.x).toBeGreaterThanOrEqual(0);
          expect(box.x + box.w).toBeLessThanOrEqual(width + 1);
          expect(box.y + box.h).toBeLessThanOrEqual(height);
          expect(boxes.slice(i + 1).filter((other) => overlap(box, other))).toEqual([]);
        });
        const inside = boxes.filter(({ stage }) => ["attention", "ffn"].includes(stage.zone));
        for (const box of inside) {
          expect(box.x).toBeGreaterThan(frame.x);
          expect(box.x + box.w).toBeLessThan(frame.x + frame.w);
          expect(box.y + box.h).toBeLessThan(frame.y + frame.h);
        }
      }
    }
  });

  test("leads the residual around each half into its sum", () => {
    const { wires, boxes } = layoutMap(stagesOf(META, ARCH), 6, 783);
    const residuals = wires.filter(({ kind }) => kind === "residual");
    expect(residuals).toHaveLength(2);
    for (const [i, id] of (["attention_sum", "ffn_sum"] as const).entries()) {
      const sum = boxes.find(({ stage }) => stage.id === id);
      expect(residuals[i]?.head).toEqual({
        x: sum!.x + sum!.w / 2,
        y: sum!.y + sum!.h,
        to: "up",
      });
    }
  });

  test("gives each of 48 layers a row that a pointer can hit", () => {
    const { column, height } = layoutMap(stagesOf(META, ARCH), 48, 783);
    expect(column.pitch).toBeGreaterThanOrEqual(12);
    expect(column.y + column.h).toBeLessThan(height);
  });
});

describe("windows on dimensions", () => {
  test("stay inside the row, however far one goes", () => {
    expect(windowAt(-5, 64, 384)).toEqual([0, 64]);
    expect(windowAt(1000, 64, 384)).toEqual([320, 384]);
    expect(windowAt(10, 64, 32)).toEqual([0, 32]);
  });

  test("move no more than a dimension needs", () => {
    expect(windowAround(70, [0, 64], 384)).toEqual([7, 71]);
    expect(windowAround(5, [10, 20], 384)).toEqual([5, 15]);
    expect(windowAround(12, [10, 20], 384)).toEqual([10, 20]);
  });
});

describe("figures of a row", () => {
  const row = Float32Array.from([0, -3, 2, 4, -0.5, 4]);

  test("its length, its largest values, its active units", () => {
    expect(length([3, 4])).toBe(5);
    expect(topOf(row, 3)).toEqual([3, 5, 2]);
    expect(countActive(row)).toBe(3);
    expect(largestAbsolute([1, Number.NEGATIVE_INFINITY, -2, Number.NaN])).toBe(2);
  });

  test("an overview keeps the largest of every piece, whatever its sign", () => {
    expect([...envelope([row], 3)]).toEqual([3, 4, 4]);
  });

  test("the largest of nothing is nowhere", () => {
    expect(argmax([])).toBe(-1);
    expect(argmax([Number.NaN, 1, 3, 3])).toBe(2);
  });
});

test("parameters are counted in thousands and millions", () => {
  expect([22_893_116, 147_840, 9_216].map(formatParameters)).toEqual(["22.9 M", "148 k", "9,216"]);
});
