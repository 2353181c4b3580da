// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { headGrid } from "../src/frame/head-grid/head-grid";
import { type Fake, fakeRun } from "./fake";
import { metaOf } from "./runs";

let fake: Fake;
let host: HTMLElement;

/** A grid of so many layers, in room for some of them. */
function gridOf(layers: number): HTMLElement {
  const meta = metaOf(["a", "b"]);
  fake = fakeRun({ ...meta, model: { ...meta.model, n_layers: layers, n_heads: 9 } }, () => {
    throw new Error("Nothing is asked.");
  });
  headGrid(host, fake.context);
  return host.querySelector<HTMLElement>(".aw-grid")!;
}
function scrolledTo(grid: HTMLElement, left: number): readonly boolean[] {
  grid.scrollLeft = left;
  grid.dispatchEvent(new Event("scroll"));
  return ["--aw-before", "--aw-after"].map(
    (name) => Number.parseFloat(grid.style.getPropertyValue(name) || "0") > 0,
  );
}

beforeEach(() => {
  host = document.createElement("div");
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
  vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(300);
  vi.spyOn(Element.prototype, "scrollWidth", "get").mockReturnValue(360);
});
afterEach(() => {
  fake.stop();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("layers out of sight fade on their side, and only there", () => {
  const grid = gridOf(30);
  expect(scrolledTo(grid, 0)).toEqual([false, true]);
  expect(scrolledTo(grid, 30)).toEqual([true, true]);
  expect(scrolledTo(grid, 60)).toEqual([true, false]);
});

test("a grid with layers as rows does not scroll", () => {
  expect(scrolledTo(gridOf(6), 0)).toEqual([false, false]);
});
