// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { images as feature } from "../../../src/features/images";
import { askRows, runsOf } from "../../../src/features/images/data";
import {
  placeOf,
  regionFilled,
  regionOf,
  specialTokens,
  stepFrom,
  tokenAt,
  tokensIn,
  tokenUnder,
} from "../../../src/features/images/geometry";
import { edgesBetween } from "../../../src/features/images/groups";
import { thumbLayout, thumbsSize } from "../../../src/features/images/layout";
import { modelOf } from "../../../src/features/images/model";
import { fillPatches, grounded, overlayWords } from "../../../src/features/images/paint";
import { picture } from "../../../src/features/images/picture";
import { shownOf } from "../../../src/features/images/shown";
import { pictureTable } from "../../../src/features/images/table";
import { valuesFrom } from "../../../src/features/images/values";
import { images } from "../../../src/features/images/view";
import type { Matrix } from "../../../src/figures/matrix";
import type { Meta, NdArray, Slice, SliceRequest } from "../../../src/protocol/types";
import { createOverlay, type ViewContext } from "../../../src/views/contract";
import { type Fake, fakeRun, settled } from "../../fake";
import { fieldsOf, metaOf } from "../../runs";

// jsdom lays nothing out.
globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

/** 2 x 3 patches of 10 px behind [CLS] and [REG0]. */
const GRID = { rows: 2, columns: 3, width: 30, height: 20, first: 2 };
const NAMES = ["[CLS]", "[REG0]", "r1 c1", "r1 c2", "r1 c3", "r2 c1", "r2 c2", "r2 c3"];
const [LAYERS, HEADS, N] = [2, 3, NAMES.length];

const META: Meta = {
  ...metaOf(NAMES, { image: GRID, wordless: true }),
  tokens: { ...metaOf(NAMES).tokens, special: NAMES.map((_, i) => i < GRID.first) },
};
const RECTS = Float32Array.from({ length: 4 * N }, (_, i) => {
  const at = placeOf(GRID, Math.floor(i / 4));
  return at === null ? Number.NaN : ([10 * at.column, 10 * at.row, 10, 10][i % 4] ?? 0);
});

/** Weights of a head: every row is `(query + key + head) % n`, of sum 1. */
const weight = (index: number, query: number, key: number): number =>
  ((query + key + index) % N) / ((N * (N - 1)) / 2);

const f32 = (shape: readonly number[], at: (i: number) => number): NdArray => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => at(i)),
  shape,
});

function rowsFor(tokens: readonly number[]): NdArray {
  return f32(
    [LAYERS, HEADS, N],
    (i) =>
      tokens.reduce((sum, token) => sum + weight(Math.floor(i / N), token, i % N), 0) /
      tokens.length,
  );
}

const slice = (data: Slice["data"], arrays: Readonly<Record<string, NdArray>> = {}): Slice => ({
  data,
  arrays: new Map(Object.entries(arrays)),
});

const PATTERNS = ["self", "near", "far", "row", "column", "special"];

function answer(
  request: SliceRequest,
  { clear = true, together = true, type = "image/png" } = {},
): Slice {
  const { kind, token, tokens, layer, head, rows } = fieldsOf(request);
  switch (kind) {
    case "image":
      return slice(
        { type, width: GRID.width, height: GRID.height },
        {
          bytes: { data: new Uint8Array([1, 2]), shape: [2] },
          rects: { data: RECTS, shape: [N, 4] },
        },
      );
    case "patch_rows":
      return slice({}, { rows: rowsFor((tokens as number[]) ?? [token as number]) });
    case "patch_patterns":
      return slice(
        {
          names: PATTERNS,
          best: [1, 2],
          clear,
          together,
          upper: true,
          alike: 0.84,
          alike_chance: 0.55,
        },
        {
          patterns: f32([LAYERS, HEADS, 6], (i) => (i % 6) / 15),
          chance: f32([6], () => 1 / 6),
          groups: { data: new Uint8Array(LAYERS * HEADS * N), shape: [LAYERS, HEADS, N] },
        },
      );
    case "weights": {
      const [from, to] = (rows as [number, number]) ?? [0, N];
      const index = Number(layer) * HEADS + Number(head);
      return slice(
        {},
        {
          weights: f32([to - from, N], (i) => weight(index, from + Math.floor(i / N), i % N)),
        },
      );
    }
    default:
      throw new Error(`unexpected ${String(kind)}`);
  }
}

/** The matrix of layer 0, head 1. */
const units = NAMES.map((text, token) => ({
  ...{ token, end: token + 1, text, surface: text, segment: 0, special: token < GRID.first },
}));
const MATRIX = {
  ...{ layer: 0, head: 1, quantity: "weights", queries: units, keys: units },
  weights: f32([N, N], (i) => weight(1, Math.floor(i / N), i % N)).data as Float32Array,
  ...{ scores: null, allowed: null, max: 1, wordMax: 1, received: new Float32Array(N) },
  queryOf: (token: number | null) => token ?? -1,
  keyOf: (token: number | null) => token ?? -1,
} as unknown as Matrix;

let run: Fake;
let host: HTMLElement;

beforeEach(() => {
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(null);
  vi.stubGlobal("createImageBitmap", async () => ({ width: GRID.width, height: GRID.height }));
  host = document.createElement("div");
  document.body.replaceChildren(host);
});
afterEach(() => {
  run?.stop();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const matrix: ViewContext["matrix"] = {
  get: () => MATRIX,
  on(listener) {
    listener(MATRIX);
    return () => undefined;
  },
};
const part = (name: string): HTMLElement | null => host.querySelector(`[data-aw-part="${name}"]`);
const textOf = (name: string): string => part(name)?.textContent ?? "";
const stage = (): HTMLElement => part("picture") as HTMLElement;

async function draw(
  options: { clear?: boolean; together?: boolean; type?: string } = {},
  change: Parameters<typeof fakeRun>[2] = {},
): Promise<void> {
  run = fakeRun(META, (request) => answer(request, options), {
    selection: { layer: 0, head: 1 },
    ...change,
  });
  const context = { ...run.context, matrix };
  const text = document.createElement("div");
  const view = document.createElement("div");
  host.append(text, view);
  picture(text, context);
  images(view, context);
  await settled();
  await settled();
  stage().getBoundingClientRect = () => new DOMRect(0, 0, 300, 200);
}

/** A pointer event at a patch, whose place in the picture is drawn ten times as large. */
function point(type: string, row: number, column: number): void {
  const at = { clientX: 100 * column + 50, clientY: 100 * row + 50, bubbles: true, button: 0 };
  const event = new MouseEvent(type, at);
  stage().dispatchEvent(Object.assign(event, { pointerId: 1, pointerType: "mouse" }));
}
const press = (key: string, more: KeyboardEventInit = {}): void =>
  void part("patch")?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more }));

describe("the grid of patches", () => {
  it("numbers patches row by row from the first one on", () => {
    expect(placeOf(GRID, 2)).toEqual({ row: 0, column: 0 });
    expect(placeOf(GRID, 7)).toEqual({ row: 1, column: 2 });
    expect([0, 1, 8].map((token) => placeOf(GRID, token))).toEqual([null, null, null]);
    expect(tokenAt(GRID, { row: 1, column: 1 })).toBe(6);
    expect(specialTokens(GRID, N)).toEqual([0, 1]);
  });

  it("knows the region that tokens fill", () => {
    expect(regionFilled(GRID, [2, 3, 5, 6])).toEqual({ rows: [0, 1], columns: [0, 1] });
    expect(regionFilled(GRID, [4])).toEqual({ rows: [0, 0], columns: [2, 2] });
    for (const others of [[], [0], [0, 2], [2, 3, 6], [2, 4]])
      expect(regionFilled(GRID, others)).toBeNull();
  });

  it("spans a region between two patches in any order", () => {
    const region = regionOf({ row: 1, column: 0 }, { row: 0, column: 1 });
    expect(tokensIn(GRID, region)).toEqual([2, 3, 5, 6]);
  });

  it("moves by keys and stays inside", () => {
    const at = { row: 0, column: 2 };
    expect(stepFrom(GRID, at, "ArrowRight")).toEqual(at);
    expect(stepFrom(GRID, at, "ArrowDown")).toEqual({ row: 1, column: 2 });
    expect(stepFrom(GRID, at, "Home")).toEqual({ row: 0, column: 0 });
    expect(stepFrom(GRID, at, "x")).toBeNull();
  });

  it("finds the patch at a point, and none beside them", () => {
    expect(tokenUnder(GRID, RECTS, 25, 15)).toBe(7);
    expect(tokenUnder(GRID, RECTS, 31, 15)).toBeNull();
  });
});

describe("rows of all heads", () => {
  const { signal } = new AbortController();

  it("come by one request from a kernel", async () => {
    const { source, asked } = fakeRun(META, (request) => answer(request));
    const { rows } = await askRows(source, [2, 3], signal);
    expect(asked).toEqual([{ kind: "patch_rows", tokens: [2, 3] }]);
    expect(rows).toEqual(rowsFor([2, 3]));
  });

  it("are the same out of the matrices of a saved page", async () => {
    const has = ({ kind }: SliceRequest) => kind === "weights";
    const { source, asked } = fakeRun(META, (request) => answer(request), { live: false, has });
    const { rows } = await askRows(source, [2, 3, 6], signal);
    const expected = rowsFor([2, 3, 6]).data;
    for (const [i, value] of rows.data.entries()) expect(value).toBeCloseTo(expected[i] ?? 0, 6);
    expect(asked.slice(0, 2)).toEqual([
      { kind: "weights", layer: 0, head: 0, rows: [2, 4] },
      { kind: "weights", layer: 0, head: 0, rows: [6, 7] },
    ]);
  });

  it("lack the heads that a page has not saved, and so does the table", async () => {
    const has = (request: SliceRequest) =>
      request.kind === "weights" && fieldsOf(request).layer === 0;
    const { source } = fakeRun(META, (request) => answer(request), { live: false, has });
    const found = await askRows(source, [2], signal);
    expect(found.rows.data.subarray(HEADS * N).every(Number.isNaN)).toBe(true);
    const table = pictureTable(found, GRID, (token) => NAMES[token] ?? "");
    expect(table.rows).toHaveLength(HEADS * N);
    expect(table.rows[7]).toEqual([0, 0, 7, "r2 c3", 2, 3, expect.closeTo(weight(0, 2, 7), 6)]);
    expect(table.rows[0]?.slice(4, 6)).toEqual([null, null]);
  });

  it("are read in runs of tokens", () => {
    expect(runsOf([2, 3, 5, 6, 7])).toEqual([
      [2, 4],
      [5, 8],
    ]);
  });
});

describe("values of the matrix on screen", () => {
  it("are means over the rows of a region", () => {
    const values = valuesFrom(MATRIX, [2, 4], N);
    const mean = (key: number) => (weight(1, 2, key) + weight(1, 4, key)) / 2;
    for (const key of NAMES.keys()) expect(values?.[key]).toBeCloseTo(mean(key), 6);
  });

  it("are absent of a token that is not shown", () => {
    expect(valuesFrom({ ...MATRIX, queryOf: () => -1 }, [0], N)).toBeNull();
  });
});

describe("the colors of the picture", () => {
  it("become more opaque and move evenly with the weight", () => {
    for (const mode of ["light", "dark"] as const) {
      const alpha = Array.from(overlayWords(mode), (word) => word >>> 24);
      expect(alpha.every((value, i) => i === 0 || value >= (alpha[i - 1] ?? 0))).toBe(true);
    }
  });

  it("are those of the values; a patch without one is clear", () => {
    const pixels = new Uint32Array(6);
    const values = [0, 0, 0, 0.5, 1, 2, Number.NaN, 0.25];
    fillPatches(pixels, 0, 3, GRID, values, 1, { scale: "sqrt", mode: "light", signed: false });
    const words = overlayWords("light");
    expect([...pixels]).toEqual([words[0], words[180], words[255], words[255], 0, words[128]]);
  });

  it("lie on grays of the picture's lightness", () => {
    const bytes = new Uint8ClampedArray([255, 255, 255, 255, 0, 0, 0, 255]);
    grounded(bytes, "dark");
    expect([...bytes]).toEqual([150, 150, 150, 255, 14, 14, 14, 255]);
  });
});

describe("the thumbnails", () => {
  it("have layers along the longer side", () => {
    const wide = thumbLayout(900, { layers: 12, heads: 6, ratio: 1 });
    const narrow = thumbLayout(366, { layers: 12, heads: 6, ratio: 1 });
    expect([wide.side, narrow.side]).toEqual([true, false]);
    for (const layout of [wide, narrow]) {
      expect(thumbsSize(layout).width).toBeLessThanOrEqual(layout === wide ? 870 : 336);
      expect(layout.width).toBeGreaterThan(34);
    }
  });

  it("keep the shape of the picture", () => {
    const { width, height } = thumbLayout(900, { layers: 12, heads: 12, ratio: 2 });
    expect(width / height).toBeCloseTo(2, 1);
  });
});

describe("the picture", () => {
  it("stands for the text of images alone", () => {
    const available = feature.views?.[0]?.available;
    expect(available?.(META)).toBe(true);
    expect(available?.(metaOf(["a", "b"]))).toBe(false);
    run = fakeRun(metaOf(["a"]), (request) => answer(request));
    feature.insteadOfText?.(host, run.context);
    expect(host.className).toBe("");
  });

  it("opens on what the first special token looks at, in every head by one request", async () => {
    await draw();
    expect(textOf("picture-title")).toBe("What [CLS] looks at · L0 · H1");
    const kinds = run.asked.map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(["image", "patch_patterns", "patch_rows"]);
    expect(host.querySelectorAll('[data-aw-part="thumb"]')).toHaveLength(LAYERS * HEADS);
    expect(textOf("picture-legend")).toContain("by square root");
  });

  it("is not decoded unless it is a PNG, a JPEG or a WebP", async () => {
    await draw({ type: "image/svg+xml" });
    expect(run.reports).toEqual(["The picture is no PNG, JPEG or WebP."]);
  });

  it("shows what a patch looks at while it is pointed at, and keeps it after a click", async () => {
    await draw();
    point("pointermove", 1, 2);
    expect(textOf("picture-title")).toContain("What r2 c3 looks at");
    expect(textOf("picture-readout")).toContain("[CLS] gives r2 c3");
    expect(run.state.get().token).toBeNull();
    point("click", 1, 2);
    expect(run.state.get().token).toBe(7);
    point("pointermove", 0, 0);
    expect(textOf("picture-title")).toContain("What r2 c3 looks at");
    expect(textOf("picture-readout")).toContain("r2 c3 gives r1 c1");
    point("click", 1, 2);
    expect(run.state.get().token).toBeNull();
  });

  it("shows the mean of a region that is drawn, and takes it away by Escape", async () => {
    await draw();
    point("pointerdown", 0, 0);
    point("pointermove", 1, 1);
    point("pointerup", 1, 1);
    point("click", 1, 1);
    expect(textOf("picture-title")).toContain("Mean of 4 patches");
    await settled();
    expect(run.asked.at(-1)).toEqual({ kind: "patch_rows", tokens: [2, 3, 5, 6] });
    expect(run.state.get()).toMatchObject({ token: null, group: [2, 3, 5, 6] });
    press("Escape");
    expect(run.state.get().group).toEqual([]);
    expect(textOf("picture-title")).toContain("What [CLS] looks at");
  });

  it("moves over patches by arrows and extends a region with Shift", async () => {
    await draw({}, { selection: { layer: 0, head: 1, token: 2 } });
    press("ArrowRight");
    expect(run.state.get().token).toBe(3);
    press("ArrowDown", { shiftKey: true });
    press("ArrowRight", { shiftKey: true });
    expect(textOf("picture-title")).toContain("Mean of 4 patches");
    expect(run.said.at(-1)).toBe("Mean of 4 patches.");
    expect(part("patch")?.getAttribute("aria-label")).toMatch(/^Row 2 of 2, column 3 of 3; r2 c3/);
    press("ArrowLeft");
    expect(run.state.get().token).toBe(6);
  });

  it("takes a region away where a token is chosen elsewhere", async () => {
    await draw();
    point("pointerdown", 0, 0);
    point("pointermove", 0, 2);
    point("pointerup", 0, 2);
    point("click", 0, 2);
    expect(textOf("picture-title")).toContain("Mean of 3 patches");
    run.state.set({ token: 5 });
    expect(textOf("picture-title")).toContain("What r2 c1 looks at");
    point("click", 0, 0);
    expect(run.state.get()).toMatchObject({ token: 2, group: [] });
  });

  it("shows the mean of tokens that were gathered elsewhere, in any order", async () => {
    await draw();
    run.state.set({ group: [7, 2, 7] });
    expect(textOf("picture-title")).toContain("Mean of 2 patches");
    await settled();
    expect(run.asked.at(-1)).toEqual({ kind: "patch_rows", tokens: [2, 7] });
    run.state.set({ group: [0, 2] });
    expect(textOf("picture-title")).toContain("Mean of 2 tokens");
    point("click", 0, 0);
    expect(run.state.get()).toMatchObject({ token: null, group: [] });
  });

  it("is shown in its own colors on demand", async () => {
    await draw();
    const model = modelOf(run.context);
    expect(shownOf(model).values).not.toBeNull();
    part("overlay")?.click();
    expect(shownOf(model).values).toBeNull();
    expect(part("overlay")?.getAttribute("aria-pressed")).toBe("false");
  });

  it("has special tokens as buttons with what they get", async () => {
    await draw();
    const chips = host.querySelectorAll<HTMLElement>('[data-aw-part="special"]');
    expect([...chips].map(({ textContent }) => textContent)).toEqual(["[CLS]3.6%", "[REG0]7.1%"]);
    chips[1]?.click();
    expect(run.state.get().token).toBe(1);
    expect(textOf("picture-title")).toContain("What [REG0] looks at");
  });

  it("shows the numbers of a view that paints the text, such as contributions", async () => {
    const overlay = createOverlay();
    await draw({}, { overlay });
    overlay.painted.value = { values: NAMES.map((_, i) => (i - 4) / 10), verb: "contributes" };
    expect(textOf("picture-title")).toBe("What each patch contributes");
    expect(textOf("picture-legend")).toBe("−0.300+0.300");
    point("pointermove", 1, 2);
    expect(textOf("picture-readout")).toBe("r2 c3 contributes +0.300");
    expect(host.innerHTML).not.toContain("× chance");
    overlay.painted.value = null;
    expect(textOf("picture-title")).toContain("looks at");
  });

  it("chooses a head by its thumbnail and shows it while it is pointed at", async () => {
    await draw();
    const thumb = host.querySelector<HTMLElement>('[data-layer="1"][data-head="2"]');
    thumb?.dispatchEvent(new MouseEvent("pointerover", { bubbles: true }));
    expect(textOf("picture-title")).toContain("L1 · H2");
    expect(run.state.get().layer).toBe(0);
    thumb?.click();
    expect([run.state.get().layer, run.state.get().head]).toEqual([1, 2]);
  });
});

describe("the sentence", () => {
  it("names the head that divides the picture most clearly, with its share against chance", async () => {
    await draw();
    expect(textOf("sentence")).toBe(
      "Of L1, L1 · H2 divides the picture most clearly by what [CLS] looks at, compared with an even and a random picture: " +
        "84% of neighboring patches share a group, 55% in any order. It is no segmentation.",
    );
    part("sentence")?.querySelector("button")?.click();
    expect([run.state.get().layer, run.state.get().head]).toEqual([1, 2]);
  });

  it("shows the border of the two groups while its head is pointed at", async () => {
    await draw();
    const head = part("sentence")?.querySelector("button");
    head?.dispatchEvent(new Event("focus"));
    expect(shownOf(modelOf(run.context)).divided).toHaveLength(N);
    head?.dispatchEvent(new Event("blur"));
    expect(shownOf(modelOf(run.context)).divided).toBeNull();
    expect(edgesBetween(GRID, [9, 9, 1, 0, 0, 1, 1, 0])).toEqual([
      [1, 0, 1, 1],
      [1, 1, 2, 1],
      [2, 1, 2, 2],
    ]);
  });

  it("is silent where no head is above chance", async () => {
    await draw({ clear: false });
    expect(part("sentence")?.hidden).toBe(true);
  });

  it("says of a picture of nothing that no head is named", async () => {
    await draw({ clear: false, together: false });
    expect(textOf("sentence")).toBe(
      "Neighboring patches of this picture are hardly more alike than shuffled ones, so no dividing head is named.",
    );
  });
});
