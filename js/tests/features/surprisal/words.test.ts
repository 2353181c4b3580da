// @vitest-environment jsdom
import { afterEach, describe, expect, it } from "vitest";
import {
  slicedWords,
  summaryOf,
  tokenValues,
  wordsTable,
} from "../../../src/features/surprisal/data";
import { wordsPart } from "../../../src/features/surprisal/part";
import { placed } from "../../../src/features/surprisal/picture";
import { bare } from "../../../src/features/surprisal/sentence";
import { SliceFailure } from "../../../src/protocol/failure";
import type { Slice } from "../../../src/protocol/types";
import { createOverlay, lazyCode } from "../../../src/views/contract";
import { predictions } from "../../../src/views/predictions/view";
import { type Fake, fakeRun, opened, settled } from "../../fake";
import { metaOf } from "../../runs";

// jsdom lays nothing out.
globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

const TEXTS = ["un", "believ", "able", "cat", "."];
const META = {
  ...metaOf(TEXTS),
  tokens: { ...metaOf(TEXTS).tokens, surface: TEXTS, before: ["", "", "", " ", ""] },
};
const BITS = [Number.NaN, 2, 4, 8, 1];
const answer = (change: object = {}): Slice => ({
  data: { correction: true, masked: false, notes: ["Nothing stands before."], ...change },
  arrays: new Map([
    ["spans", { data: Int32Array.of(0, 3, 3, 5), shape: [2, 2] }],
    ["surprisal", { data: Float32Array.of(Number.NaN, 9.5), shape: [2] }],
    ["entropy", { data: Float32Array.of(Number.NaN, 3), shape: [2] }],
    ["tokens", { data: Float32Array.from(BITS), shape: [5] }],
  ]),
});

describe("the words of a slice", () => {
  const words = slicedWords(answer(), META.tokens);
  it("join their tokens", () => {
    expect(words.rows.map(({ text, tokens }) => [text, tokens])).toEqual([
      ["unbelievable", [Number.NaN, 2, 4]],
      ["cat.", [8, 1]],
    ]);
    expect(wordsTable(words).rows).toEqual([
      [0, "unbelievable", 0, 3, null, null],
      [1, "cat.", 3, 2, 9.5, 3],
    ]);
  });
  it("tone each token, or a word whose tokens are joined once", () => {
    expect([...tokenValues(words, 6, false)]).toEqual([NaN, NaN, NaN, 9.5, 9.5, NaN]);
    expect([...tokenValues(words, 6, true)]).toEqual([NaN, 0, 0, 9.5, 0, NaN]);
  });
  it("have no mean where only one has a surprisal", () => {
    expect(summaryOf(words)).toBeNull();
    const [first, second] = words.rows as [(typeof words.rows)[0], (typeof words.rows)[0]];
    const summary = summaryOf({ rows: [{ ...first, bits: 1.5 }, second], masked: true });
    expect([summary?.most.text, summary?.mean]).toEqual(["cat.", 5.5]);
    const later = { ...second, first: 5, bits: 2.5 };
    const early = { ...first, bits: 30 };
    const next = summaryOf({ rows: [early, second, later], masked: false });
    expect([next?.most.text, next?.mean, next?.count]).toEqual(["cat.", 6, 2]);
  });
  it("do not count where nobody wrote them", () => {
    const [first, second] = words.rows as [(typeof words.rows)[0], (typeof words.rows)[0]];
    const rows = [30, 9.5, 2.5].map((bits, i) => ({ ...second, first: 2 + i, bits }));
    const added = { ...first, boilerplate: true, bits: 99 };
    const summary = summaryOf({ rows: [added, ...rows.slice(1)], masked: true });
    expect([summary?.most.bits, summary?.count]).toEqual([9.5, 2]);
    const boilerplate = META.tokens.text.map((_, i) => i < 3);
    const tokens = { ...META.tokens, boilerplate };
    expect(slicedWords(answer(), tokens).rows.map((row) => row.boilerplate)).toEqual([true, false]);
  });
  it("are named without the marks around them", () => {
    expect(["“cat,”", "don't", "…"].map(bare)).toEqual(["cat", "don't", "…"]);
  });
  it("stand in lines that are as wide as the view", () => {
    const rows = Array.from({ length: 4 }, (_, i) => ({ ...words.rows[1]!, first: i }));
    const places = placed(rows, 100, () => 30);
    expect(places.map(({ x, line }) => [x, line])).toEqual([
      [0, 0],
      [40, 0],
      [0, 1],
      [40, 1],
    ]);
  });
});

let run: Fake;
let element: HTMLElement;
let handle: ReturnType<typeof predictions> | null = null;

async function draw(of: () => Slice, change: Parameters<typeof fakeRun>[2] = {}): Promise<void> {
  lazyCode.value = { addToPredictions: wordsPart } as unknown as typeof lazyCode.value;
  run = fakeRun(
    META,
    (request) => {
      if (request.kind === "word_surprisal") return of();
      throw new SliceFailure("Nothing else.", "");
    },
    change,
  );
  element = document.createElement("div");
  document.body.append(element);
  handle = opened(predictions, element, run, run.context);
  for (let i = 0; i < 4; i++) await settled();
}
afterEach(() => {
  handle?.dispose();
  element?.remove();
  lazyCode.value = null;
});
const part = (name: string) => element.querySelector<HTMLElement>(`[data-aw-part='${name}']`);
const button = (unit: string) => element.querySelector<HTMLElement>(`[data-unit=${unit}]`);
async function press(unit: string): Promise<void> {
  button(unit)?.click();
  for (let i = 0; i < 4; i++) await settled();
}

describe("words in the view Predictions", () => {
  it("are asked for when they are wanted, and stand in place of the tokens", async () => {
    const overlay = createOverlay();
    await draw(answer, { overlay });
    expect(run.asked.some(({ kind }) => kind === "word_surprisal")).toBe(false);
    expect(overlay.painted.value).toBeNull();
    await press("words");
    const cells = [...(part("words")?.querySelectorAll("tbody tr") ?? [])];
    expect(cells.map((row) => row.textContent)).toEqual([
      "unbelievable––",
      expect.stringContaining("cat.9.503.00"),
    ]);
    expect(cells[1]?.textContent).toContain("+ 0.50 end");
    expect(element.textContent).toContain("Nothing stands before.");
    expect(element.querySelector(".aw-predictions-list")?.closest("[hidden]")).not.toBeNull();
    expect(Array.from(overlay.painted.value?.values ?? [])[3]).toBe(9.5);
    expect((await handle?.table())?.columns[1]).toBe("word");
    expect(handle?.svg?.()?.querySelectorAll("text").length).toBe(4);
    part("words")?.querySelector<HTMLElement>("[data-token='3']")?.click();
    expect(run.state.get().token).toBe(3);
    await press("tokens");
    expect(overlay.painted.value).toBeNull();
    expect(handle?.svg?.()).toBeNull();
    expect(element.querySelector(".aw-predictions-list")?.closest("[hidden]")).toBeNull();
  });

  it("say the word that surprises most, against the mean", async () => {
    const two = answer();
    const arrays = new Map(two.arrays).set("surprisal", {
      data: Float32Array.of(1, 9.5),
      shape: [2],
    });
    await draw(() => ({ ...two, arrays, data: { ...two.data, masked: true } }));
    await press("words");
    expect(part("sentence")?.textContent).toBe(
      "With each word hidden in turn, no word stands out; cat surprises the model most: 9.5 bits, against 5.3 bits on average over 2 words.",
    );
  });

  it("leave the ribbon when the view goes", async () => {
    const overlay = createOverlay();
    await draw(answer, { overlay });
    await press("words");
    expect(overlay.painted.value).not.toBeNull();
    handle?.dispose();
    handle = null;
    expect(overlay.painted.value).toBeNull();
  });

  it("are not offered where a page has none", async () => {
    await draw(answer, { live: false, has: () => false });
    expect(part("by-word")).toBeNull();
    expect(handle?.svg).toBeUndefined();
  });

  it("say why there are none, and ask again", async () => {
    let fails = true;
    await draw(() => {
      if (fails) throw new SliceFailure("No words.", "Later.");
      return answer();
    });
    await press("words");
    expect(element.textContent).toContain("No words.");
    fails = false;
    element.querySelector<HTMLElement>(".aw-heads-again")?.click();
    for (let i = 0; i < 4; i++) await settled();
    expect(part("words")).not.toBeNull();
  });
});
