import { describe, expect, test, vi } from "vitest";
import {
  acceptSelection,
  bindState,
  type Model,
  readActivity,
  readSelection,
} from "../src/state/binding";
import { rememberParts } from "../src/state/saved";
import type { Selection } from "../src/state/selection";
import { createState, fit, withHeight } from "../src/state/state";
import { metaOf } from "./runs";

describe("the selection", () => {
  test("tells listeners of changed keys once, after the whole change is in place", () => {
    const state = createState();
    const seen: [number, unknown][] = [];
    state.on(["layer", "head"], ({ layer, head }) => seen.push([layer, head]));
    state.set({ layer: 2, head: "mean" });
    expect(seen).toEqual([[2, "mean"]]);
  });

  test("says nothing when a value is set to what it is, pairs included", () => {
    const state = createState({ pair: [1, 2] });
    const listener = vi.fn();
    state.on(["pair", "layer"], listener);
    state.set({ pair: [1, 2], layer: 0 });
    expect(listener).not.toHaveBeenCalled();
    state.set({ pair: [2, 1] });
    expect(listener).toHaveBeenCalledTimes(1);
  });

  test("lets a listener stop itself and others while it runs", () => {
    const state = createState();
    const second = vi.fn();
    const stopFirst = state.on(["layer"], () => {
      stopFirst();
      stopSecond();
    });
    const stopSecond = state.on(["layer"], second);
    state.set({ layer: 1 });
    state.set({ layer: 2 });
    expect(second).not.toHaveBeenCalled();
  });

  test("is brought inside a smaller run", () => {
    const state = createState({ layer: 11, head: 7, token: 40, pair: [0, 99] });
    state.set(fit(state.get(), metaOf(["[CLS]", "a", "[SEP]"])));
    expect(state.get()).toMatchObject({ layer: 1, head: 2, token: null, pair: null });
  });

  test("keeps what fits", () => {
    const state = createState({ layer: 1, head: "mean", token: 2, pair: [1, 2] });
    state.set(fit(state.get(), metaOf(["[CLS]", "a", "[SEP]"])));
    expect(state.get()).toMatchObject({ layer: 1, head: "mean", token: 2, pair: [1, 2] });
  });
});

describe("parts of an encoder-decoder", () => {
  const parts = ["encoder", "decoder", "cross"] as const;
  const source = metaOf(["a", "b", "c", "d"], { parts, part: "encoder" });
  const decoder = metaOf(["x", "y", "z"], { parts, part: "decoder" });
  const cross = { ...decoder, keys: source.tokens, part: "cross" } as const;

  test("have a key of the source and a query of the target", () => {
    const state = createState({ token: 2, pair: [2, 3], group: [3], quantity: "rollout" });
    state.set(fit(state.get(), cross));
    expect(state.get()).toMatchObject({
      ...{ part: "cross", token: 2, pair: [2, 3], group: [3], quantity: "weights" },
    });
    state.set(fit({ ...state.get(), pair: [3, 2] }, cross));
    expect(state.get().pair).toBeNull();
  });

  test("keep layer, head and focus; the text that is written has one focus in both of its parts", () => {
    const remember = rememberParts();
    const at = (change: Partial<Selection>): Selection => ({ ...createState().get(), ...change });
    const first = at({ part: "cross", layer: 1, head: 2, token: 2, pair: [2, 3] });
    const encoder = { ...first, ...remember(first, "cross", source) };
    expect(encoder).toMatchObject({ part: "encoder", token: null, pair: null });
    const there = { ...encoder, layer: 0, head: 1, token: 3 };
    const back = { ...there, ...remember(there, "encoder", cross) };
    expect(back).toMatchObject({ part: "cross", layer: 1, head: 2, token: 2, pair: [2, 3] });
    const moved = { ...back, token: 1 };
    expect(remember(moved, "cross", decoder)).toMatchObject({ part: "decoder", token: 1 });
    expect(remember(moved, "decoder", source)).toMatchObject({ layer: 0, head: 1, token: 3 });
  });
});

/** A model of a few traits, as anywidget offers it. */
class FakeModel implements Model {
  saved = 0;
  #listeners = new Map<string, Set<() => void>>();
  constructor(readonly values: Record<string, unknown>) {}
  get = (name: string) => this.values[name];
  set(name: string, value: unknown) {
    this.values[name] = value;
    for (const listener of this.#listeners.get(`change:${name}`) ?? []) listener();
  }
  save_changes() {
    this.saved++;
  }
  on(event: string, listener: () => void) {
    this.#listeners.set(event, (this.#listeners.get(event) ?? new Set()).add(listener));
  }
  off(event: string, listener: () => void) {
    this.#listeners.get(event)?.delete(listener);
  }
  get listening() {
    return [...this.#listeners.values()].reduce((sum, set) => sum + set.size, 0);
  }
}

describe("the selection bound to traits", () => {
  test("starts from the traits and follows them", () => {
    const model = new FakeModel({ layer: 3, head: "mean" });
    const state = bindState(model, new AbortController().signal);
    expect(state.get()).toMatchObject({ layer: 3, head: "mean" });
    model.set("layer", 5);
    expect(state.get().layer).toBe(5);
  });

  test("writes back in one message, and not what came from the kernel", () => {
    const model = new FakeModel({ layer: 0, head: 0, token: null, pair: null });
    const state = bindState(model, new AbortController().signal);
    state.set({ layer: 1, head: 2, pair: [1, 2] });
    expect(model.values).toMatchObject({ layer: 1, head: 2, pair: [1, 2] });
    expect(model.saved).toBe(1);
    model.set("layer", 4);
    expect(model.saved).toBe(1);
  });

  test("knows what the page has set since the kernel did, also to what it was", () => {
    const model = new FakeModel({ layer: 3, head: 2 });
    const state = bindState(model, new AbortController().signal);
    state.set({ layer: 3, head: 2 });
    expect([...state.touched]).toEqual(["layer", "head"]);
    model.set("head", 5);
    expect([...state.touched]).toEqual(["layer"]);
  });

  test("takes the default for a trait that is missing or makes no sense", () => {
    const model = new FakeModel({
      layer: -1,
      head: "all",
      pair: [1],
      theme: "pink",
      special: "yes",
    });
    const state = bindState(model, new AbortController().signal);
    expect(state.get()).toMatchObject({
      layer: 0,
      head: 0,
      pair: null,
      theme: "auto",
      special: true,
    });
  });

  test("leaves what belongs to a run that is not drawn yet, but for its part", () => {
    const model = new FakeModel({ layer: 0, part: "cross" });
    let waits = true;
    const state = bindState(model, new AbortController().signal, () => waits);
    model.set("layer", 5);
    model.set("part", "encoder");
    expect(state.get()).toMatchObject({ layer: 0, part: "encoder" });
    expect(readSelection(model).layer).toBe(5);
    waits = false;
    model.set("layer", 6);
    expect(state.get().layer).toBe(6);
  });

  test("lets go of the model", () => {
    const model = new FakeModel({});
    const life = new AbortController();
    const state = bindState(model, life.signal);
    life.abort();
    expect(model.listening).toBe(0);
    state.set({ layer: 1 });
    expect(model.saved).toBe(0);
  });
});

describe("a height of its own", () => {
  test("is seen by the views, told to them, and never reaches the selection", () => {
    const state = createState({ height: 300 });
    let full: number | null = null;
    const screened = withHeight(state, () => full);
    const seen: (number | null)[] = [];
    const stop = screened.state.on(["height"], ({ height }) => seen.push(height));
    full = 700;
    screened.change();
    state.set({ height: 310 });
    full = null;
    screened.change();
    stop();
    screened.change();
    expect(seen).toEqual([700, 700, 310]);
    expect(state.get().height).toBe(310);
  });
});

describe("what the kernel does", () => {
  const read = (values: Record<string, unknown>) => readActivity(new FakeModel(values));

  test("is read from traits that an older kernel may not have", () => {
    expect(read({})).toEqual({ status: "ready", progress: null, history: [], error: null });
  });

  test("counts only what can be counted", () => {
    expect(read({ progress: { label: "Layers", done: 2, total: 6 } }).progress).toEqual({
      label: "Layers",
      done: 2,
      total: 6,
    });
    expect(read({ progress: { label: "Loading", done: 1, total: 0 } }).progress!.total).toBe(0);
    expect(read({ progress: {} }).progress).toBeNull();
  });

  test("leaves out what is no run, and an error without words", () => {
    const history = [{ text: "a", text_pair: null }, { text: 1 }, null, { text: "b" }];
    expect(read({ history }).history.map(({ text }) => text)).toEqual(["a", "b"]);
    expect(read({ error: {} }).error).toBeNull();
    expect(read({ error: { message: "no" } }).error).toEqual({ message: "no", hint: "" });
  });
});

describe("a stored selection", () => {
  test("is taken as far as it makes sense", () => {
    const stored = { layer: 2, head: "all", view: "tree", nonsense: 1 };
    expect(acceptSelection(stored)).toEqual({ layer: 2, view: "tree" });
    expect(acceptSelection({})).toEqual({});
  });
});
