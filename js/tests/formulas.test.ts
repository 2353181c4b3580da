// @vitest-environment jsdom
import { h, render } from "preact";
import { describe, expect, it } from "vitest";
import { ALIGNMENT, METRICS, PATTERNS, SPECIALIZATIONS } from "../src/figures/catalog/cards";
import {
  FIRST_TOKEN_TEXTS,
  METRIC_TEXTS,
  SPECIALIZATION_TEXTS,
} from "../src/figures/catalog/explanations";
import { shown } from "../src/figures/format";
import {
  closingDigits,
  SOFTMAX,
  SOFTMAX_SPOKEN,
  softmaxWithNumbers,
} from "../src/figures/formulas";
import { type MathNode, mi, mn, mtext, row } from "../src/figures/math";
import { Formula } from "../src/ui/math";
import { random } from "./tiny-text";

function mathElement(node: MathNode, spoken: string): Element {
  const host = document.createElement("div");
  render(h(Formula, { node, spoken }), host);
  return host.firstElementChild!;
}

it("explains every figure of a head", () => {
  expect(Object.keys(METRIC_TEXTS)).toEqual(METRICS.map(({ key }) => key));
  const metrics = [...SPECIALIZATIONS, ...PATTERNS, ...ALIGNMENT];
  expect(Object.keys(SPECIALIZATION_TEXTS)).toEqual(metrics.map(({ key }) => key));
});

describe.each(Object.entries(METRIC_TEXTS))("%s", (_, metric) => {
  it("has a formula, a reading and a source", () => {
    const math = mathElement(metric.formula, metric.spoken);
    expect(math.namespaceURI).toBe("http://www.w3.org/1998/Math/MathML");
    expect(math.querySelectorAll("mi").length).toBeGreaterThan(2);
    expect(metric.high).not.toBe(metric.low);
    expect(metric.references.length).toBeGreaterThan(0);
  });
});

it("warns where a name points the wrong way", () => {
  expect(METRICS.filter(({ warning }) => warning !== null).map(({ key }) => key)).toEqual([
    "focus_entropy",
    "uniformity",
  ]);
});

it("gives a DOI only in the form of one", () => {
  const texts = [...Object.values(METRIC_TEXTS), ...Object.values(SPECIALIZATION_TEXTS)];
  for (const { doi } of texts.flatMap(({ references }) => references)) {
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

describe.each([
  ...Object.entries(SPECIALIZATION_TEXTS),
  ["first token", FIRST_TOKEN_TEXTS] as const,
])("%s", (_, metric) => {
  it("has a formula, a reading, a chance level and a source with its DOI", () => {
    const math = mathElement(metric.formula, metric.spoken);
    expect(math.querySelectorAll("mi").length).toBeGreaterThan(1);
    expect(math.getAttribute("aria-label")).toBe(metric.spoken);
    expect(metric.high).toMatch(/\.$/);
    expect(metric.chance).toMatch(/ \/ [nm]$|^0$|^N\/A$|^\(m − 1\) \/ 2$/);
    expect(metric.references.map(({ doi }) => doi)).not.toContain(null);
  });
});
