// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { mathElement } from "../src/draw/math";
import { shown } from "../src/figures/format";
import {
  closingDigits,
  METRICS,
  metricOf,
  SOFTMAX,
  SOFTMAX_SPOKEN,
  softmaxWithNumbers,
} from "../src/figures/formulas";
import { PATTERNS, SPECIALIZATIONS } from "../src/figures/formulas-heads";
import { mi, mn, mtext, row } from "../src/figures/math";
import { figureOf, random } from "./figures-run";

/** Uniform attention over the first `count` keys of each row; the others are impossible. */
const uniform = (counts: readonly number[]): number[][] =>
  counts.map((count) =>
    Array.from({ length: counts.length }, (_, key) => (key < count ? 1 / count : Number.NaN)),
  );
const oneHot = (counts: readonly number[]): number[][] =>
  counts.map((count) =>
    Array.from({ length: counts.length }, (_, key) =>
      key < count ? Number(key === 0) : Number.NaN,
    ),
  );

const SHAPES: [string, number[]][] = [
  ["one token", [1]],
  ["two tokens", [2, 2]],
  ["nine tokens", new Array(9).fill(9)],
  ["a hundred tokens", new Array(100).fill(100)],
  ["more tokens than 1 / tau", new Array(128).fill(128)],
  ["a causal mask", [1, 2, 3, 4, 5, 6, 7]],
];

describe.each(METRICS.map((metric) => [metric.key, metric] as const))("%s", (key, metric) => {
  it.each(SHAPES)("has the figure of uniform attention as its reference: %s", (_, counts) => {
    for (const tau of [0.01, "uniform"] as const) {
      const limit = tau === "uniform" ? 1 / counts.length : tau;
      expect(metric.uniform(counts, tau)).toBeCloseTo(figureOf(uniform(counts), limit, key), 9);
    }
  });

  it.each(SHAPES)("stays in its range from uniform to one-hot: %s", (_, counts) => {
    const [least, most] = metric.range(counts);
    for (const matrix of [uniform(counts), oneHot(counts)]) {
      const value = figureOf(matrix, 0.01, key);
      // The reference adds n² numbers up one by one.
      const rounding = counts.length ** 2 * Number.EPSILON * Math.max(1, most);
      expect(value).toBeGreaterThanOrEqual(least - rounding);
      expect(value).toBeLessThanOrEqual(most + rounding);
    }
  });

  it("has a formula, a reading and a source", () => {
    const math = mathElement(metric.formula(0.01), metric.spoken);
    expect(math.namespaceURI).toBe("http://www.w3.org/1998/Math/MathML");
    expect(math.querySelectorAll("mi").length).toBeGreaterThan(2);
    expect(metric.high).not.toBe(metric.low);
    expect(metric.references.length).toBeGreaterThan(0);
  });
});

it("reaches the ends of the ranges that depend on n", () => {
  const counts = new Array(9).fill(9);
  expect(metricOf("focus_entropy")?.range(counts)[1]).toBeCloseTo(9 * Math.log(9), 12);
  expect(metricOf("uniformity")?.range(counts)[1]).toBeCloseTo(
    figureOf(oneHot(counts), 0.01, "uniformity"),
    12,
  );
});

it("warns where a name points the wrong way", () => {
  expect(METRICS.filter(({ warning }) => warning !== null).map(({ key }) => key)).toEqual([
    "focus_entropy",
    "uniformity",
  ]);
});

it("gives a DOI only in the form of one", () => {
  for (const { doi } of METRICS.flatMap(({ references }) => references)) {
    if (doi !== null) expect(doi).toMatch(/^10\.\d{4,}\//);
  }
});

describe("softmax", () => {
  it("prints numbers that close for any logits", () => {
    const next = random(5);
    for (let trial = 0; trial < 2000; trial++) {
      const logitMax = Math.fround(30 * next() - 10);
      const logit = trial % 7 === 0 ? logitMax : Math.fround(logitMax - 25 * next() ** 2);
      const exp = Math.exp(logit - logitMax);
      const sumExp = exp + 1 + 40 * next();
      const terms = { token: "w", logit, logitMax, exp, sumExp, probability: exp / sumExp };
      const digits = closingDigits(terms);
      const printed = (value: number): number => Number(value.toFixed(digits.logit));
      const printedExp = shown(exp, digits.exp);
      expect(shown(Math.exp(printed(logit) - printed(logitMax)), digits.exp)).toBe(printedExp);
      expect(shown(printedExp / shown(sumExp, digits.sum), 3)).toBe(shown(exp / sumExp, 3));
    }
  });

  it("prints just those numbers, with all digits behind them", () => {
    const terms = {
      token: "cat",
      logit: -1.25,
      logitMax: -0.5,
      exp: Math.exp(-0.75),
      sumExp: 2.5,
      probability: Math.exp(-0.75) / 2.5,
    };
    const { node, spoken } = softmaxWithNumbers(terms);
    const math = mathElement(node, spoken);
    const numbers = [...math.querySelectorAll("[data-aw-value]")];
    expect(numbers.map((mn) => mn.textContent)).toEqual([
      "−1.25",
      "−0.50",
      "2.50",
      "0.472",
      "2.50",
      "0.189",
    ]);
    expect(numbers.map((mn) => Number(mn.getAttribute("data-aw-value")))).toEqual([
      terms.logit,
      terms.logitMax,
      terms.sumExp,
      terms.exp,
      terms.sumExp,
      terms.probability,
    ]);
    expect(spoken).toContain("exp of −1.25 minus −0.50");
  });

  it("keeps a hostile token text", () => {
    const token = "<img src=x onerror=alert(1)>";
    const terms = { token, logit: 0, logitMax: 0, exp: 1, sumExp: 1, probability: 1 };
    const math = mathElement(softmaxWithNumbers(terms).node, "");
    expect(math.querySelector("img")).toBeNull();
    expect(math.querySelector("mtext")?.textContent).toBe(`\u2068${token}\u2069`);
  });

  it("is spoken as well as drawn", () => {
    const math = mathElement(SOFTMAX, SOFTMAX_SPOKEN);
    expect(math.getAttribute("aria-label")).toBe(SOFTMAX_SPOKEN);
    expect(math.querySelectorAll("mfrac")).toHaveLength(1);
  });
});

it("builds MathML elements in order, text as text", () => {
  const math = mathElement(row(mi("a"), mn("1", 1.5), mtext("<b>")), "a");
  expect(
    [...math.querySelectorAll("mrow > *")].map((node) => [node.localName, node.textContent]),
  ).toEqual([
    ["mi", "a"],
    ["mn", "1"],
    ["mtext", "<b>"],
  ]);
});

describe.each([...SPECIALIZATIONS, ...PATTERNS].map((aim) => [aim.key, aim] as const))(
  "%s",
  (_, aim) => {
    it("has a formula, a reading, a chance level and a source with its DOI", () => {
      const math = mathElement(aim.formula, aim.spoken);
      expect(math.querySelectorAll("mi").length).toBeGreaterThan(1);
      expect(math.getAttribute("aria-label")).toBe(aim.spoken);
      expect(aim.high).toMatch(/\.$/);
      expect(aim.chance).toMatch(/ \/ n$/);
      expect(aim.references.map(({ doi }) => doi)).not.toContain(null);
    });
  },
);
