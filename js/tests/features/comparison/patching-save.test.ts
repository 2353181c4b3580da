// @vitest-environment jsdom
import { expect, test, vi } from "vitest";
import type { Compared, Recovery } from "../../../src/features/comparison/data";
import type { PanelContext } from "../../../src/features/comparison/panels/contract";
import { patching } from "../../../src/features/comparison/panels/patching";
import { createState } from "../../../src/state/state";
import { metaOf } from "../../runs";

const source = { meta: metaOf(["[CLS]", "cat", "[SEP]"]) };

/** The panel over recorded grids; what it offers to save, in turn. */
function opened(recoveries: readonly Recovery[], of: Recovery["of"] = "heads") {
  const element = document.createElement("div");
  const given: unknown[] = [];
  const state = createState();
  patching(element, {
    compared: {
      notes: [],
      reasons: {},
      tokens: [],
      arrays: new Map(),
      recoveries,
    } as unknown as Compared,
    sources: { a: source, b: source },
    states: { a: state, b: state },
    patching: null,
    memory: { patching: true, target: 0, of },
    give: (table: unknown) => given.push(table),
    signal: new AbortController().signal,
  } as unknown as PanelContext);
  return { element, given };
}

test("a page without a grid offers no file, and says how to get one", () => {
  const { element, given } = opened([]);
  expect(given).toEqual(["nothing"]);
  expect(element.textContent).toContain("holds no grid of recovery");
});

test("parts whose grid was not recorded offer no file, nor that of the parts before", async () => {
  const target = { target: {}, names: ["are", "is"] };
  const grid = { of: "heads", source: 1, value: 0, target } as unknown as Recovery;
  const { element, given } = opened([grid], "states");
  await vi.waitFor(() => expect(element.textContent).toContain("was not recorded"));
  expect(given).toEqual(["nothing"]);
});
