// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { buildLine, directionOf, firstUnits } from "../src/draw/text-line";
import { unitsOf } from "../src/figures/derive/units";
import { createMatrix } from "../src/figures/matrix";
import { newMemory, type RibbonMemory } from "../src/frame/ribbon/corner";
import { ribbon } from "../src/frame/ribbon/ribbon";
import { readTags } from "../src/frame/ribbon/tags";
import type { Action, Meta, Slice, Source } from "../src/protocol/types";
import { createState } from "../src/state/state";
import type { ViewContext } from "../src/views/contract";
import { fakeRun } from "./fake";
import { counting, metaOf } from "./runs";

const TEXTS = ["[CLS]", "Angela", "Mer", "##kel", "sings", "[SEP]"];
const LANGUAGE = {
  data: {
    words: [
      { pos: "PROPN", entity: "PERSON", segment: 0 },
      { pos: "PROPN", entity: "PERSON", segment: 0 },
      { pos: "VERB", entity: null, segment: 0 },
    ],
    token_word: [null, 0, 1, 1, 2, null],
    tagger: "test",
    notes: [],
  },
  arrays: new Map(),
};

const lineOf = (meta: Meta, tagged = false): HTMLElement => {
  const line = document.createElement("div");
  const tags = tagged ? readTags(LANGUAGE) : null;
  line.append(...buildLine(firstUnits(meta, true), meta, tags).nodes);
  return line;
};

describe("the line of tokens", () => {
  test("reads as the text does: pieces together, words apart", () => {
    expect(lineOf(metaOf(TEXTS)).textContent).toBe("[CLS] Angela Merkel sings [SEP]");
  });

  test("writes a character of several byte-level tokens once, in pieces and in words", () => {
    const meta = metaOf(["na", "Ã", "¯ve", "!"]);
    const tokens = {
      ...meta.tokens,
      surface: ["na", "ï", "ïve", "!"],
      before: ["", "", "", ""],
      start: [0, 2, 2, 5],
      end: [2, 3, 5, 6],
    };
    expect(lineOf({ ...meta, tokens }).textContent).toBe("naïve!");
    const words = unitsOf(tokens, { special: true, tokenWord: [0, 0, 0, 1] });
    expect(words.map(({ surface }) => surface)).toEqual(["naïve", "!"]);
    const whole = { ...tokens, surface: ["na", "ï", "ï", "!"], end: [2, 3, 3, 6] };
    expect(lineOf({ ...meta, tokens: whole }).textContent).toBe("naï·!");
  });

  test("keeps the line breaks of the text", () => {
    const meta = metaOf(["a", "b"]);
    const broken = { ...meta, tokens: { ...meta.tokens, before: ["", "\n"] } };
    expect(lineOf(broken).querySelectorAll(".aw-ribbon-break")).toHaveLength(1);
  });

  test("names the segments of a pair", () => {
    const meta = metaOf(["[CLS]", "a", "[SEP]", "b", "[SEP]"], { text_pair: "b" });
    const paired = { ...meta, tokens: { ...meta.tokens, segment: [0, 0, 0, 1, 1] } };
    const names = [...lineOf(paired).querySelectorAll(".aw-segment")];
    expect(names.map(({ textContent }) => textContent)).toEqual(["A", "B"]);
  });

  test("shows a masked token with what stands in the text struck through", () => {
    const meta = metaOf(TEXTS, { masked: [{ token: 4, text: "sings", id: 14 }] });
    const button = lineOf(meta).querySelector('[data-token="4"]')!;
    expect(button.textContent).toBe("[MASK] sings");
    expect(button.querySelector("s")!.textContent).toBe("sings");
    expect(button.hasAttribute("data-aw-masked")).toBe(true);
  });

  test("puts the pieces of a word over its tag and the entity's name where it ends", () => {
    const line = lineOf(metaOf(TEXTS), true);
    const words = [...line.querySelectorAll<HTMLElement>(".aw-word")];
    expect(words.map(({ dataset }) => [dataset.awPos, dataset.awEntity, dataset.awLabel])).toEqual([
      ["PROPN", "PERSON", undefined],
      ["PROPN", "PERSON", "PERSON"],
      ["VERB", undefined, undefined],
    ]);
    expect(words[1]!.textContent).toBe("Merkel");
    // Tags are drawn, not written: the text stays the text.
    expect(line.textContent).toBe("[CLS] Angela Merkel sings [SEP]");
  });

  test("has the direction of its first letter", () => {
    expect(["abc שלום", "12 שלום abc", "مرحبا", "…"].map(directionOf)).toEqual([
      "ltr",
      "rtl",
      "rtl",
      "ltr",
    ]);
  });

  test("keeps closing marks with the word before them, and no others", () => {
    const meta = metaOf(["(", "yes", "!", ")", "no"]);
    const tokens = { ...meta.tokens, before: ["", "", "", "", ""] };
    const held = [...lineOf({ ...meta, tokens }).querySelectorAll(".aw-unbroken")];
    expect(held.map(({ textContent }) => textContent)).toEqual(["yes!)"]);
  });

  test("has no tags where nobody tagged", () => {
    const words = [{ pos: null, entity: null }];
    expect(readTags({ data: { words, token_word: [0] }, arrays: new Map() })).toBeNull();
    expect(readTags({ data: {}, arrays: new Map() })).toBeNull();
  });
});

describe("the ribbon", () => {
  let element: HTMLElement;
  let stop: AbortController;
  let asked: Action[];
  let dispose: () => void;
  let stage: ViewContext;
  let memory: RibbonMemory;
  let language: Slice;

  async function draw(change: Partial<Meta> = {}, acts = true): Promise<void> {
    const meta = metaOf(TEXTS, change);
    const weights = counting([TEXTS.length, TEXTS.length], 0.01);
    const source: Source = {
      meta,
      arrays: new Map(),
      live: false,
      ask: async ({ kind }) =>
        kind === "language" ? language : { data: {}, arrays: new Map([["weights", weights]]) },
    };
    const state = createState();
    const base = {
      source,
      state,
      act: acts
        ? async (action: Action) => {
            asked.push(action);
          }
        : null,
      report: vi.fn(),
      announce: vi.fn(),
      signal: stop.signal,
    };
    stage = { ...base, matrix: createMatrix(source, state, { ...base, busy: () => undefined }) };
    dispose = ribbon(element, stage, memory);
    await vi.waitFor(() => expect(stage.matrix.get()).not.toBeNull());
  }
  const button = (token: number): HTMLElement =>
    element.querySelector<HTMLElement>(`[data-token="${token}"]`)!;
  const press = (token: number, key: string, more: KeyboardEventInit = {}): void => {
    const init = { key, bubbles: true, cancelable: true, ...more };
    button(token).dispatchEvent(new KeyboardEvent("keydown", init));
  };

  beforeEach(() => {
    vi.stubGlobal(
      "ResizeObserver",
      class {
        observe() {}
        disconnect() {}
      },
    );
    element = document.createElement("div");
    document.body.append(element);
    stop = new AbortController();
    asked = [];
    language = LANGUAGE;
    // Tags off: nothing is built again behind a test's back.
    memory = { ...newMemory(), tags: false };
  });
  afterEach(() => {
    dispose();
    stop.abort();
    element.remove();
    vi.unstubAllGlobals();
  });

  test("stands there before the matrix does", async () => {
    const drawing = draw();
    expect(button(4).textContent).toBe("sings");
    await drawing;
  });

  test("keeps its nodes when the selection changes", async () => {
    await draw();
    const before = [...element.querySelectorAll("[data-token]")];
    stage.state.set({ token: 2, layer: 1, head: 2, pair: [2, 4], group: [1] });
    await vi.waitFor(() => expect(stage.matrix.get()!.layer).toBe(1));
    expect([...element.querySelectorAll("[data-token]")]).toEqual(before);
    expect(button(2).getAttribute("aria-pressed")).toBe("true");
    expect(Number(button(4).dataset.awValue)).toBe(Math.fround(16 * 0.01));
  });

  test("gathers tokens by Ctrl + click and by key, and lets them go again", async () => {
    await draw();
    const init = { bubbles: true, ctrlKey: true };
    button(4).dispatchEvent(new MouseEvent("click", init));
    press(1, "Enter", { ctrlKey: true });
    expect(stage.state.get()).toMatchObject({ group: [1, 4], token: null });
    expect(button(4).hasAttribute("data-aw-gathered")).toBe(true);
    press(4, " ", { shiftKey: true });
    expect(stage.state.get().group).toEqual([1]);
    expect(button(4).hasAttribute("data-aw-gathered")).toBe(false);
  });

  test("masks by key, by click with the tool, and adds to what is masked", async () => {
    await draw({ masked: [{ token: 1, text: "Angela", id: 11 }] });
    press(4, "x");
    element.querySelector<HTMLElement>('[data-aw-part="mask"]')!.click();
    button(1).click();
    button(2).click();
    element.querySelector<HTMLElement>('[data-aw-part="unmask"]')!.click();
    expect(asked).toEqual([
      { kind: "mask", tokens: [1, 4] },
      { kind: "mask", tokens: [4] },
      { kind: "mask", tokens: [2, 4] },
      { kind: "mask", tokens: [] },
    ]);
    expect(stage.state.get().token).toBeNull();
  });

  test("masks no special token", async () => {
    await draw();
    press(0, "x");
    expect(asked).toEqual([]);
    expect(stage.announce).toHaveBeenCalledWith("Special tokens are not masked.");
  });

  test("offers no mask where nothing can run", async () => {
    await draw({}, false);
    expect(element.querySelector('[data-aw-part="mask"]')).toBeNull();
    press(4, "x");
    expect(asked).toEqual([]);
  });

  test("asks for tags when they are switched on, and keeps the focus where it was", async () => {
    await draw();
    button(2).focus();
    expect(element.querySelector(".aw-word")).toBeNull();
    element.querySelector<HTMLElement>('[data-aw-part="tags"]')!.click();
    await vi.waitFor(() => expect(memory.tagged).toBe(true));
    expect(element.querySelectorAll(".aw-word[data-aw-pos=PROPN]")).not.toHaveLength(0);
    expect(document.activeElement).toBe(button(2));
    expect(memory.tagged).toBe(true);
  });

  test("says why there are no tags when they are asked for", async () => {
    language = { data: { notes: ["No tagger."] }, arrays: new Map() };
    await draw();
    const toggle = element.querySelector<HTMLElement>('[data-aw-part="tags"]')!;
    toggle.click();
    await vi.waitFor(() => expect(stage.announce).toHaveBeenCalledWith("No tagger."));
    expect(toggle.getAttribute("aria-pressed")).toBe("false");
    expect(toggle.getAttribute("aria-disabled")).toBe("true");
    expect(toggle.title).toBe("No tagger.");
  });

  test("has a part of a long text in the page, and moves it by keys", async () => {
    const meta = metaOf(Array.from({ length: 1200 }, (_, i) => `w${i}`));
    const { context, state } = fakeRun(meta, () => LANGUAGE);
    stage = context;
    const rows = { get: () => null, on: () => undefined, hits: null };
    dispose = ribbon(element, context, memory, rows);
    const shown = (): number[] => {
      const tokens = [...element.querySelectorAll<HTMLElement>("[data-token]")];
      return [tokens[0], tokens.at(-1)].map((token) => Number(token?.dataset.token));
    };
    expect(shown()).toEqual([0, 639]);
    press(130, "PageDown");
    expect(state.get().token).toBe(256);
    press(256, "PageUp");
    expect(state.get().token).toBe(128);
    press(128, "End");
    expect(state.get().token).toBe(1199);
    expect(shown()).toEqual([640, 1199]);
    expect(document.activeElement).toBe(button(1199));
    press(1199, "PageDown");
    expect(state.get().token).toBe(1199);
  });
});
