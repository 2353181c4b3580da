// @vitest-environment jsdom
import { signal } from "@preact/signals-core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { tree } from "../src/features/tree/view";
import { createMatrix } from "../src/figures/matrix";
import { bar } from "../src/frame/bar";
import { headGrid } from "../src/frame/head-grid/head-grid";
import { createHeadsOff } from "../src/frame/head-grid/off";
import { newMemory } from "../src/frame/ribbon/corner";
import { ribbon } from "../src/frame/ribbon/ribbon";
import { viewsOf } from "../src/frame/tabs";
import * as lazy from "../src/lazy";
import { KernelSource } from "../src/protocol/kernel";
import { PARTS, type Part } from "../src/protocol/meta";
import { readPack } from "../src/protocol/pack";
import { arrayOf } from "../src/protocol/required";
import type { Action, NdArray, Source } from "../src/protocol/types";
import { createState, fit } from "../src/state/state";
import { mount } from "../src/ui/mount";
import { createOverlay, lazyCode, type ViewContext } from "../src/views/contract";
import { heads } from "../src/views/heads/view";
import { sentences } from "../src/views/sentences/view";
import { fakeRun } from "./fake";
import { openPart, paintOf } from "./parts";
import { unfold } from "./unfold";

let host: HTMLElement;
let stop: AbortController;

/** The context of a view of a golden part, once its matrix is there. */
async function contextOf(part: Part): Promise<ViewContext> {
  const source = openPart(part);
  const state = createState({ layer: 1, head: 1, token: 2 });
  state.set(fit(state.get(), source.meta));
  const { context } = fakeRun(source.meta, source.ask, { state });
  const base = { ...context, source, state, act: null, signal: stop.signal };
  const matrix = createMatrix(source, state, { ...base, busy: () => undefined });
  await vi.waitFor(() => expect(matrix.get()).not.toBeNull());
  return { ...base, matrix, overlay: createOverlay() };
}
const tokens = (line: Element): HTMLElement[] => [
  ...line.querySelectorAll<HTMLElement>("[data-token]"),
];
const lines = (): HTMLElement[] => [...host.querySelectorAll<HTMLElement>(".aw-ribbon-line")];

beforeEach(() => {
  lazyCode.value = lazy;
  host = document.createElement("div");
  document.body.append(host);
  stop = new AbortController();
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
});
afterEach(() => {
  stop.abort();
  host.remove();
  vi.unstubAllGlobals();
});

describe("the ribbon of two texts", () => {
  const draw = (context: ViewContext) => ribbon(host, context, { ...newMemory(), tags: false });

  test("paints the source with the row of the focus token, which stands in the target", async () => {
    const context = await contextOf("cross");
    draw(context);
    const [source, target] = lines();
    expect([tokens(source!).length, tokens(target!).length]).toEqual([9, 5]);
    const { weights, keys } = context.matrix.get()!;
    const row = weights.subarray(2 * keys.length, 3 * keys.length);
    expect(tokens(source!).map(({ dataset }) => Number(dataset.awValue))).toEqual([...row]);
    expect(tokens(target!).every(({ dataset }) => dataset.awValue === undefined)).toBe(true);
    expect(tokens(target!)[2]!.getAttribute("aria-pressed")).toBe("true");
  });

  test("pins the link to a source token, by a click and by a key", async () => {
    const context = await contextOf("cross");
    draw(context);
    const [source, target] = lines();
    tokens(source!)[7]!.click();
    expect(context.state.get()).toMatchObject({ token: 2, pair: [2, 7] });
    expect(tokens(source!)[7]!.dataset.awPair).toBe("");
    expect(tokens(target!).every(({ dataset }) => dataset.awPair === undefined)).toBe(true);
    const press = (key: string) =>
      document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    tokens(source!)[7]!.focus();
    press("ArrowRight");
    press("Enter");
    expect(context.state.get().pair).toEqual([2, 8]);
  });

  test("says what a row reads and writes, to the token after the last", async () => {
    const context = await contextOf("cross");
    draw(context);
    const target = tokens(lines()[1]!);
    const { text } = context.source.meta.tokens;
    const titleOf = (i: number): string => {
      target[i]!.dispatchEvent(new Event("pointerover", { bubbles: true }));
      return target[i]!.title;
    };
    expect(titleOf(1)).toContain(`reads ${text[1]}, writes ${text[2]}`);
    expect(titleOf(4)).toContain(`writes ${context.source.meta.next_token}`);
  });

  test("paints both texts on one scale with the numbers of a view", async () => {
    const context = await contextOf("decoder");
    draw(context);
    const [source, target] = lines();
    const values = Float32Array.of(0, 1, -1, 0, 0);
    const above = Float32Array.of(0, 0, 4, 0, 0, 0, 0, 0, 0);
    context.overlay!.painted.value = { values, source: above, verb: "contributes" };
    expect(Number(tokens(source!)[2]!.dataset.awValue)).toBe(4);
    expect(Number(tokens(target!)[2]!.dataset.awValue)).toBe(-1);
    const one = tokens(target!)[1]!.style.backgroundColor;
    context.overlay!.painted.value = { values, verb: "contributes" };
    expect(tokens(target!)[1]!.style.backgroundColor).not.toBe(one);
    expect(tokens(source!)[2]!.dataset.awValue).toBeUndefined();
  });
});

describe("the tree of cross-attention", () => {
  test("goes from a target token to its sources, and on in the encoder", async () => {
    const context = await contextOf("cross");
    context.state.set({ top_k: 2, depth: 2 });
    const drawn = tree(host, context, signal(false));
    const node = (path: string) =>
      host.querySelector<HTMLElement>(`[data-path="${path}"].aw-tree-node`);
    await vi.waitFor(() => expect(host.querySelectorAll(".aw-tree-node")).toHaveLength(7));
    const { rows, columns } = (await drawn.table())!;
    const at = (name: string) => rows.map((row) => row[columns.indexOf(name)]);
    const [first, second, third] = rows;
    expect(at("depth")).toEqual([1, 1, 2, 2, 2, 2]);
    const matrix = context.matrix.get()!;
    const row = [...matrix.weights.subarray(2 * 9, 3 * 9)];
    const best = row.indexOf(Math.max(...row));
    expect(first!.slice(0, 2)).toEqual([2, best]);
    expect(first![columns.indexOf("weight")]).toBe(row[best]);
    expect(second![0]).toBe(2);
    // The encoder's own weights, of the head that it opens with, from that source token on.
    const encoder = openPart("encoder");
    const { layer, head } = encoder.meta.selected!;
    const below = arrayOf(await encoder.ask({ kind: "weights", layer, head }), "weights").data;
    const [parent, token] = third!.slice(0, 2).map(Number) as [number, number];
    expect(parent).toBe(best);
    expect(third![columns.indexOf("weight")]).toBe(below[parent * 9 + token]);
    node(`2/${best}`)!.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(context.state.get()).toMatchObject({ token: 2, pair: [2, best] });
    drawn.dispose();
  });
});

describe("the heads of cross-attention", () => {
  /** Mean over target tokens of the expected source place of head (1, 1), from its weights. */
  async function placeOfHead({ source }: ViewContext): Promise<number> {
    const slice = await source.ask({ kind: "weights", layer: 1, head: 1 });
    const weights = [...arrayOf(slice, "weights").data];
    return weights.reduce((sum, weight, cell) => sum + weight * (cell % 9), 0) / 5;
  }
  const cellOf = (layer: number, head: number): HTMLElement =>
    host.querySelector(`[data-layer="${layer}"][data-head="${head}"]`)!;

  test("are shaded by their alignment, and by nothing that is of one text", async () => {
    const context = await contextOf("cross");
    const dispose = headGrid(host, context);
    const menu = host.querySelector("select")!;
    const offered = [...menu.options].map(({ value }) => value);
    expect(offered).toEqual(expect.arrayContaining(["uniformity", "monotony", "expected_place"]));
    for (const other of ["syntax", "previous", "role"]) expect(offered).not.toContain(other);
    context.state.set({ metric: "expected_place" });
    const place = await placeOfHead(context);
    await vi.waitFor(() => expect(Number(cellOf(1, 1).dataset.awValue)).toBeCloseTo(place, 5));
    // A figure of another part has no meaning here.
    context.state.set({ metric: "syntax" });
    await vi.waitFor(() => expect(context.state.get().metric).toBe("thumbnails"));
    dispose();
  });

  test("have no alignment in the encoder", async () => {
    const context = await contextOf("encoder");
    const dispose = headGrid(host, context);
    const offered = [...host.querySelector("select")!.options].map(({ value }) => value);
    expect(offered).not.toContain("monotony");
    expect(offered).toContain("syntax");
    context.state.set({ metric: "monotony" });
    await vi.waitFor(() => expect(context.state.get().metric).toBe("thumbnails"));
    dispose();
  });

  test("are sorted by it, and exported with it", async () => {
    const context = await contextOf("cross");
    context.state.set({ metric: "monotony" });
    const drawn = heads(host, context);
    unfold(host, "heads");
    expect(host.querySelector("input")?.placeholder).toContain("monotony > 0.3");
    const sorted = () => host.querySelector('th[data-key="monotony"]')?.getAttribute("aria-sort");
    await vi.waitFor(() => expect(sorted()).toBe("descending"));
    const shown = [...host.querySelectorAll<HTMLElement>('td[data-metric="monotony"]')].map(
      ({ dataset }) => Number(dataset.awValue),
    );
    const { data } = arrayOf(await context.source.ask({ kind: "alignment" }), "monotony");
    expect(shown).toEqual([...data].sort((a, b) => b - a));
    expect(new Set(shown).size).toBeGreaterThan(3);
    const { columns, rows } = (await drawn.table())!;
    expect(columns).not.toContain("syntax");
    expect(rows.map((row) => row[columns.indexOf("monotony")])).toEqual([...data]);
    const place = rows[3]![columns.indexOf("expected_place")] as number;
    expect(rows[3]!.slice(0, 2)).toEqual([1, 1]);
    expect(place).toBeCloseTo(await placeOfHead(context), 5);
    drawn.dispose();
  });
});

describe("heads that are switched off", () => {
  test("have their part in front", async () => {
    const cross = await contextOf("cross");
    const acts: Action[] = [];
    const meta = { ...cross.source.meta, heads_off: [["encoder", 1, 2]] as const };
    const off = createHeadsOff({
      ...cross,
      source: { ...cross.source, meta },
      act: async (action) => void acts.push(action),
    });
    mount(host, () => off.View(), stop.signal);
    expect(host.textContent).toContain("encoder L1 · H2 switched off");
    // The head of that place in another part is on.
    expect(off.isOff(1, 2)).toBe(false);
    off.toggle(0, 1);
    const both = [
      ["encoder", 1, 2],
      ["cross", 0, 1],
    ];
    expect(acts).toEqual([{ kind: "switch_off", heads: both }]);
    expect(host.textContent).toContain("encoder L1 · H2, L0 · H1 switched off");
    off.toggle(0, 1);
    expect(acts[1]).toEqual({ kind: "switch_off", heads: [["encoder", 1, 2]] });
  });
});

describe("sentences of two texts", () => {
  // Two of the target by three of the source, whose last token is in none.
  const [TARGET, SOURCE] = [
    [
      [1, 2],
      [3, 4],
    ],
    [
      [0, 1, 2],
      [3, 4],
      [5, 6, 7],
    ],
  ];

  /** Mean over the tokens of a target sentence of their weight on a source sentence, of one head. */
  function masses(weights: ArrayLike<number>): number[] {
    return TARGET.flatMap((rows) =>
      SOURCE.map(
        (columns) =>
          rows.reduce((sum, i) => sum + columns.reduce((of, j) => of + weights[i * 9 + j]!, 0), 0) /
          rows.length,
      ),
    );
  }

  test("are a rectangle, and its tokens make a cell", async () => {
    const cross = await contextOf("cross");
    const kernel = cross.source;
    const weights = arrayOf(
      await kernel.ask({ kind: "weights", layer: 1, head: 1 }),
      "weights",
    ).data;
    const matrix = Float32Array.from(masses(weights));
    const source: Source = {
      ...kernel,
      async ask(request, options) {
        if (request.kind === "sentences") {
          const lists = { texts: ["a b", "c d"], tokens: TARGET, key_tokens: SOURCE };
          return {
            data: { ...lists, key_texts: ["x", "y", "z"], note: null },
            arrays: new Map([["matrix", { data: matrix, shape: [2, 3] }]]),
          };
        }
        if (request.kind !== "drill") return kernel.ask(request, options);
        const [rows, columns] = [TARGET[request.a]!, SOURCE[request.b]!];
        const block = rows.flatMap((i) => columns.map((j) => weights[i * 9 + j]!));
        return {
          data: {},
          arrays: new Map<string, NdArray>([
            ["queries", { data: Int32Array.from(rows), shape: [rows.length] }],
            ["keys", { data: Int32Array.from(columns), shape: [columns.length] }],
            ["weights", { data: Float32Array.from(block), shape: [rows.length, columns.length] }],
          ]),
        };
      },
    };
    const drawn = sentences(host, { ...cross, source });
    const cell = (a: number, b: number): HTMLElement =>
      host.querySelector(`.aw-isa-cell[data-a="${a}"][data-b="${b}"]`)!;
    await vi.waitFor(() => expect(cell(1, 2)).not.toBeNull());
    for (const [a, b] of [
      [0, 2],
      [1, 0],
    ] as const)
      expect(Number(cell(a, b).dataset.awValue)).toBeCloseTo(matrix[a * 3 + b]!, 6);
    expect(host.textContent).toContain("of its attention to source");
    cell(1, 2).click();
    await vi.waitFor(() => expect(host.querySelector('[data-aw-part="drill-sum"]')).not.toBeNull());
    const sums = [
      ...host.querySelectorAll<HTMLElement>('[data-aw-part="drill-sum"] [data-aw-value]'),
    ].map(({ dataset }) => Number(dataset.awValue));
    expect(sums[0]! / 2).toBeCloseTo(matrix[5]!, 6);
    drawn.dispose();
  });
});

describe("what is written", () => {
  test("is here with the pack of cross-attention that has the decoder's in it", async () => {
    const { meta, arrays } = readPack(paintOf("cross"));
    const paint = paintOf("decoder");
    const both = new Map([...arrays, ["decoder", { data: paint, shape: [paint.length] }]] as const);
    const source = new KernelSource({ meta, arrays: both }, async () => {
      throw new Error("The kernel was asked.");
    });
    const decoder = await source.part("decoder");
    expect([decoder.meta.part, decoder.meta.predictions?.mode]).toEqual(["decoder", "next"]);
    await expect(source.part("encoder")).rejects.toThrow("The kernel was asked.");
  });
});

describe("the inside of a part", () => {
  test("is the encoder's", () => {
    for (const part of PARTS)
      expect(viewsOf(openPart(part).meta).includes("inside")).toBe(part === "encoder");
  });
});

describe("the switch of parts", () => {
  test("chooses a part, and is busy until that is shown", async () => {
    const context = await contextOf("cross");
    const actions = { toggleKeys() {}, toggleFullScreen() {} };
    const dispose = bar(host, context, actions);
    const part = (name: Part): HTMLElement => host.querySelector(`[data-part="${name}"]`)!;
    expect(part("cross").getAttribute("aria-pressed")).toBe("true");
    part("encoder").click();
    await vi.waitFor(() =>
      expect(part("encoder").parentElement!.getAttribute("aria-busy")).toBe("true"),
    );
    expect(context.state.get()).toMatchObject({ part: "encoder", layer: 1, head: 1 });
    dispose();
  });
});
