// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { VIEWS } from "../src/catalog/selection";
import * as lazy from "../src/lazy";
import type { Slice } from "../src/protocol/types";
import { createState } from "../src/state/state";
import type { LazyCode, ViewContext, ViewHandle } from "../src/views/contract";
import { metaOf } from "./runs";

const CODE = new Uint8Array([1, 2, 3]);
const ANSWER: Slice = {
  data: {},
  arrays: new Map([["code", { data: CODE, shape: [3] }]]),
};

let failure: typeof import("../src/protocol/failure");
let contract: typeof import("../src/views/contract");
let later: typeof import("../src/views/lazy-views");
let list: typeof import("../src/views");
let tabs: typeof import("../src/frame/tabs");
let drawn: string[];
let gone: string[];
let code: LazyCode;

beforeEach(async () => {
  vi.resetModules(); // what is loaded stays loaded for a page
  failure = await import("../src/protocol/failure");
  contract = await import("../src/views/contract");
  later = await import("../src/views/lazy-views");
  list = await import("../src/views");
  tabs = await import("../src/frame/tabs");
  drawn = [];
  gone = [];
  const draw = (name: string) => (element: HTMLElement) => {
    drawn.push(name);
    element.append(name);
    return { dispose: () => gone.push(name), table: () => null };
  };
  const named = Object.values(VIEWS).filter((view) => "draw" in view);
  code = { ...lazy, ...Object.fromEntries(named.map(({ name }) => [name, draw(name)])) };
});

describe("code that comes later", () => {
  test("is linked once, however often it comes", async () => {
    const link = vi.fn(async () => code);
    later.linkWith(link);
    await Promise.all([later.acceptCode(ANSWER), later.acceptCode(ANSWER)]);
    expect(link).toHaveBeenCalledTimes(1);
    expect(link).toHaveBeenCalledWith(CODE);
    expect(list.drawOf("heads")).toBe((code as unknown as Record<string, unknown>).heads);
  });

  test("of another version is refused in words, and can be asked for again", async () => {
    const link = vi.fn(async (): Promise<LazyCode> => {
      throw new Error("it does not use chunk-A.js");
    });
    later.linkWith(link);
    await expect(later.acceptCode(ANSWER)).rejects.toMatchObject({
      message: expect.stringContaining("different versions of attn_widget"),
      hint: "Run the cell again.",
    });
    expect(list.drawOf("heads")).toBe(null);
    link.mockImplementation(async () => code);
    await later.acceptCode(ANSWER);
    expect(list.drawOf("heads")).toBe((code as unknown as Record<string, unknown>).heads);
  });

  test("that is no code is refused", async () => {
    later.linkWith(async () => code);
    const empty = { data: {}, arrays: new Map() };
    await expect(later.acceptCode(empty)).rejects.toThrow("No code arrived.");
    expect(list.drawOf("heads")).toBe(null);
  });
});

describe("a tab whose code is not here", () => {
  const META = metaOf(["[CLS]", "the", "cat", "[SEP]"]);
  const life = { abort: new AbortController() };
  let ask: ReturnType<typeof vi.fn>;
  let reported: string[];
  let panel: HTMLElement;
  let opened: ReturnType<typeof tabs.openViews>;

  function open(view: string): ReturnType<typeof createState> {
    life.abort = new AbortController();
    reported = [];
    panel = document.createElement("div");
    document.body.replaceChildren(panel);
    const state = createState({ view });
    const stage = {
      source: { meta: META, ask },
      state,
      signal: life.abort.signal,
      announce: (message: string) => reported.push(message),
    } as unknown as ViewContext;
    opened = tabs.openViews(panel, stage);
    return state;
  }
  const open$ = (): { name: string; drawn: ViewHandle | null } => opened.open();
  const button = () => panel.querySelector("button")!;
  afterEach(() => opened.dispose());

  test("says so, asks, and draws when the code has come", async () => {
    ask = vi.fn(async () => ANSWER);
    let finish: (found: LazyCode) => void = () => undefined;
    later.linkWith(() => new Promise((resolve) => (finish = resolve)));
    open("heads");
    expect(panel.textContent).toBe("Loading Heads …");
    expect(panel.getAttribute("aria-busy")).toBe("true");
    expect(open$().drawn).toBe(null);
    await vi.waitFor(() => expect(ask).toHaveBeenCalledTimes(1));
    await Promise.resolve();
    finish(code);
    await vi.waitFor(() => expect(drawn).toEqual(["heads"]));
    expect(panel.textContent).toBe("heads");
    expect(panel.getAttribute("aria-busy")).toBe("false");
    expect(open$().drawn).not.toBe(null);
    opened.dispose();
    expect(gone).toEqual(["heads"]);
  });

  test("is drawn when another widget of the page has got the code", async () => {
    ask = vi.fn(() => new Promise<Slice>(() => undefined));
    open("inside");
    contract.lazyCode.value = code;
    await Promise.resolve();
    expect(drawn).toEqual(["inside"]);
  });

  test("that was left again is not drawn", async () => {
    ask = vi.fn(() => new Promise<Slice>(() => undefined));
    const state = open("heads");
    state.set({ view: "sentences" });
    contract.lazyCode.value = code;
    await Promise.resolve();
    expect(drawn).toEqual(["sentences"]);
    expect(panel.textContent).toBe("sentences");
  });

  test("says why it is not loaded, and tries again", async () => {
    ask = vi.fn(async () => {
      throw new failure.SliceFailure(
        "The kernel is gone: what is loaded stays usable.",
        "Run the cell.",
      );
    });
    later.linkWith(async () => code);
    open("heads");
    await vi.waitFor(() => expect(reported).toHaveLength(1));
    expect(reported[0]).toBe(
      "Heads is not loaded. The kernel is gone: what is loaded stays usable. Run the cell.",
    );
    expect(panel.textContent).toBe(`${reported[0]} Try again`);
    expect(panel.getAttribute("aria-busy")).toBe("false");
    ask.mockImplementation(async () => ANSWER);
    button().click();
    await vi.waitFor(() => expect(drawn).toEqual(["heads"]));
    expect(panel.textContent).toBe("heads");
  });
});
