// @vitest-environment jsdom
/** The sentence on top of a view, as its rule has it (docs/opening.md). */

import { h } from "preact";
import { describe, expect, it } from "vitest";
import { firstUnits } from "../src/draw/text-line";
import { classesInWords } from "../src/features/tasks/sentence";
import { explainedOf } from "../src/features/why/both-texts";
import type { Contributions } from "../src/features/why/data";
import { largestTerm, WhySentence } from "../src/features/why/sentence";
import type { Classification } from "../src/figures/classes";
import { influenceTree } from "../src/figures/derive/tree";
import type { Matrix } from "../src/figures/matrix";
import { itemAt } from "../src/protocol/required";
import type { Meta, Source } from "../src/protocol/types";
import { HeadSentence } from "../src/views/heads/sentence";
import { SentencesSentence } from "../src/views/sentences/sentence";
import { strongestLinks } from "../src/views/tree/sentence";
import { drawn } from "./drawn";
import { metaOf } from "./runs";

const TEXTS = ["[CLS]", "the", "keys", "are", "here", "[SEP]"];
const META = metaOf(TEXTS);
const sourceOf = (meta: Meta, arrays: Source["arrays"] = new Map()): Source => ({
  ...{ meta, arrays, live: true },
  ask: () => Promise.reject(new Error("asks nothing")),
});
const textOf = (part: Parameters<typeof drawn>[0]): string => {
  const line = drawn(part);
  return line.hidden ? "" : (line.textContent ?? "");
};

describe("Heads", () => {
  const found = (raw: Record<string, number[]>, chance: number, next?: number[]) => ({
    specialization: {
      keys: Object.keys(raw),
      values: (_: string, key: string) => raw[key] ?? [],
      chance: (key: string) => (key === "entities" ? Number.NaN : chance),
      reasons: {},
      notes: [],
    },
    patterns:
      next === undefined ? null : { keys: ["next"], values: () => next, chance: () => chance },
  });
  const spread = [3, 1.5, 2, 2, 2, 2];
  const say = (
    answer: ReturnType<typeof found> | null,
    head: number | "mean" = 1,
    source = sourceOf(META),
  ): string => textOf(h(HeadSentence, { source, layer: 0, head, found: answer, spread }));

  it("says where the head looks more than by chance, the two targets that stand out most", () => {
    const raw = { cls: [0.1, 0.8, 0.3], syntax: [0.1, 0.3, 0.2], entities: [1, 1, 1] };
    expect(say(found(raw, 0.2))).toBe(
      "L0 · H1 gives [CLS] 4.00 times its chance share, function words 1.50 times.",
    );
    expect(say(found(raw, 0.2, [0, 0.9, 0]))).toBe(
      "L0 · H1 gives the token after 4.50 times its chance share, [CLS] 4.00 times.",
    );
    expect(say(found({ syntax: [0.3, 0.3, 0.3] }, 0.2), "mean")).toBe(
      "The heads of layer 0 give function words 1.50 times their chance share on average.",
    );
  });

  it("says that nothing is above chance where nothing is", () => {
    expect(say(found({ cls: [0.1, 0.2, 0.3] }, 0.2))).toBe(
      "L0 · H1 gives none of the kinds of tokens below more than its chance share.",
    );
  });

  it("says over how many tokens a query spreads where no target is known", () => {
    const line = "L0 · H1 spreads a query’s attention as widely as over 1.50 equal tokens.";
    expect(say(null)).toBe(line);
    expect(say(found({ entities: [Number.NaN, Number.NaN, Number.NaN] }, 0.2))).toBe(line);
    expect(say(null, "mean")).toContain("The heads of layer 0 spread");
  });

  it("of a profile says in which target the head stands out from all others, with the interval", () => {
    const values = [0.1, 0.5, 0.1, 0.1, 0.1, 0.1];
    const same = [0.9, 0.9, 0.9, 0.9, 0.9, 0.9];
    const ends = (value: number) => ({
      data: Float32Array.from(values, () => value),
      shape: [2, 3],
    });
    const profile = { n_texts: 400, n_tokens: 9, seed: 0, tagger: "none", keys: ["self"] };
    const source = sourceOf(
      { ...META, profile },
      new Map([
        ["low:self", ends(0.25)],
        ["high:self", ends(0.75)],
      ]),
    );
    const answer = found({ cls: same, self: values }, Number.NaN);
    expect(say(answer, 1, source)).toBe(
      "Over 400 texts, L0 · H1 gives the token itself 0.500 of a query’s attention (95% interval 0.250 to 0.750), " +
        "the most of all 6 heads.",
    );
    expect(say(answer, 0, source)).toContain("the 2nd most of all 6 heads.");
  });
});

describe("Tree", () => {
  const squareOf = (weights: number[], size: number): Matrix => {
    const units = Array.from({ length: size });
    return {
      weights: Float32Array.from(weights),
      allowed: null,
      queries: units,
      keys: units,
    } as never;
  };
  const linksOf = (weights: number[], size: number) =>
    strongestLinks({
      whole: influenceTree({ weights: Float32Array.from(weights), allowed: null, size }, 0, {
        topK: 2,
        depth: 3,
      }),
      matrix: squareOf(weights, size),
    }).map(({ from, to, weight }) => [from.unit, to.unit, Math.fround(weight)]);

  it("goes from the root to its strongest token, and on", () => {
    expect(linksOf([0.5, 0.3, 0.2, 0.1, 0.2, 0.7, 0.3, 0.3, 0.4], 3)).toEqual([
      [0, 1, Math.fround(0.3)],
      [1, 2, Math.fround(0.7)],
    ]);
  });

  it("says where the strongest link of that token leads back, which the tree leaves out", () => {
    expect(linksOf([0.5, 0.3, 0.2, 0.7, 0.2, 0.1, 0.3, 0.3, 0.4], 3)).toEqual([
      [0, 1, Math.fround(0.3)],
      [1, 0, Math.fround(0.7)],
    ]);
  });

  it("ends with the tokens that there are", () => {
    expect(linksOf([1], 1)).toEqual([]);
    expect(linksOf([0.5, 0.5, 0, 1], 2)).toEqual([[0, 1, 0.5]]);
  });
});

describe("Sentences", () => {
  const matrix = (size: number, values: number[], aggregation: "mass" | "max" = "mass") =>
    ({
      ...{ size, width: size, values: Float32Array.from(values), error: () => 0 },
      elsewhere: Float32Array.from({ length: size }, () => 0.5),
      outside: "special tokens",
      asked: { aggregation, layer: null, head: null, quantity: null },
    }) as never;
  const say = (...given: Parameters<typeof matrix>): string =>
    textOf(h(SentencesSentence, { matrix: matrix(...given), row: 0 }));

  it("says of one sentence what stays in it", () => {
    expect(say(1, [0.5])).toBe(
      "The text is one sentence: 0.500 of its attention stays in it, 0.500 lands on special tokens.",
    );
    expect(say(1, [0.75], "max")).toBe("The text is one sentence; its strongest link is 0.750.");
    expect(say(0, [])).toBe("");
  });

  it("says to which other sentence most goes, or that the mask lets nothing", () => {
    expect(say(2, [0.25, 0.125, 0, 0])).toBe(
      "S0 gives S1 0.125 of its attention; 0.250 of its attention stays in S0, 0.500 lands on special tokens.",
    );
    expect(say(2, [0.25, Number.NaN, 0, 0])).toMatch(/^The model’s mask lets S0 look at no other/);
    expect(say(3, [0.25, 0.5, 0.75, 0, 0, 0, 0, 0, 0], "max")).toBe(
      "The strongest link from S0 to another sentence is to S2, 0.750; the strongest within S0 is 0.250.",
    );
  });
});

describe("Why", () => {
  const units = firstUnits(META, true);
  const base: Contributions = {
    ...{
      target: { position: 3, token: 7, against: 8, masked: true },
      of: "token" as const,
      names: ["are", "is"],
    },
    ...{ method: "decomposition", signed: true, value: 2.5, error: 0 },
    ...{ bias: -4, baseline: null, gap: 1e-6 },
    values: Float32Array.from([0.25, -0.5, 3, 0.125, -1, 0.125]),
  };
  const say = (change: Partial<Contributions>, value = 2.5, error = 0): string => {
    const found = { ...base, ...change };
    return textOf(
      h(WhySentence, {
        titled: { of: found, value, error },
        found,
        units,
        tokens: META.tokens,
        explained: explainedOf(META),
        next: false,
        label: (token) => itemAt(TEXTS, token),
        nameUnit: ({ text }) => text,
      }),
    );
  };

  it("prints no digit of a value that processors may differ in", () => {
    expect(say({}, 3.796e-4)).toMatch(/ by 3\.80×10⁻⁴ logits/);
    expect(say({}, 3.796e-4, 2e-5)).toMatch(/ by 4×10⁻⁴ logits/);
  });

  it("says by how much the target leads, and its largest term", () => {
    expect(say({})).toBe(
      "With are hidden, are leads is by 2.50 logits; the largest term is the bias, −4.00.",
    );
    expect(say({ bias: 1 }, -2.5)).toBe(
      "With are hidden, are trails is by 2.50 logits; the largest term is keys, +3.00.",
    );
    expect(say({ bias: null, gap: null })).toContain(
      "the largest contribution is that of keys, +3.00.",
    );
    expect(say({ target: { position: 3, token: 7 }, names: ["are"] })).toBe(
      "At are, are has a logit of 2.50; the largest term is the bias, −4.00.",
    );
    expect(say({ target: { label: 1 }, of: "class", names: ["good", "bad"] })).toBe(
      "good leads bad by 2.50 logits; the largest term is the bias, −4.00.",
    );
  });

  it("counts tokens that are not shown, and none where no number is known", () => {
    const values = Float32Array.from([9, -0.5, 3, 0.125, -1, 0.125]);
    const words = firstUnits(META, false);
    expect(largestTerm({ ...base, values }, words, META.tokens)?.name).toBe("[CLS]");
    const none = values.map(() => Number.NaN);
    expect(largestTerm({ ...base, values: none, bias: null }, words, META.tokens)).toBeNull();
  });
});

describe("Task", () => {
  const found = (
    task: Classification["task"],
    labels: string[],
    shares: number[],
  ): Classification =>
    ({
      ...{ task, activation: "softmax", note: "", labels, rows: shares.length / labels.length },
      logits: Float32Array.from(shares, Math.log),
      exp: Float32Array.from(shares),
      probabilities: Float32Array.from(shares),
      sum: Float64Array.of(1),
    }) as const;
  const say = (answer: Classification): string =>
    textOf(
      h(
        "p",
        null,
        classesInWords(answer, META.tokens, (token) => itemAt(TEXTS, token)),
      ),
    );

  it("names the label that most tokens have, and the surest other", () => {
    const rows = [0.5, 0.5, 0.9, 0.1, 0.8, 0.2, 0.1, 0.9, 0.7, 0.3, 0.5, 0.5];
    expect(say(found("token", ["O", "VERB"], rows))).toBe(
      "3 of 4 tokens are O; the surest of the others is are, VERB 90.0%.",
    );
    const same = rows.map((_, i) => (i % 2 === 0 ? 0.9 : 0.1));
    expect(say(found("token", ["O", "VERB"], same))).toBe("All 4 tokens are O.");
  });

  it("names the likeliest answer, and that there is none where that is likelier", () => {
    const starts = [0.1, 0.1, 0.6, 0.1, 0.1, 0];
    const ends = [0.1, 0.1, 0.1, 0.6, 0.1, 0];
    const rows = starts.flatMap((start, i) => [start, itemAt(ends, i)]);
    expect(say(found("question_answering", ["start", "end"], rows))).toBe(
      "The likeliest answer is “keys are”, 36.0%.",
    );
    const none = [0.9, 0.9, ...rows.slice(2)];
    expect(say(found("question_answering", ["start", "end"], none))).toBe(
      "The model finds no answer (start and end at [CLS] 81.0%). The likeliest answer is “keys are”, 36.0%.",
    );
  });
});
