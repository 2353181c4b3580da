// @vitest-environment jsdom

import { type ComponentChild, h, render } from "preact";
import { describe, expect, it } from "vitest";
import { RAMP_SIZE } from "../src/draw/color/ramp";
import { largestOf } from "../src/draw/color/scale";
import { firstUnits } from "../src/draw/text-line";
import { unitsOf } from "../src/figures/derive/units";
import { signedOf } from "../src/frame/ribbon/paint";
import type { SliceRequest } from "../src/protocol/types";
import { questionOf, targetFrom } from "../src/views/why/choices";
import { METHODS, type Trust } from "../src/views/why/data";
import { labelsOf, Strip } from "../src/views/why/strips";
import { SumLine, sumOf } from "../src/views/why/sum";
import { meanRho, sentence, tested, verdict } from "../src/views/why/trust";
import { fieldsOf, metaOf } from "./runs";
import { nd, open, quiet, TARGET, TEXTS, TOKENS, trustOf } from "./why-view";

describe("the view", () => {
  it("opens on what the text proposes and computes every method", async () => {
    const { asked, state, element, part, paint, view } = open();
    await quiet();
    expect(state.get().target).toEqual(TARGET);
    expect(element.querySelector("h3")?.textContent).toBe("Why are rather than is?");
    const methods = asked.flatMap((one) =>
      one.kind === "contributions" ? [fieldsOf(one).method] : [],
    );
    expect(new Set(methods)).toEqual(new Set(METHODS.map(({ key }) => key)));
    expect(part("why-said").textContent).toContain(
      "The orders of 6 of 10 methods (value zeroing, ALTI, mixing and 3 more) are better than random; that of " +
        "value zeroing lowers the probability more than 100% of all 5,040 orders of the 7 words. They agree in " +
        "part on these words (mean ρ .50). Decomposition, ",
    );
    expect(part("why-sum").textContent).toContain("keys +3.00");
    expect(part("why-sum").textContent).toContain("bias +0.500");
    expect(part("why-sum").textContent).toContain("= 2.50");
    expect(part("why-heads").querySelector("button")?.dataset.head).toBe("1"); // layer 1, head 1: -2
    expect(part("lens").textContent).toContain("900");
    expect(paint.get()?.values[2]).toBe(3);
    const table = await view.table();
    expect(table?.rows[2]).toEqual([2, "keys", 3]);
    view.dispose();
    expect(paint.get()).toBeNull();
  });

  it("goes to another method and another head by a click", async () => {
    const { state, element, part } = open();
    await quiet();
    element.querySelector<HTMLElement>('[data-method="occlusion"]')?.click();
    expect(state.get().method).toBe("occlusion");
    expect(part("why-sum").textContent).toContain("need not add up");
    part("why-heads").querySelector<HTMLElement>("button")?.click();
    expect([state.get().layer, state.get().head]).toEqual([1, 1]);
  });

  it("says why a method is not there, and shows the others", async () => {
    const { element, part } = open(["integrated_gradients", "trust"]);
    await quiet();
    const row = element.querySelector('.aw-why-strip[data-method="integrated_gradients"]');
    expect(row?.textContent).toContain("N/A: No integrated_gradients here.");
    expect(part("why-said").textContent).toContain("cannot be tested: No trust here.");
  });

  it("keeps what is explained when a target cannot be had", async () => {
    const refuse: string[] = [];
    const { state, element, problems } = open(refuse);
    await quiet();
    refuse.push("decomposition");
    state.set({ target: { position: 2, token: 9 } });
    await quiet();
    expect(problems).toEqual(["No decomposition here."]);
    expect(state.get().target).toEqual(TARGET);
    expect(element.querySelector("h3")?.textContent).toBe("Why are rather than is?");
  });

  it("takes a prediction that is clicked as the target, and tokens as text", async () => {
    const { state, element } = open();
    await quiet();
    const chips = [...element.querySelectorAll<HTMLElement>(".aw-why-chip")];
    const was = chips.find((chip) => chip.textContent?.startsWith("<b>was</b>"));
    was?.click();
    expect(state.get().target).toEqual({ position: 3, token: 9, against: 8, masked: true });
    expect(element.querySelector("b b")).toBeNull();
  });

  it("lists choices of another token when it comes into focus, and keeps its target", async () => {
    const { state, element, asked } = open();
    await quiet();
    state.set({ token: 2 });
    await quiet();
    expect(element.querySelector(".aw-why-place")?.textContent).toContain("keys");
    expect(fieldsOf(asked.at(-1) as SliceRequest).rows).toEqual([2, 3]);
    expect(state.get().target).toEqual(TARGET);
  });
});

function drawn(part: ComponentChild): Element {
  const host = document.createElement("div");
  render(part, host);
  return host;
}

describe("numbers", () => {
  it("adds up to the same whatever is listed", () => {
    const values = [0.25, -0.5, 3, Number.NaN, -1, 0.125];
    const { terms, rest, others } = sumOf(values, TOKENS, 2);
    expect(terms.map(({ unit, value }) => [unit.token, value])).toEqual([
      [2, 3],
      [4, -1],
    ]);
    expect(others).toBe(3);
    expect(rest).toBeCloseTo(-0.125, 12);
    // A word of two pieces, and special tokens that are not shown.
    const words = unitsOf(metaOf(TEXTS).tokens, {
      special: false,
      tokenWord: [null, 0, 0, 1, 2, null],
    });
    const merged = sumOf([0.25, -0.5, 3, 4, -1, 0.125], words, 1);
    expect(merged.terms.map(({ unit, value }) => [unit.token, unit.end, value])).toEqual([
      [3, 4, 4],
    ]);
    expect([merged.others, merged.rest]).toEqual([5, 1.875]);
    expect(sumOf([0, 1, 3, 2.5, 0, 0], words, 1).terms[0]?.value).toBe(4);
  });

  it("tells two tokens of the same text apart", () => {
    const found = {
      method: "occlusion",
      signed: true,
      value: 1,
      bias: null,
      baseline: null,
      gap: null,
      values: Float32Array.from([2, 1]),
      target: TARGET,
      of: "token",
      names: [],
    } as const;
    const two = unitsOf(metaOf(["the", "the"]).tokens, { special: true });
    const line = drawn(h(SumLine, { found, units: two, label: () => "the" }));
    expect(line.textContent).toContain("the 0 +2.00");
  });

  it("says what to make of the tests", () => {
    expect(verdict(trustOf([0.5, 0.3]))).toEqual({
      better: ["decomposition"],
      others: ["gradient_x_input"],
      untested: [],
    });
    expect(sentence(trustOf([0.1, 0.2]))).toBe(
      "The order of gradient × input lowers the probability more than 60% of all 5,040 orders of the 7 words, " +
        "which is not enough for the best of 2 methods: their order is no better than random here.",
    );
    expect(sentence(trustOf([0.5, 0.6]))).toBe(
      "The orders of all 2 methods are better than random; that of gradient × input lowers the probability more " +
        "than 100% of all 5,040 orders of the 7 words.",
    );
    expect(sentence(trustOf([0.5, 0.2]))).toBe(
      "The order of 1 of 2 methods (decomposition) is better than random; it lowers the probability more than 100% of " +
        "all 5,040 orders of the 7 words. Gradient × input: its order is no better than random here.",
    );
    expect(sentence(trustOf([0.5]))).toMatch(
      /^The order of decomposition is better than random; it lowers .* of the 7 words\.$/,
    );
    expect(sentence(trustOf([0.2]))).toMatch(
      /^The order of decomposition lowers .* words: it is no better than random here\.$/,
    );
  });

  it("gives the percentile of drawn orders with its interval", () => {
    const trust = trustOf([0.2, 0.1]);
    const test = { percentile: 98, low: 94.96, high: 99.45, adjusted: 0.249, better: false };
    const drawn: Trust = {
      ...trust,
      tests: [test, null],
      random: { ...trust.random, orders: 200, drawn: true, words: 20 },
    };
    expect(sentence(drawn)).toBe(
      "The order of decomposition lowers the probability more than 98% (95% to 99.4%) of 200 random orders, which " +
        "is not enough for the best of 2 methods: their order is no better than random here. Gradient × input gives " +
        "all words the same.",
    );
    expect(tested(drawn, "decomposition")).toBe(
      "Mean fall of the probability: 0.200; random orders: 0.200. Lower than 98% (95% to 99.4%) of 200 random " +
        "orders. No better than random (p = 0.249, corrected for 2 methods).",
    );
    expect(tested(drawn, "gradient_x_input")).toContain("It gives all words the same.");
  });

  it("says that too few words cannot be tested, and gives no percentile", () => {
    const untestable = "3 words have 6 orders, and a test of 2 methods needs 40";
    const short: Trust = { ...trustOf([0.5, 0.2]), tests: [null, null], untestable };
    expect(sentence(short)).toBe(`The methods cannot be tested: ${untestable}.`);
    expect(tested(short, "decomposition")).toContain("Cannot be tested: 3 words have 6 orders");
    expect(verdict(short).untested).toHaveLength(2);
  });

  it("says how far the methods that are better agree, and leaves the others out of it", () => {
    const with_ = (...rho: number[]): Trust => ({
      ...trustOf([0.5, 0.1, 0.6]),
      rho: nd([1, -1, rho[0] ?? 0, -1, 1, -1, rho[0] ?? 0, -1, 1], 3, 3),
    });
    expect(meanRho(with_(0.8), ["decomposition", "integrated_gradients"])).toBeCloseTo(0.8, 6);
    expect(meanRho(with_(Number.NaN), ["decomposition", "integrated_gradients"])).toBeNull();
    expect(sentence(with_(0.8))).toContain("They agree on these words (mean ρ .80).");
    expect(sentence(with_(0.5))).toContain("They agree in part");
    expect(sentence(with_(-0.2))).toContain("They hardly agree on these words (mean ρ −.20)");
  });

  it("asks the same question in the same words", () => {
    const token = { of: "token", position: 3, masked: true } as const;
    expect(JSON.stringify(targetFrom(token, 7, 8))).toBe(JSON.stringify(TARGET));
    expect(targetFrom(token, 7, 7)).toEqual({ position: 3, token: 7, masked: true });
    expect(JSON.stringify(targetFrom({ of: "class", position: null }, 1, 0))).toBe(
      '{"against":0,"label":1}',
    );
    expect(questionOf(TARGET)).toEqual(token);
    expect(questionOf({ next_sentence: true })).toEqual({ of: "next_sentence" });
  });

  it("labels as many tokens as have room", () => {
    expect(labelsOf(["a", "cat"], 200)).toBe("across");
    expect(labelsOf(["a", "incomprehensible"], 100)).toBe("upwards");
    expect(
      labelsOf(
        Array.from({ length: 50 }, () => "cat"),
        490,
      ),
    ).toBe("none");
  });

  it("paints by the largest word, and marks special tokens beyond it", () => {
    expect(largestOf([9, -2, 1], [true, false, false])).toBe(2);
    expect(largestOf([9], [true])).toBe(9);
    expect(largestOf([Number.NaN], [false])).toBe(0);
    const units = unitsOf(metaOf(["[CLS]", "a", "b"]).tokens, { special: true });
    const cells = drawn(h(Strip, { values: [9, -2, 1], units, width: 90, mode: "light" }));
    expect(cells.querySelectorAll(".aw-why-beyond")).toHaveLength(1);
    expect(cells.querySelector("text")?.textContent).toBe("−");
  });

  it("adds up the pieces of a unit in the ribbon", () => {
    const meta = metaOf(["[CLS]", "play", "##ing", "[SEP]"]);
    const units = firstUnits(meta, true);
    const painted = signedOf({ values: [4, 1, -2, Number.NaN], verb: "" }, units, "light");
    expect(painted.most).toBe(2);
    expect(painted.indices).toEqual([RAMP_SIZE - 1, expect.any(Number), 0, null]);
  });
});
