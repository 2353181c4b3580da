// @vitest-environment jsdom

import { type ComponentChild, h, render } from "preact";
import { describe, expect, it } from "vitest";
import { METHODS } from "../../../src/catalog/definitions";
import { RAMP_SIZE } from "../../../src/draw/color/ramp";
import { largestOf } from "../../../src/draw/color/scale";
import { firstUnits } from "../../../src/draw/text-line";
import { explainedOf } from "../../../src/features/why/both-texts";
import { questionOf, type Trust, targetFrom } from "../../../src/features/why/data";
import { labelsOf, Strip } from "../../../src/features/why/strips";
import { SumLine, sumOf } from "../../../src/features/why/sum";
import { meanRho, sentence, tested, verdict } from "../../../src/features/why/trust";
import { type Unit, unitsOf } from "../../../src/figures/derive/units";
import { signedOf } from "../../../src/frame/ribbon/paint";
import type { Slice, SliceRequest, Target } from "../../../src/protocol/types";
import { fieldsOf, metaOf } from "../../runs";
import { type Answer, nd, open, quiet, source, TARGET, TEXTS, TOKENS, trustOf } from "./why-view";

describe("the view", () => {
  it("opens on what the text proposes and computes every method", async () => {
    const { asked, state, element, part, overlay, view } = open();
    await quiet();
    expect(state.get().target).toEqual(TARGET);
    expect(element.querySelector("h3")?.textContent).toBe("Why are rather than is?");
    const methods = asked.flatMap((one) =>
      one.kind === "contributions" ? [fieldsOf(one).method] : [],
    );
    expect(new Set(methods)).toEqual(new Set(METHODS.map(({ key }) => key)));
    expect(part("why-said").textContent).toContain(
      "Masking the words that 6 of 10 methods (value zeroing, ALTI, mixing and 3 more) rank highest hurts more " +
        "than masking at random; the order of value zeroing lowers the probability more than 100% of all 5,040 orders of the 7 words. They agree in " +
        "part on these words (mean ρ .50). Decomposition, ",
    );
    expect(part("why-sum").textContent).toContain("keys +3.00");
    expect(part("why-sum").textContent).toContain("bias +0.500");
    expect(part("why-sum").textContent).toContain("= 2.50");
    expect(part("why-heads").querySelector("button")?.dataset.head).toBe("1"); // layer 1, head 1: -2
    expect(part("sentence").textContent).toBe(
      "With “are” hidden, keys decides for “are” over “is”, by 3.00; “are” leads by 2.50 logits.",
    );
    // Folded until they are asked for.
    for (const name of ["lens", "why-agreement", "why-guesses"]) expect(part(name)).toBeNull();
    for (const details of element.querySelectorAll("details")) {
      details.open = true;
      details.dispatchEvent(new Event("toggle"));
    }
    await quiet();
    for (const name of ["why-agreement", "why-guesses"]) expect(part(name)).not.toBeNull();
    expect(part("lens").textContent).toContain("900");
    expect(overlay.painted.peek()?.values[2]).toBe(3);
    const table = await view.table();
    expect(table?.rows[2]).toEqual([2, "keys", 3]);
    expect(view.options?.()).toEqual({ explained: "are rather than is at are 3, masked" });
    view.dispose();
    expect(overlay.painted.peek()).toBeNull();
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

  it("lists the labels of a token that is chosen, where tokens are classified", async () => {
    const target = { position: 2, against: 0, label: 1 };
    const answers = source();
    const labels = ["O", "PER", "LOC"];
    const { element, state, part } = open([], true, (request) => {
      if (request.kind === "targets")
        return {
          data: { targets: [{ target, of: "class", names: ["PER", "O"] }] },
          arrays: new Map(),
        };
      if (request.kind !== "classification") {
        const { data, arrays } = answers(request);
        return { data: { ...data, of: "class", names: ["PER", "O"] }, arrays };
      }
      const logits = nd(
        TEXTS.flatMap((_, i) => [0, i, -i]),
        TEXTS.length,
        3,
      );
      const data = { labels, task: "token", activation: "softmax" };
      return {
        data,
        arrays: new Map([
          ["logits", logits],
          ["probabilities", logits],
        ]),
      };
    });
    await quiet();
    expect(element.querySelector("h3")?.textContent).toBe("Why PER rather than O?");
    state.set({ token: 4 });
    await quiet();
    const chips = [...part("why-choose").querySelectorAll<HTMLElement>(".aw-why-chip")];
    expect(part("why-choose").textContent).toContain("at here 4");
    expect(part("why-choose").textContent).not.toContain("masked");
    // The click was the question: the likeliest label there against the next.
    expect(state.get().target).toEqual({ position: 4, against: 0, label: 1 });
    chips.find((chip) => chip.textContent?.startsWith("LOC"))?.click();
    expect(state.get().target).toEqual({ position: 4, against: 0, label: 2 });
  });

  it("shows contributions from elsewhere as rows under their own names", async () => {
    const hostile = "<img src=x onerror=alert(1)>";
    const { asked, state, element, part } = open([], true, undefined, ["__proto__", hostile]);
    await quiet();
    const names = [...element.querySelectorAll(".aw-why-method")].map((row) => row.textContent);
    expect(names.slice(-2)).toEqual(["__proto__", hostile]);
    expect(element.querySelector("img")).toBeNull();
    const tests = asked.filter(({ kind }) => kind === "trust");
    expect(fieldsOf(tests[0] as SliceRequest).methods).toEqual([
      ...METHODS.map(({ key }) => key),
      ...["__proto__", hostile],
    ]);
    expect(part("why-said").textContent).toContain(`8 of 12 methods (${hostile}, __proto__, `);
    element.querySelector<HTMLElement>('[data-method="__proto__"]')?.click();
    expect(state.get().method).toBe("__proto__");
    expect(part("why-sum").textContent).toContain("as given; they need not add up");
    expect(part("why-readout").textContent).toContain("keys 2: __proto__ 3.00");
  });

  it("says why a method is not there, and shows the others", async () => {
    const { element, part } = open(["integrated_gradients", "trust"]);
    await quiet();
    expect(element.querySelector('.aw-why-strip[data-method="integrated_gradients"]')).toBeNull();
    const folded = part("why-refused") as HTMLDetailsElement;
    expect(folded.open).toBe(false);
    expect(folded.querySelector("summary")?.textContent).toBe("N/A here: Integrated gradients");
    expect(folded.querySelector("p")?.textContent).toContain("No integrated_gradients here.");
    expect(part("why-said").textContent).toContain("cannot be tested: No trust here.");
  });

  it("adds up the components of a next token, and goes to the head of a cell", async () => {
    const { state, element, part } = open([], true, source(), [], "next");
    await quiet();
    expect(part("why-components-said").textContent).toBe(
      "Of all heads L1 · H1 counts most, +2.00; all parts together make the 2.50 logits by which are leads is.",
    );
    expect(part("why-components-sum").textContent).toMatch(
      /^heads \+1\.75MLPs \+0\.500embedding −0\.250biases \+0\.500= 2\.50/,
    );
    const listed = [...part("why-components").querySelectorAll<HTMLElement>(".aw-why-head")];
    expect(listed.slice(0, 3).map(({ textContent }) => textContent)).toEqual([
      "L1 · H1+2.00",
      "L0 · H2−0.500",
      "L0 · H0+0.250",
    ]);
    const cells = [...element.querySelectorAll<SVGRectElement>(".aw-why-parts-heads rect")];
    const titles = cells.map((cell) => cell.querySelector("title")?.textContent);
    expect(titles).toEqual([
      ..."L0 · H0: +0.250|L0 · H1: 0|L0 · H2: −0.500|L1 · H0: 0|L1 · H1: +2.00|L1 · H2: 0".split(
        "|",
      ),
    ]);
    cells[2]?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect([state.get().layer, state.get().head]).toEqual([0, 2]);
    const bars = [...element.querySelectorAll(".aw-why-parts-bars title")];
    expect(bars.map(({ textContent }) => textContent)).toEqual([
      "embedding: −0.250",
      "MLP of layer 0: −1.00",
      "MLP of layer 1: +1.50",
      "biases: +0.500",
    ]);
  });

  it("has no components of an encoder, nor where they are refused", async () => {
    const encoder = open();
    await quiet();
    expect(encoder.part("why-components")).toBeNull();
    expect(encoder.asked.some(({ kind }) => kind === "components")).toBe(false);
    const refused = open(["components"], true, source(["components"]), [], "next");
    await quiet();
    expect(refused.part("why-components")).toBeNull();
    expect(refused.part("why-heads")).not.toBeNull();
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

  it("takes a click on a word as the question: the first choice there, against the text's own word", async () => {
    const { state, element, part, asked } = open();
    await quiet();
    expect((part("why-choose") as HTMLDetailsElement).open).toBe(false);
    state.set({ token: 2 });
    await quiet();
    expect(element.querySelector(".aw-why-place")?.textContent).toContain("keys");
    expect((part("why-choose") as HTMLDetailsElement).open).toBe(false);
    expect(
      asked.filter(({ kind }) => kind === "predictions").map((one) => fieldsOf(one).rows),
    ).toContainEqual([2, 3]);
    const own = metaOf(TEXTS).tokens.id[2];
    expect(state.get().target).toEqual({ position: 2, token: 7, against: own, masked: true });
  });

  describe("of a text that a model wrote from token 3 on", () => {
    /** The third written token, id 15, is none of the guesses; the proposal is after the last token. */
    const LAST: Target = { position: 5, token: 7, against: 8 };
    const [FIRST, THIRD] = [
      { position: 2, token: 13, against: 7 },
      { position: 4, token: 15, against: 7 },
    ];
    const answers = source();
    const answer = (request: SliceRequest): Slice =>
      request.kind === "targets"
        ? {
            data: { targets: [{ target: LAST, of: "token", names: ["are", "is"] }] },
            arrays: new Map(),
          }
        : answers(request);
    const openWritten = (given: Answer = answer, live = true) =>
      open([], live, given, [], "next", { written: 3 });

    it("asks why the focus token was written, and what comes next without one", async () => {
      const { state, part } = openWritten();
      await quiet();
      expect(state.get().target).toEqual(LAST);
      state.set({ token: 3 });
      await quiet();
      expect(state.get().target).toEqual(FIRST);
      expect(part("sentence").textContent).toContain("After keys");
      expect((part("why-choose") as HTMLDetailsElement).open).toBe(false);
      // What the model read keeps the question, and lists what could be asked there.
      state.set({ token: 1 });
      await quiet();
      expect(state.get().target).toEqual(FIRST);
      expect(part("why-choose").textContent).toContain("after the 1");
      state.set({ token: null });
      expect(state.get().target).toEqual(LAST);
    });

    it("keeps a question that the reader put, until it is given up", async () => {
      const { state, part } = openWritten();
      state.set({ token: 4 });
      await quiet();
      expect(state.get().target).toEqual({ position: 3, token: 14, against: 7 });
      expect(part("why-follow")).toBeNull();
      const chips = [...part("why-choose").querySelectorAll<HTMLElement>(".aw-why-chip")];
      chips.find((chip) => chip.textContent?.startsWith("<b>was</b>"))?.click();
      const own = { position: 3, token: 9, against: 7 };
      await quiet();
      expect(state.get().target).toEqual(own);
      state.set({ token: 5 });
      await quiet();
      expect(state.get().target).toEqual(own);
      expect(part("why-choose").textContent).toContain("after here 4");
      part("why-follow").click();
      await quiet();
      expect(state.get().target).toEqual(THIRD);
      expect(part("why-follow")).toBeNull();
    });

    it("gives up what it asked of a token that is no longer in focus", async () => {
      const given: { position: number | undefined; aborted: boolean }[] = [];
      const { state, part } = openWritten((request, { signal }) => {
        const { target } = fieldsOf(request) as { target?: Target };
        if (request.kind !== "contributions" || target?.position === LAST.position)
          return answer(request);
        const asked = { position: target?.position, aborted: false };
        given.push(asked);
        if (target?.position === THIRD.position) return answer(request);
        return new Promise<Slice>((_, reject) => {
          signal?.addEventListener("abort", () => {
            asked.aborted = true;
            reject(new DOMException("", "AbortError"));
          });
        });
      });
      await quiet();
      for (const token of [3, 4, 5]) state.set({ token });
      await quiet();
      expect(given.slice(0, 3)).toEqual([
        { position: 2, aborted: true },
        { position: 3, aborted: true },
        { position: 4, aborted: false },
      ]);
      expect(part("sentence").textContent).toContain(
        "After “here”, keys decides for token 15 over “are”",
      );
    });

    it("keeps its question in a saved page, which has no other", async () => {
      const { state, asked } = openWritten(answer, false);
      await quiet();
      state.set({ token: 4 });
      await quiet();
      expect(state.get().target).toEqual(LAST);
      expect(asked.filter(({ kind }) => kind === "predictions")).toEqual([]);
    });
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
      error: 0,
      bias: null,
      baseline: null,
      gap: null,
      values: Float32Array.from([2, 1]),
      target: TARGET,
      of: "token",
      names: [],
    } as const;
    const meta = metaOf(["the", "the"]);
    const two = unitsOf(meta.tokens, { special: true });
    const explained = explainedOf(meta);
    const line = drawn(h(SumLine, { found, units: two, label: () => "the", explained }));
    expect(line.textContent).toContain("1st “the” +2.002nd “the” +1.00");
  });

  it("adds up the tokens of a source and of what is written from it, each in its place", () => {
    const written = unitsOf(metaOf(["the", "the"]).tokens, { special: true });
    const meta = metaOf(["the", "the"], { keys: metaOf(["a", "the"]).tokens, part: "cross" });
    const explained = explainedOf(meta);
    const found = {
      ...{ method: "decomposition", signed: true, value: 6, error: 0 },
      ...{ bias: 1, baseline: null, gap: 0 },
      values: Float32Array.from([0.5, 3, 2, -0.5]),
      target: TARGET,
      of: "token",
      names: [],
    } as const;
    const units = explained.units(written, true);
    const label = ({ text }: Unit) => text;
    const line = drawn(h(SumLine, { found, units, label, explained }));
    expect(line.textContent).toMatch(/“the” of the source \+3.00.*“the” \+2.00.*bias \+1.00= 6.00/);
  });

  it("says what to make of the tests", () => {
    expect(verdict(trustOf([0.5, 0.3]))).toEqual({
      better: ["decomposition"],
      others: ["gradient_x_input"],
      undecided: [],
      untested: [],
    });
    expect(sentence(trustOf([0.1, 0.2]))).toBe(
      "The order of gradient × input lowers the probability more than 60% of all 5,040 orders of the 7 words, " +
        "which is not enough for the best of 2 methods: their order is no better than random here.",
    );
    expect(sentence(trustOf([0.5, 0.6]))).toBe(
      "Masking the words that all 2 methods rank highest hurts more than masking at random; the order of " +
        "gradient × input lowers the probability more than 100% of all 5,040 orders of the 7 words.",
    );
    expect(sentence(trustOf([0.5, 0.2]))).toBe(
      "Masking the words that 1 of 2 methods (decomposition) ranks highest hurts more than masking at random; the " +
        "order of decomposition lowers the probability more than 100% of all 5,040 orders of the 7 words. Gradient × input: its order is no better than random here.",
    );
    expect(sentence(trustOf([0.5]))).toMatch(
      /^Masking the words that decomposition ranks highest hurts more than masking at random; the order of .* of the 7 words\.$/,
    );
    expect(sentence(trustOf([0.2]))).toMatch(
      /^The order of decomposition lowers .* words: it is no better than random here\.$/,
    );
  });

  it("calls undecided what the drawn orders do not settle", () => {
    const trust = trustOf([0.2, 0.1]);
    const test = { percentile: 98, low: 97, high: 99, adjusted: 0.04, better: null };
    const other = { ...test, percentile: 40, adjusted: 0.6, better: false };
    const drawn: Trust = {
      ...trust,
      tests: [test, other],
      random: { ...trust.random, orders: 1600, drawn: true, words: 20 },
    };
    expect(verdict(drawn).undecided).toEqual(["decomposition"]);
    expect(sentence(drawn)).toContain(
      "that of gradient × input is no better than random here. Decomposition is undecided after 1,600 orders.",
    );
    expect(tested(drawn, "decomposition")).toContain(
      "Undecided with so many orders (p = 0.040, corrected for 2 methods).",
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
    const first = { ...test, percentile: 100, low: 98.2, high: 100 };
    expect(tested({ ...drawn, tests: [first, null] }, "decomposition")).toContain(
      "Lower than any of 200 random orders (at least 98% of all).",
    );
  });

  it("says that too few words cannot be tested, and gives no percentile", () => {
    const untestable = "3 words have 6 orders, and a test of 2 methods needs 40";
    const long = trustOf([0.5, 0.2]);
    const random = { ...long.random, orders: 6, words: 3 };
    const short: Trust = { ...long, tests: [null, null], untestable, random };
    expect(sentence(short)).toBe(
      `The methods cannot be tested: ${untestable}. Try a longer sentence: six words are enough for ten methods, ` +
        "masked ones not counted.",
    );
    expect(sentence({ ...short, random: long.random })).toBe(
      `The methods cannot be tested: ${untestable}.`,
    );
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
    ).toBe("upwards");
  });

  it("paints by the largest word, and marks special tokens beyond it", () => {
    expect(largestOf([9, -2, 1], [true, false, false])).toBe(2);
    expect(largestOf([9], [true])).toBe(9);
    expect(largestOf([Number.NaN], [false])).toBe(0);
    const units = unitsOf(metaOf(["[CLS]", "a", "b"]).tokens, { special: true });
    const cells = drawn(h(Strip, { values: [9, -2, 1], units, width: 90, mode: "light" }));
    expect(cells.querySelectorAll(".aw-why-overflow")).toHaveLength(1);
    expect(cells.querySelector("text")?.textContent).toBe("−");
  });

  it("adds up the pieces of a unit in the ribbon", () => {
    const meta = metaOf(["[CLS]", "play", "##ing", "[SEP]"]);
    const units = firstUnits(meta, true);
    const painted = signedOf({ values: [4, 1, -2, Number.NaN], verb: "" }, units, [], "light");
    expect(painted.most).toBe(2);
    expect(painted.indices).toEqual([RAMP_SIZE - 1, expect.any(Number), 0, null]);
  });
});
