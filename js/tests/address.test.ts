import { expect, test, vi } from "vitest";
import { foldsIn, fromAddress, keepAddress } from "../src/state/address";
import { createState, withHeight } from "../src/state/state";
import { metaOf } from "./runs";

const META = metaOf(["[CLS]", "the", "cat", "[SEP]"]);

function pageAt(hash: string) {
  const replaceState = vi.fn((data: unknown, _title: string, to?: string) => {
    page.history.state = data;
    if (to !== undefined) page.location.hash = to;
  });
  const page = { location: { hash }, history: { state: null as unknown, replaceState } };
  return page as unknown as Window & typeof page;
}

test("an address names a view, a head and a token; anything else in it is left out", () => {
  expect(fromAddress("#view=tree&layer=1&head=0&token=2")).toEqual({
    view: "tree",
    layer: 1,
    head: 0,
    token: 2,
  });
  expect(fromAddress("#head=mean")).toEqual({ head: "mean" });
  expect(fromAddress("#view=<b>&layer=-1&head=1e9&token=2.5&part=x")).toEqual({});
  expect(fromAddress("")).toEqual({});
});

test("a page opens where its address points, within its run", () => {
  const state = createState({ layer: 0, head: 0 });
  keepAddress(state, META, pageAt("#view=tree&layer=99&token=2"));
  expect(state.get()).toMatchObject({ view: "tree", layer: META.model.n_layers - 1, token: 2 });
});

test("the address follows the reader", () => {
  const state = createState({ layer: 0, head: 0 });
  const page = pageAt("");
  keepAddress(state, META, page);
  expect(page.location.hash).toBe("");
  state.set({ head: "mean", token: 1 });
  expect(page.location.hash).toBe("#view=attention&layer=0&head=mean&token=1");
  state.set({ token: null, view: "heads" });
  expect(page.location.hash).toBe("#view=heads&layer=0&head=mean");
});

test("what is unfolded survives a reload, and the address stays as it is", () => {
  const page = pageAt("");
  const state = createState({ layer: 0, head: 0 });
  keepAddress(state, META, page);
  expect(page.history.replaceState).not.toHaveBeenCalled();
  // As a frame hands it to its views.
  withHeight(state, () => null).state.folds.value = new Set(["roles", "heads"]);
  expect(page.location.hash).toBe("");
  state.set({ token: 1 });
  const again = createState({ layer: 0, head: 0 });
  keepAddress(again, META, page);
  expect([...again.folds.value]).toEqual(["roles", "heads"]);
  again.folds.value = new Set();
  expect(foldsIn(page.history.state).size).toBe(0);
  expect(page.location.hash).toBe("#view=attention&layer=0&head=0&token=1");
});

test("an entry of the history that holds anything else unfolds nothing", () => {
  for (const entry of [null, undefined, 5, "roles", { folds: "roles" }, { folds: { length: 9 } }])
    expect(foldsIn(entry).size).toBe(0);
  expect([...foldsIn({ folds: ["roles", 5, null, "<b>", "x".repeat(99), ["a"]] })]).toEqual([
    "roles",
  ]);
  const many = Array.from({ length: 1e5 }, (_, k) => `part${k}`);
  expect(foldsIn({ folds: many }).size).toBeLessThan(100);
});
