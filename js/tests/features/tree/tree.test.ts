// @vitest-environment jsdom

import { signal } from "@preact/signals-core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { tree } from "../../../src/features/tree/view";
import { createMatrix } from "../../../src/figures/matrix";
import type { Table } from "../../../src/figures/table";
import { SliceFailure } from "../../../src/protocol/failure";
import type { Selection } from "../../../src/state/selection";
import { mount } from "../../../src/ui/mount";
import type { DisplayPart, ViewContext } from "../../../src/views/contract";
import { fakeRun } from "../../fake";
import { metaOf } from "../../runs";
import { random } from "../../tiny-text";

const TOKENS = ["[CLS]", "<b>cat</b>", "sat", "##ting", "on", "[SEP]"];
const N = TOKENS.length;
const LAYERS = 2;
const HEADS = 3;
const WEIGHTS: Float32Array[] = (() => {
  const next = random(11);
  return Array.from({ length: LAYERS * HEADS }, () => {
    const raw = Array.from({ length: N * N }, () => next() ** 3);
    return Float32Array.from(raw, (value, i) => {
      const row = raw.slice(i - (i % N), i - (i % N) + N);
      return value / row.reduce((a, b) => a + b, 0);
    });
  });
})();

let element: HTMLElement;
/** The view's part of the Display popover. */
let settings: HTMLElement;
let drawn: ReturnType<typeof tree>;
let stop: () => void;

function draw(
  selection: Partial<Selection> = {},
  options: { scores?: "fail" | "none"; texts?: string[]; bare?: boolean; weight?: number } = {},
) {
  const texts = options.texts ?? TOKENS;
  const n = texts.length;
  const meta = metaOf(texts);
  const has = { ...meta.model.has, scores: options.scores !== "none" };
  const run = fakeRun(
    { ...meta, model: { ...meta.model, n_layers: LAYERS, n_heads: HEADS, has } },
    (request) => {
      const { kind, layer, head } = request as unknown as {
        kind: string;
        layer: number;
        head?: number | "mean";
      };
      const data =
        n === N
          ? WEIGHTS[layer * HEADS + (typeof head === "number" ? head : 0)]!
          : new Float32Array(n * n).fill(options.weight ?? 1 / n);
      const shape = [n, n];
      if (kind === "scores") {
        if (options.scores === "fail") throw new SliceFailure("The kernel is gone.");
        return { data: {}, arrays: new Map([["scores", { data: data.map(Math.log), shape }]]) };
      }
      if (kind === "language") {
        return { data: { token_word: [null, 0, 1, 1, 2, null] }, arrays: new Map() };
      }
      return { data: {}, arrays: new Map([["weights", { data, shape }]]) };
    },
    { live: false, selection: { layer: 1, head: 2, view: "tree", ...selection } },
  );
  const { context, source, state, asked } = run;
  stop = run.stop;
  const said = run.reports;
  const events = { ...context, busy: () => undefined };
  const display = signal<DisplayPart | null>(null);
  const stage: ViewContext = { ...context, matrix: createMatrix(source, state, events), display };
  element = document.createElement("div");
  settings = document.createElement("div");
  document.body.append(element);
  drawn = tree(element, stage, signal(options.bare ?? false));
  mount(settings, () => display.value?.View(), context.signal);
  return { state, asked, said };
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
const all = (selector: string): SVGElement[] => [...element.querySelectorAll<SVGElement>(selector)];
const nodes = (): SVGElement[] => all("[data-aw-part=tree-node]");
const at = (path: string): SVGElement => all(`[data-aw-part=tree-node][data-path="${path}"]`)[0]!;
const part = (name: string): HTMLElement =>
  (element.querySelector(`[data-aw-part=${name}]`) ??
    settings.querySelector(`[data-aw-part=${name}]`))!;
const press = (key: string): void => {
  document.activeElement!.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }),
  );
};
const childrenOf = (path: string): number[] =>
  nodes()
    .map(({ dataset }) => dataset.path!)
    .filter((other) => other.startsWith(`${path}/`) && !other.slice(path.length + 1).includes("/"))
    .map((other) => Number(other.split("/").at(-1)));

beforeEach(() => {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(null);
});
afterEach(() => {
  stop();
  drawn.dispose();
  element.remove();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Tokens that are drawn at once: below one that is reached above chance if one below it is, too. */
function drawnOf(weights: Float32Array, root: number, most: number, depth: number): number {
  const visit = (path: readonly number[], above: boolean): number => {
    const at = path.at(-1)!;
    const weightOf = (to: number): number => weights[at * N + to]!;
    const below = Array.from({ length: N }, (_, i) => i)
      .filter((i) => !path.includes(i))
      .sort((a, b) => weightOf(b) - weightOf(a))
      .slice(0, most);
    const isAbove = (to: number): boolean => weightOf(to) > 1.05 / N;
    const leadsOn = path.length === 1 || (above && below.some(isAbove));
    if (path.length > depth || !leadsOn) return 1;
    return below.reduce((sum, to) => sum + visit([...path, to], isAbove(to)), 1);
  };
  return visit([root], true);
}

describe("the view", () => {
  it("draws the tree of the focus token with the weights of the selected head", async () => {
    draw({ token: 2 });
    await settled();
    const row = [...WEIGHTS[5]!.subarray(2 * N, 3 * N)];
    const best = row
      .map((_, i) => i)
      .filter((i) => i !== 2)
      .sort((a, b) => row[b]! - row[a]!);
    expect(childrenOf("2")).toEqual(best.slice(0, 3));
    const third = at(`2/${best[2]}`);
    expect(third.getAttribute("aria-posinset")).toBe("3");
    expect(third.getAttribute("aria-setsize")).toBe("3");
    expect(third.getAttribute("aria-level")).toBe("2");
    const number = third.querySelector(".aw-tree-number")!;
    expect(Number(number.getAttribute("data-aw-value"))).toBe(row[best[2]!]);
    expect(nodes()).toHaveLength(drawnOf(WEIGHTS[5]!, 2, 3, 3));
    expect(part("tree").getAttribute("aria-label")).toContain("sat attends to: layer 1, head 2");
  });

  it("follows layer, head, children, levels, and special tokens", async () => {
    const { state } = draw({ token: 2 });
    await settled();
    const before = childrenOf("2");
    state.set({ layer: 0, head: 0 });
    await settled();
    expect(childrenOf("2")).not.toEqual(before);
    part("top-k").querySelector<HTMLElement>("[aria-label='Fewer children']")!.click();
    part("depth").querySelector<HTMLElement>("[aria-label='Fewer levels']")!.click();
    expect(state.get()).toMatchObject({ top_k: 2, depth: 2 });
    expect(nodes()).toHaveLength(drawnOf(WEIGHTS[0]!, 2, 2, 2));
    state.set({ special: false });
    await settled();
    expect(nodes().some(({ dataset }) => dataset.token === "0" || dataset.token === "5")).toBe(
      false,
    );
  });

  it("leaves special tokens and punctuation out below the root, and says how much they receive", async () => {
    const texts = ["[CLS]", "cat", ",", "sat", ".", "on", "[SEP]"];
    draw({ token: 0, depth: 2 }, { texts, bare: true });
    await settled();
    const shown = () => new Set(nodes().map(({ dataset }) => dataset.token));
    expect(shown()).toEqual(new Set(["0", "1", "3", "5"]));
    expect(part("tree-note").textContent).toContain("with 0.429 of the root");
    const { rows } = (await drawn.table()) as Table;
    expect(new Set(rows.map((row) => row[3]))).toEqual(new Set(["cat", "sat", "on"]));
    part("tree-bare").click();
    expect(shown()).not.toEqual(new Set(["0", "1", "3", "5"]));
    expect(part("tree-note").hidden).toBe(true);
  });

  it("starts at the first word when no token is chosen, and says so", async () => {
    const { state } = draw({ token: null });
    await settled();
    expect(nodes()[0]!.dataset.token).toBe("1");
    expect(part("tree-note").textContent).toContain("No token is chosen");
    state.set({ token: 4 });
    expect(nodes()[0]!.dataset.token).toBe("4");
    expect(part("tree-note").hidden).toBe(true);
  });

  it("keeps hostile tokens text", async () => {
    draw({ token: 1 });
    await settled();
    expect(element.querySelector("b")).toBeNull();
    expect(at("1").querySelector(".aw-tree-label")!.textContent).toBe("<b>cat</b>");
  });

  it("makes a clicked token the root, and goes back", async () => {
    const { state } = draw({ token: 2 });
    await settled();
    const [first] = childrenOf("2");
    at(`2/${first}`).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(state.get().token).toBe(first);
    expect(nodes()[0]!.dataset.path).toBe(String(first));
    expect(document.activeElement).toBe(nodes()[0]);
    const back = part("tree-trail").querySelector<HTMLElement>("button")!;
    expect(back.dataset.token).toBe("2");
    back.click();
    expect(state.get().token).toBe(2);
    expect(part("tree-trail").hidden).toBe(true);
  });

  it("closes and opens a token by its chevron, and keeps it so in another head", async () => {
    const { state } = draw({ token: 2, top_k: 5, depth: 2 });
    await settled();
    const path = `2/${childrenOf("2")[0]}`;
    const chevron = (): Element => at(path).querySelector(".aw-tree-toggle")!;
    chevron().dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(at(path).getAttribute("aria-expanded")).toBe("false");
    expect(childrenOf(path)).toEqual([]);
    expect(state.get().token).toBe(2);
    state.set({ head: 0 });
    await settled();
    expect(at(path).getAttribute("aria-expanded")).toBe("false");
    chevron().dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(childrenOf(path)).toHaveLength(4);
  });

  it("is walked by keys as a tree is, with one stop for Tab", async () => {
    const { state } = draw({ token: 2 });
    await settled();
    const stops = () => nodes().filter((node) => node.getAttribute("tabindex") === "0");
    const here = (): string => (document.activeElement as SVGElement).dataset.path!;
    expect(stops()).toHaveLength(1);
    stops()[0]!.focus();
    const [first, second] = childrenOf("2");
    press("ArrowRight");
    expect(here()).toBe(`2/${first}`);
    press("ArrowLeft");
    expect(document.activeElement!.getAttribute("aria-expanded")).toBe("false");
    press("ArrowDown");
    expect(here()).toBe(`2/${second}`);
    press("ArrowUp");
    press("ArrowRight");
    expect(document.activeElement!.getAttribute("aria-expanded")).toBe("true");
    press("ArrowRight");
    expect(here()).toBe(`2/${first}/${childrenOf(`2/${first}`)[0]}`);
    press("Home");
    expect(here()).toBe("2");
    press("End");
    expect(document.activeElement).toBe(nodes().at(-1));
    expect(stops()).toEqual([document.activeElement]);
    const token = Number((document.activeElement as SVGElement).dataset.token);
    press("Enter");
    expect(state.get().token).toBe(token);
    expect(here()).toBe(String(token));
    press("Backspace");
    expect(state.get().token).toBe(2);
  });

  it("moves the focus to a closed token when what had it is folded away", async () => {
    const { state } = draw({ token: 2 });
    await settled();
    nodes().at(-1)!.focus();
    state.set({ depth: 1 });
    expect((document.activeElement as SVGElement).dataset.path).toBe(nodes().at(-1)!.dataset.path);
  });

  it("shows weight, path product, scaled score and children of a token on a card", async () => {
    draw({ token: 2 });
    await settled();
    const [a] = childrenOf("2");
    const [b] = childrenOf(`2/${a}`);
    at(`2/${a}/${b}`).focus();
    const value = (name: string): number => Number(part(name).dataset.awValue);
    const weight = WEIGHTS[5]![a! * N + b!]!;
    expect(value("tree-weight")).toBe(weight);
    expect(value("tree-product")).toBe(WEIGHTS[5]![2 * N + a!]! * weight);
    expect(value("tree-score")).toBe(Math.fround(Math.log(weight)));
    expect(value("tree-children")).toBe(childrenOf(`2/${a}/${b}`).length);
    expect(part("tree-card").textContent).toContain("1st of 3 children");
    press("Escape");
    expect(element.querySelector<HTMLElement>(".aw-tip")!.hidden).toBe(true);
  });

  it.each([
    ["the mean head", { head: "mean" }, {}, "mean head averages"],
    ["rollout", { quantity: "rollout" }, {}, "rollout mixes"],
    ["words", { words: true }, {}, "a word averages"],
    ["weights alone", {}, { scores: "none" }, "only weights"],
    ["a kernel that is gone", {}, { scores: "fail" }, "The kernel is gone"],
  ] as const)("says why there is no score: %s", async (_, selection, options, why) => {
    const { said } = draw({ token: 2, ...selection }, options);
    await settled();
    nodes()[1]!.focus();
    expect(part("tree-score").textContent).toBe("–");
    expect(part("tree-card").textContent).toContain(why);
    expect(said).toEqual([]);
  });

  it("folds what would be too much to draw, and opens it on request", async () => {
    const texts = Array.from({ length: 12 }, (_, i) => `w${i}`);
    // Above chance, so that every branch would be open.
    const { state } = draw({ token: 0, depth: 1 }, { texts, weight: 1 / 6 });
    await settled();
    part("layout").querySelector<HTMLElement>("[data-layout=force]")!.click();
    state.set({ top_k: 7, depth: 6 });
    expect(nodes()).toHaveLength(1 + 7 + 49);
    expect(part("tree-note").textContent).toContain("Level 3 and below are folded");
    const deep = nodes().find((node) => node.getAttribute("aria-level") === "3")!;
    const chevron = deep.querySelector(".aw-tree-toggle")!;
    chevron.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(nodes()).toHaveLength(57 + 7);
    await expect(drawn.table()).rejects.toThrow("over 20,000 tokens");
  });

  it("stands as one token where there is no other", async () => {
    draw({ token: null }, { texts: ["a"] });
    await settled();
    expect(nodes()).toHaveLength(1);
    expect(part("tree-note").textContent).toContain("nothing else to attend to");
  });

  it("gives every edge away with all digits", async () => {
    draw({ token: 2, depth: 2 });
    await settled();
    const { columns, rows } = (await drawn.table()) as Table;
    expect(columns.join()).toBe("parent,token,parent_token,child_token,depth,weight,product,score");
    expect(rows).toHaveLength(12);
    const [parent, token, parentToken, childToken, depth, weight, product, score] = rows[3]!;
    const [a] = childrenOf("2");
    expect([parent, depth]).toEqual([a, 2]);
    expect([parentToken, childToken]).toEqual([TOKENS[a!], TOKENS[token as number]]);
    expect(weight).toBe(WEIGHTS[5]![a! * N + (token as number)]);
    expect(product).toBe(WEIGHTS[5]![2 * N + a!]! * (weight as number));
    expect(score).toBe(Math.fround(Math.log(weight as number)));
  });

  it("gives away a drawing that needs nothing around it", async () => {
    draw({ token: 2 });
    await settled();
    const copy = drawn.svg!()!;
    expect(copy.querySelectorAll("[tabindex], [role], [class]")).toHaveLength(0);
    const texts = [...copy.querySelectorAll("text")].map(({ textContent }) => textContent);
    expect(texts).toContain("<b>cat</b>");
    expect(texts).toContain("level");
    expect(copy.querySelector("title")!.textContent).toContain("sat attends to");
  });
});
