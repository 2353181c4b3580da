import { expect, test, vi } from "vitest";
import { fromAddress, keepAddress } from "../src/state/address";
import { createState } from "../src/state/state";
import { metaOf } from "./runs";

const META = metaOf(["[CLS]", "the", "cat", "[SEP]"]);

function pageAt(hash: string) {
  const replaceState = vi.fn((_data: null, _title: string, to: string) => {
    page.location.hash = to;
  });
  const page = { location: { hash }, history: { replaceState } };
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
