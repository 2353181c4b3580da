// @vitest-environment jsdom
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { formatNumber } from "../src/figures/format";
import { headGrid } from "../src/frame/head-grid/head-grid";
import * as lazy from "../src/lazy";
import { arrayOf } from "../src/protocol/required";
import { SavedSource } from "../src/protocol/saved/source";
import { createState, fit } from "../src/state/state";
import { lazyCode } from "../src/views/contract";
import { fakeRun } from "./fake";

// Written by Python (tests/golden/make_page.py).
const [{ chunks }]: readonly [{ chunks: Readonly<Record<string, string>> }] = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../tests/golden/page.json"), "utf8"),
);
const open = () => SavedSource.open((name) => chunks[name] ?? null);

let host: HTMLElement;
let stop: () => void;

/** The grid of a saved page, with all heads or some. */
async function gridOf(selection: object, heads?: readonly number[]) {
  const source = await open();
  if (heads) Object.assign(source.meta.snapshot, { heads });
  const state = createState(selection);
  state.set(fit(state.get(), source.meta));
  const run = fakeRun(source.meta, source.ask, { state });
  stop = run.stop;
  const dispose = headGrid(host, { ...run.context, source });
  return { ...run, source, state, dispose };
}
const offered = (): string[] => [...host.querySelector("select")!.options].map(({ text }) => text);
const values = (): number[] =>
  [...host.querySelectorAll<HTMLElement>(".aw-grid-head")].map(({ dataset }) =>
    Number(dataset.awValue),
  );

beforeEach(() => {
  lazyCode.value = lazy;
  host = document.body.appendChild(document.createElement("div"));
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue({
    createImageData: (width: number, height: number) => ({
      width,
      data: new Uint8Array(4 * width * height),
    }),
    ...{ putImageData() {}, clearRect() {}, drawImage() {}, setTransform() {} },
  } as never);
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
});
afterEach(() => {
  stop();
  host.remove();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe("the grid of heads, shaded by the pinned link", () => {
  test("has the link's weight in every head, and names the largest", async () => {
    const { source, state, dispose } = await gridOf({ pair: [2, 1] });
    expect(offered()).toContain("The pinned link");
    state.set({ metric: "pair" });
    const { n_layers, n_heads } = source.meta.model;
    const expected: number[] = [];
    for (let layer = 0; layer < n_layers; layer++)
      for (let head = 0; head < n_heads; head++) {
        const slice = await source.ask({ kind: "weights", layer, head });
        const { data, shape } = arrayOf(slice, "weights");
        expected.push(data[2 * shape[1]! + 1]!);
      }
    await vi.waitFor(() => expect(values()).toEqual(expected));
    const most = expected.indexOf(Math.max(...expected));
    expect(host.querySelector('[data-aw-part="grid-most"]')?.textContent).toBe(
      `most: L${Math.floor(most / n_heads)} · H${most % n_heads}`,
    );
    // The next two, with their weights.
    const next = expected
      .map((value, i) => ({ value, i }))
      .filter(({ i }) => i !== most)
      .sort((a, b) => b.value - a.value);
    const said = [...host.querySelectorAll('[data-aw-part="grid-next"]')].map((x) => x.textContent);
    expect(said).toEqual(
      next
        .slice(0, 2)
        .map(
          ({ value, i }) => `L${Math.floor(i / n_heads)} · H${i % n_heads} ${formatNumber(value)}`,
        ),
    );
    const { surface: text } = source.meta.tokens;
    const label = host.querySelector(".aw-grid-head")!.ariaLabel ?? "";
    expect(label).toContain(`layer 0, head 0: ${text[2]} → ${text[1]} `);
    // Another link at once; without one the heads are as they open.
    state.set({ pair: [1, 2] });
    await vi.waitFor(() => expect(values()).not.toEqual(expected));
    state.set({ pair: null });
    await vi.waitFor(() => expect(state.get().metric).toBe("thumbnails"));
    expect(offered()).not.toContain("The pinned link");
    dispose();
  });

  test("sums the tokens of a word, as the matrix does", async () => {
    const source = await open();
    const [rows, cols] = [
      [1, 3],
      [0, 2],
    ] as const;
    const slice = await source.ask({ kind: "weights", layer: 1, head: 1 });
    const { data, shape } = arrayOf(slice, "weights");
    const at = (i: number, j: number): number => data[i * shape[1]! + j]!;
    const found = await source.ask({ kind: "pair_weights", rows, cols });
    expect(arrayOf(found, "weights").data[source.meta.model.n_heads + 1]).toBeCloseTo(
      (at(1, 0) + at(1, 1) + at(2, 0) + at(2, 1)) / 2,
      6,
    );
    stop = () => undefined;
  });

  test("tells the weight over a thumbnail", async () => {
    const { source, dispose } = await gridOf({ pair: [2, 1] });
    const cell = host.querySelector<HTMLElement>('[data-layer="1"][data-head="1"]')!;
    cell.dispatchEvent(new Event("pointerover", { bubbles: true }));
    const slice = await source.ask({ kind: "weights", layer: 1, head: 1 });
    const { data, shape } = arrayOf(slice, "weights");
    const value = data[2 * shape[1]! + 1]!;
    const number = formatNumber({ value, error: source.precision.weight(value) });
    const card = host.querySelector(".aw-grid-lens")!;
    await vi.waitFor(() => expect(card.textContent).toContain(`cat → The: ${number}`));
    dispose();
  });

  test("is not offered where the page lacks heads", async () => {
    const { source, state, dispose } = await gridOf({ pair: [2, 1], metric: "pair" }, [0]);
    expect(source.has({ kind: "pair_weights", rows: [0, 1], cols: [0, 1] })).toBe(false);
    expect(offered()).not.toContain("The pinned link");
    await vi.waitFor(() => expect(state.get().metric).toBe("thumbnails"));
    dispose();
  });
});
