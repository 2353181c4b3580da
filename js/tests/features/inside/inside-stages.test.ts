import { describe, expect, test } from "vitest";
import {
  type Architecture,
  stagesOf,
  stepOf,
  walkOf,
} from "../../../src/features/inside/architecture";
import {
  countActive,
  envelope,
  length,
  scaleEnd,
  windowAround,
  windowAt,
} from "../../../src/features/inside/dimensions";
import { layoutMap, type Placed } from "../../../src/features/inside/map/layout";
import { formatParameters } from "../../../src/features/inside/map/parameters";
import { largest } from "../../../src/figures/derive/matrix";
import { firstLargest, largestAbsolute } from "../../../src/protocol/ties";
import { metaOf } from "../../runs";

const TEXTS = ["[CLS]", "bank", "of", "the", "river", "[SEP]"];
const META = metaOf(TEXTS);
const ARCH: Architecture = {
  parameters: { embeddings: 10, total: 10 },
  hidden: 12,
  headDim: 4,
  vocabulary: 50,
  activation: "gelu",
  preNorm: false,
  norm: "LayerNorm",
  notes: [],
  missing: {},
  embedding: 12,
  inner: 12,
  intermediate: 48,
};
const ROTARY = "this model has no position embeddings: positions rotate queries and keys (RoPE)";
const PRE_NORM: Architecture = {
  ...ARCH,
  preNorm: true,
  norm: "RMSNorm",
  missing: { position: ROTARY },
};

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

  test("say what an encoder of two stacks has no head for, and how T5 scores", () => {
    const ofEncoder = {
      ...META,
      part: "encoder" as const,
      parts: ["encoder", "decoder", "cross"] as const,
    };
    const stage = (id: string, arch: Architecture) =>
      stagesOf(
        { ...ofEncoder, model: { ...META.model, has: { ...META.model.has, mlm: false } } },
        arch,
      ).find((one) => one.id === id);
    const t5 = { ...PRE_NORM, scores: "q · k, and a learned number for the distance" };
    expect(stage("mlm", t5)?.missing).toContain("cross-attention looks at");
    expect(stage("scores", t5)?.about).toContain(
      "q · k, and a learned number for the distance, and",
    );
    expect(stage("scores", ARCH)?.about).toContain("q · k / √d_k, and the mask");
    // Positions that are computed have no parameters.
    expect(stage("position", { ...ARCH, sinusoidal: true })?.part).toBeNull();
    expect(stage("position", ARCH)?.part).toBe("embeddings");
  });

  test("call the norm of a layer by its name", () => {
    const norms = (arch: Architecture) =>
      stagesOf(META, arch)
        .filter(({ id }) => id.endsWith("_norm"))
        .map(({ title }) => title);
    expect(norms(ARCH)).toEqual(["LayerNorm", "LayerNorm"]);
    expect(norms(PRE_NORM)).toEqual(["RMSNorm", "RMSNorm"]);
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

  test.each(widths)("ends each wire before the box that it leads to, at %d px", (width) => {
    const { wires, boxes } = layoutMap(stagesOf(META, ARCH), 6, width);
    const across = wires.filter(({ head }) => head.to === "right");
    expect(across.length).toBeGreaterThan(12);
    for (const { d, head } of across) {
      const box = boxes.find(({ x, y, h }) => x === head.x && y + h / 2 === head.y);
      expect(box).toBeDefined();
      expect(Number(/H([\d.]+)$/.exec(d)?.[1])).toBe(head.x - 4);
    }
  });

  test.each(widths)("has its signs halfway between boxes, at %d px", (width) => {
    const { signs, boxes } = layoutMap(stagesOf(META, ARCH), 6, width);
    expect(signs.map(({ text }) => text)).toEqual(["+", "+", "="]);
    signs.forEach(({ x }, i) => {
      const [before, after] = [boxes[i]!, boxes[i + 1]!];
      expect(x - before.x - before.w).toBeCloseTo(after.x - x, 9);
    });
  });

  const lanesOf = (boxes: readonly Placed[]): Placed[][] =>
    [...new Set(boxes.map(({ y }) => y))].map((y) => boxes.filter((box) => box.y === y));

  // The frame has 12 px inside its edge, 9 where it is narrower than 470.
  test.each([260, 300, ...widths])("fills its lanes, at %d px", (width) => {
    const { boxes, frame } = layoutMap(stagesOf(META, ARCH), 6, width);
    const edges = { embeddings: width, inside: width - (frame.w < 470 ? 9 : 12) };
    for (const lane of lanesOf(boxes.filter(({ stage }) => stage.zone !== "output"))) {
      if (lane.some(({ w }) => w >= 132)) continue; // no stage takes more than its share of that
      const last = lane.at(-1)!;
      const edge = last.stage.zone === "embeddings" ? edges.embeddings : edges.inside;
      expect(Math.abs(last.x + last.w - edge)).toBeLessThanOrEqual(1);
    }
  });

  test("breaks a lane without room in two, the longer part first", () => {
    const { boxes } = layoutMap(stagesOf(META, ARCH), 6, 300);
    const inside = boxes.filter(({ stage }) => ["attention", "ffn"].includes(stage.zone));
    expect(lanesOf(inside).map((lane) => lane.length)).toEqual([2, 2, 2, 1, 2, 2]);
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
    expect(largest(row, 3)).toEqual([3, 5, 2]);
    expect(countActive(row)).toBe(3);
    expect(largestAbsolute([1, Number.NEGATIVE_INFINITY, -2, Number.NaN])).toBe(2);
    const bars = [0.2, 0.5, 0.3, 0.1, 0.4, 0.6, 0.2, 0.3, 0.5, 0.4];
    expect(scaleEnd([21, ...bars])).toBe(0.6); // one bar far above the others is beyond the scale
    expect(scaleEnd([1.7, ...bars])).toBe(1.7);
    expect(scaleEnd([21, 20, ...bars])).toBe(21); // two of twelve are no exception
    expect(scaleEnd([21, 0.5, 0.2])).toBe(21);
    expect(scaleEnd([Number.NaN])).toBe(0);
  });

  test("an overview keeps the largest of every piece, whatever its sign", () => {
    expect([...envelope([row], 3)]).toEqual([3, 4, 4]);
  });

  test("the largest of nothing is nowhere", () => {
    expect(firstLargest([])).toBe(-1);
    expect(firstLargest([Number.NaN, 1, 3, 3])).toBe(2);
  });
});

test("parameters are counted in thousands and millions", () => {
  expect([22_893_116, 147_840, 9_216].map(formatParameters)).toEqual(["22.9 M", "148 k", "9,216"]);
});
