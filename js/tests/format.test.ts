// @vitest-environment jsdom

import { h, render } from "preact";
import { describe, expect, it } from "vitest";
import {
  exact,
  formatNumber,
  formatOrdinal,
  formatPercent,
  roundToError,
  shown,
  tokenLabel,
  tokenScheme,
  visible,
} from "../src/figures/format";
import { copyExactValues } from "../src/ui/copy-exact";
import { TokenText } from "../src/ui/token";

describe("numbers", () => {
  it.each([
    [0, "0"],
    [-0, "0"],
    [1, "1.00"],
    [0.12345, "0.123"],
    [0.9996, "1.00"],
    [12.345, "12.3"],
    [999.6, "1,000"],
    [1234.5, "1,235"],
    [123456, "123,456"],
    [0.001, "0.00100"],
    [0.0009994, "9.99×10⁻⁴"],
    [0.00012, "1.20×10⁻⁴"],
    [1.5e-12, "1.50×10⁻¹²"],
    [-2.5, "−2.50"],
    [-1234, "−1,234"],
    [2.5e7, "2.50×10⁷"],
    [Number.NaN, "–"],
    [Number.NEGATIVE_INFINITY, "−∞"],
  ])("%d is written %s", (value, text) => {
    expect(formatNumber(value)).toBe(text);
  });

  it("writes neither what is not all as 100% nor what is some as 0%", () => {
    expect(formatPercent(1)).toBe("100%");
    expect(formatPercent(0.99999)).toBe(">99.9%");
    expect(formatPercent(0.9994)).toBe("99.9%");
    expect(formatPercent(0.453)).toBe("45.3%");
    expect(formatPercent(0.00012)).toBe("0.0120%");
    expect(formatPercent(3e-9)).toBe("<0.01%");
    expect(formatPercent(0)).toBe("0%");
    expect(formatPercent(Number.NaN)).toBe("–");
  });

  it("reads back what it writes", () => {
    for (const value of [0.12345, 1234.5, 99.96, 1e-5, 0.9996]) {
      const text = formatNumber(value).replace(/,/g, "");
      const [mantissa, power] = text.split("×10");
      const exponent = [...(power ?? "⁰")]
        .map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(c))
        .reduce((a, d) => (d < 0 ? a : a * 10 + d), 0);
      expect(Number(mantissa) * 10 ** -exponent).toBeCloseTo(shown(value), 12);
    }
  });

  it("keeps every digit for copying", () => {
    const value = Math.fround(0.1);
    expect(Number(exact(value))).toBe(value);
  });

  it.each([
    [1, "1st"],
    [2, "2nd"],
    [3, "3rd"],
    [4, "4th"],
    [11, "11th"],
    [12, "12th"],
    [21, "21st"],
    [112, "112th"],
    [1003, "1,003rd"],
  ])("rank %d is %s", (rank, text) => expect(formatOrdinal(rank)).toBe(text));
});

describe("tokens", () => {
  it("makes spaces, control characters and emptiness visible", () => {
    expect(visible("")).toBe("∅");
    expect(visible(" a b ")).toBe("␣a b␣");
    expect(visible("\n\t")).toBe("⏎⇥");
    expect(visible("\0")).toBe("␀");
    expect(visible("\u200b")).toBe("⟨U+200B⟩");
    expect(visible("\ud800")).toBe("⟨U+D800⟩");
    expect(visible("\u0301")).toBe("◌\u0301");
  });

  it("shows characters that would reorder the page instead of obeying them", () => {
    expect(visible("\u202eabc")).toBe("⟨U+202E⟩abc");
  });

  it("leaves scripts and emoji whole", () => {
    for (const text of ["👩‍👩‍👧", "می‌خواهم", "東京", "שלום", "café", "🦄"])
      expect(visible(text)).toBe(text);
  });

  it("recognizes how a vocabulary marks word pieces", () => {
    expect(tokenScheme(["[CLS]", "sit", "##ting"])).toBe("wordpiece");
    expect(tokenScheme(["<s>", "Hello", "Ġworld"])).toBe("byte-level");
    expect(tokenScheme(["▁Hello", "▁world"])).toBe("metaspace");
    expect(tokenScheme(["æķ°åŃ¦"], ["数学"])).toBe("byte-level");
    expect(tokenScheme(["é"], ["é"])).toBe("plain");
    expect(tokenScheme(["##"])).toBe("plain");
  });

  it.each([
    ["##ing", "wordpiece", "##ing", "ing"],
    ["##", "wordpiece", "##", null],
    ["cat", "wordpiece", "cat", null],
    ["Ġthe", "byte-level", "the", null],
    ["æķ°åŃ¦", "byte-level", "数学", null],
    ["Ċ", "byte-level", "⏎", null],
    ["Ġ", "byte-level", "␣", null],
    ["ðŁ¦", "byte-level", "ðŁ¦", "bytes F0 9F A6"],
    ["▁the", "metaspace", "the", null],
    ["▁", "metaspace", "␣", null],
  ] as const)("%s of a %s vocabulary reads %s, %s", (token, scheme, text, word) => {
    expect(tokenLabel(token, scheme)).toEqual({ text, word });
  });

  it("sets the covered text beside a token that does not say it", () => {
    expect(tokenLabel("[UNK]", "wordpiece", "🦄")).toEqual({ text: "[UNK]", word: "🦄" });
    expect(tokenLabel("<unk>", "metaspace", "🦄")).toEqual({ text: "<unk>", word: "🦄" });
    expect(tokenLabel("Ġthe", "byte-level", "the")).toEqual({ text: "the", word: null });
    expect(tokenLabel("paris", "wordpiece", "Paris")).toEqual({ text: "Paris", word: null });
    expect(tokenLabel("ku", "wordpiece", "Kü")).toEqual({ text: "Kü", word: null });
    expect(tokenLabel("##che", "wordpiece", "CHE")).toEqual({ text: "##CHE", word: "CHE" });
    expect(tokenLabel("[CLS]", "wordpiece", "[CLS]")).toEqual({ text: "[CLS]", word: null });
  });

  it("isolates each text and never reads it as markup", () => {
    const host = document.createElement("div");
    render(h(TokenText, tokenLabel("<b>##x</b>", "plain", "שלום")), host);
    expect(host.querySelector("b")).toBeNull();
    expect(host.querySelectorAll(".aw-token > bdi")).toHaveLength(2);
    expect(host.querySelector(".aw-token-text")?.textContent).toBe("<b>##x</b>");
  });
});

it("copies all digits of a number that is selected", () => {
  const root = document.createElement("div");
  const number = document.createElement("span");
  number.dataset.awValue = "0.12345678";
  number.textContent = "0.123";
  const words = document.createElement("p");
  words.textContent = "words";
  root.append(number, words);
  document.body.append(root);
  copyExactValues(root, new AbortController().signal);
  const copy = (node: Node): string | undefined => {
    document.getSelection()?.selectAllChildren(node);
    let text: string | undefined;
    const event = new Event("copy", { bubbles: true, cancelable: true });
    Object.assign(event, {
      clipboardData: { setData: (_: string, value: string) => (text = value) },
    });
    node.dispatchEvent(event);
    return text;
  };
  expect(copy(number)).toBe("0.12345678");
  expect(copy(words)).toBeUndefined();
  root.remove();
});

describe("digits that hold", () => {
  it.each([
    [0.123456, 0.00001, "0.123"],
    [0.123456, 0.0004, "0.123"],
    [0.123456, 0.0006, "0.12"],
    [0.123456, 0.04, "0.1"],
    [0.96, 0.04, "1.0"],
    [0.0001, 0.0003, "<4×10⁻⁴"],
    [0, 0.002, "<0.002"],
    [123.456, 0.4, "123"],
    [3.75542, 0.0004, "3.76"], // not by way of 3.755
    [-2.3456, 0.004, "−2.35"],
    [-2.3456, 0.04, "−2.3"],
  ])("%d, off by %d at most, is written %s", (value, error, text) => {
    expect(formatNumber({ value, error }, 3)).toBe(text);
  });

  it("what is copied is rounded to them, and the rest of the world keeps all digits", () => {
    expect(exact({ value: 0.123456, error: 0.0004 })).toBe("0.123");
    expect(exact(0.123456)).toBe("0.123456");
    expect(exact({ value: 1e-6, error: 0.0004 })).toBe("0");
    expect(roundToError({ value: Number.POSITIVE_INFINITY, error: 0.1 })).toBe(
      Number.POSITIVE_INFINITY,
    );
  });

  it("no printed number is off by more than a unit of its last digit", () => {
    for (let i = 0; i < 2000; i++) {
      const error = 10 ** (-6 + 5 * ((i * 0.618) % 1));
      const truth = (i * 0.754877) % 1;
      const seen = truth + error * Math.sin(i);
      const text = exact({ value: seen, error });
      const unit = 10 ** -(text.split(".")[1]?.length ?? 0);
      expect(Math.abs(Number(text) - truth)).toBeLessThanOrEqual(unit * 1.0001 + 1e-12);
    }
  });
});
