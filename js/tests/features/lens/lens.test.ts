// @vitest-environment jsdom
import { afterEach, describe, expect, it } from "vitest";
import { lens as feature } from "../../../src/features/lens";
import { lens } from "../../../src/features/lens/view";
import { SliceFailure } from "../../../src/protocol/failure";
import { itemAt } from "../../../src/protocol/required";
import type {
  Meta,
  NdArray,
  Slice,
  SliceOptions,
  SliceRequest,
  TypedArray,
} from "../../../src/protocol/types";
import type { State } from "../../../src/state/selection";
import type { ViewHandle } from "../../../src/views/contract";
import { fakeRun, opened, settled } from "../../fake";
import { fieldsOf, metaOf } from "../../runs";

// jsdom lays nothing out.
globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

const LAYERS = 2;
const K = 5;
const NAMES = ["paris", "the", "##ing", "<b>\u202e</b>", "river", "castle"];

/** Likeliest id of every row at a position: by default it settles in the last layer. */
type Best = (row: number, position: number) => number;

/** `n`: tokens of a decoder, after whose last one none follows. */
function answerOf(best: Best, asked: SliceRequest, n = Number.NaN): Slice {
  const [first, stop] = fieldsOf(asked).rows as [number, number];
  const width = stop - first;
  const at = (values: (row: number, position: number) => number): number[] =>
    Array.from({ length: (LAYERS + 1) * width }, (_, i) =>
      values(Math.floor(i / width), first + (i % width)),
    );
  const nd = (data: TypedArray, ...more: number[]): NdArray => ({
    data,
    shape: [LAYERS + 1, width, ...more],
  });
  const ids = at(best).flatMap((id) => Array.from({ length: K }, (_, i) => (id + i) % 6));
  const probabilities = at((row) => 0.2 + 0.2 * row).flatMap((p) => [p, p / 2, p / 4, 0.01, 0.001]);
  return {
    data: { mode: fieldsOf(asked).mode, ids: NAMES.map((_, i) => i), names: NAMES },
    arrays: new Map<string, NdArray>([
      ["ids", nd(Int32Array.from(ids), K)],
      ["probabilities", nd(Float32Array.from(probabilities), K)],
      [
        "ranks",
        nd(Int32Array.from(at((row, position) => (position === n - 1 ? 0 : 1 + row + position)))),
      ],
      ["entropies", nd(Float32Array.from(at((row) => 3 - row)))],
      ["divergences", nd(Float32Array.from(at((row) => 2 - row)))],
    ]),
  };
}

let drawn: ViewHandle | null = null;
let element: HTMLElement;
let state: State;
let asked: SliceRequest[];

async function draw(
  texts: readonly string[],
  best: Best,
  {
    change = {},
    live = true,
    arrays = new Map(),
    answer = (request) =>
      answerOf(best, request, change.model === undefined ? Number.NaN : texts.length),
  }: {
    change?: Partial<Meta>;
    live?: boolean;
    arrays?: ReadonlyMap<string, NdArray>;
    answer?: (request: SliceRequest, options: SliceOptions) => Slice | Promise<Slice>;
  } = {},
): Promise<void> {
  const run = fakeRun(metaOf(texts, change), answer, {
    live,
    arrays,
    has: () => live,
    selection: { special: false },
  });
  ({ asked, state } = run);
  element = document.createElement("div");
  document.body.append(element);
  drawn = opened(lens, element, run, run.context);
  for (let i = 0; i < 10; i++) await settled();
}
afterEach(() => {
  drawn?.dispose();
  element?.remove();
});

const decoder = (texts: readonly string[]): Partial<Meta> => {
  const { model } = metaOf(texts);
  return { model: { ...model, predicts: "next" } };
};
const part = (name: string): HTMLElement =>
  element.querySelector(`[data-aw-part='${name}']`) as HTMLElement;
const cell = (row: number, column: number): HTMLElement =>
  element.querySelector(`[data-row="${row}"][data-column="${column}"]`) as HTMLElement;
const press = (target: Element, key: string, ctrlKey = false): void => {
  target.dispatchEvent(
    new KeyboardEvent("keydown", { key, ctrlKey, bubbles: true, cancelable: true }),
  );
};

const TEXT = ["[CLS]", "the", "old", "[MASK]", "[SEP]"];
/** At the mask `paris` from layer 0 on; elsewhere `castle` in the last layer alone. */
const MASKED: Best = (row, position) => (position === 3 ? (row > 0 ? 0 : 1) : row === 2 ? 5 : 4);

describe("lens of an encoder", () => {
  it("has a row a layer and a column a word, with the likeliest tokens", async () => {
    await draw(TEXT, MASKED);
    const rows = [...part("lens-grid").querySelectorAll("[role=row]")];
    expect(rows.map((row) => [...row.children].map((each) => each.textContent))).toEqual([
      ["at", "the", "old", "[MASK]"],
      ["emb.", "river", "river", "the"],
      ["L0", "river", "river", "paris"],
      ["L1", "castle", "castle", "paris"],
    ]);
    state.set({ special: true });
    expect(cell(0, 4).textContent).toBe("river");
  });

  it("marks where the last layer's choice begins to stand, and says it of the mask", async () => {
    await draw(TEXT, MASKED);
    const marked = [...element.querySelectorAll<HTMLElement>(".is-settled")];
    expect(marked.map(({ dataset: { row, column } }) => [row, column])).toEqual([
      ["1", "2"],
      ["2", "0"],
      ["2", "1"],
    ]);
    expect(part("sentence").textContent).toBe(
      "paris (60%) stands at [MASK] from L0 on, after “the” (20%) in the embedding; the last layer is L1.",
    );
  });

  it("says nothing of a mask without a content word where no word settles after most positions", async () => {
    await draw(TEXT, (_, position) => (position === 3 ? 1 : 3));
    expect(part("sentence").textContent).toBe("");
    drawn?.dispose();
    element.remove();
    await draw(["[CLS]", "a", "b", "c", "[SEP]"], (row, position) =>
      position === 3 && row < 2 ? 1 : position,
    );
    expect(part("sentence").textContent).toBe("");
    drawn?.dispose();
    element.remove();
    await draw(["[CLS]", "a", "b", "c", "[SEP]"], (row, position) =>
      position === 3 ? (row < 2 ? 1 : 4) : position,
    );
    expect(part("sentence").textContent).toBe(
      "river (60%) at c settles last, in L1; most positions settle in the embedding.",
    );
    drawn?.dispose();
    element.remove();
    await draw(["[CLS]", "a", "b", "c", "d", "e", "[SEP]"], (row, position) =>
      position === 3 || position === 4 ? (row < 2 ? 1 : position + 1) : 1,
    );
    expect(part("sentence").textContent).toBe(
      "river (60%) at c and castle (60%) at “d” settle last, in L1; most positions settle in the embedding.",
    );
    drawn?.dispose();
    element.remove();
    // A piece of a longer word is no word.
    await draw(["[CLS]", "a", "b", "c", "##d", "e", "[SEP]"], (row, position) =>
      position === 3 || position === 4 ? (row < 2 ? 1 : position + 1) : 1,
    );
    expect(part("sentence").textContent).toBe("");
  });

  it("tells the word that stands before all others where most settle in the last layer", async () => {
    await draw(["[CLS]", "a", "b", "c", "d", "[SEP]"], (row, position) =>
      position === 2 ? (row < 1 ? 1 : 4) : row < 2 ? 1 : position === 3 ? 5 : 3,
    );
    expect(part("sentence").textContent).toBe(
      "river (60%) at b settles first, from L0 on; most positions settle only in the last layer, L1.",
    );
  });

  it("runs masked passes when asked, and a page that lacks them offers none", async () => {
    await draw(TEXT, MASKED);
    expect(asked.map((each) => fieldsOf(each).mode)).toEqual(["as_is"]);
    part("lens-mode").querySelector<HTMLElement>("[data-mode=masked]")?.click();
    for (let i = 0; i < 5; i++) await settled();
    expect(asked.map((each) => fieldsOf(each).mode)).toEqual(["as_is", "masked"]);
    expect(cell(2, 0).textContent).toBe("castle");
    drawn?.dispose();
    element.remove();
    await draw(TEXT, MASKED, { live: false });
    expect(part("lens-mode")).toBeNull();
  });

  it("writes hostile tokens as text", async () => {
    await draw(TEXT, () => 3);
    expect(cell(2, 0).textContent).toBe("<b>⟨U+202E⟩</b>");
    expect(cell(2, 0).querySelector("b")).toBeNull();
  });
});

describe("lens of a decoder", () => {
  const texts = ["the", "old", "king"];
  it("says from where the next word stands", async () => {
    await draw(texts, (row, position) => (position === 2 ? 0 : row), { change: decoder(texts) });
    expect(fieldsOf(itemAt(asked, 0))).toEqual({ kind: "lens", mode: "next", rows: [0, 3] });
    expect(part("sentence").textContent).toBe(
      "paris (60%) is the likeliest next word from the embedding on.",
    );
    expect(part("lens-mode")).toBeNull();
  });

  it("shows five guesses, the token that follows, entropy and divergence of what is pointed at", async () => {
    await draw(texts, () => 4, { change: decoder(texts) });
    cell(1, 1).dispatchEvent(new Event("pointerover", { bubbles: true }));
    const card = part("lens-card");
    expect(card.querySelector("p")?.textContent).toBe("L0 after old1");
    expect([...card.querySelectorAll("li")].map((each) => each.textContent)).toEqual([
      "river40.0%",
      "castle20.0%",
      "paris10.0%",
      "the1.00%",
      "##inging0.100%",
    ]);
    expect([...card.querySelectorAll("dd")].map((each) => each.textContent)).toEqual([
      "king, 3rd",
      "2.00 bits",
      "1.00 bits",
    ]);
    cell(2, 2).dispatchEvent(new Event("pointerover", { bubbles: true }));
    expect(part("lens-card").textContent).not.toContain("follows");
  });

  it("gives its layer and token to every view", async () => {
    await draw(texts, () => 4, { change: decoder(texts) });
    cell(2, 1).click();
    expect(state.get()).toMatchObject({ layer: 1, token: 1 });
    press(cell(2, 1), "ArrowUp");
    press(cell(1, 1), "End");
    expect(document.activeElement).toBe(cell(1, 2));
    press(cell(1, 2), "Enter");
    expect(state.get()).toMatchObject({ layer: 0, token: 2 });
    cell(0, 0).click();
    expect(state.get()).toMatchObject({ layer: 0, token: 0 });
  });

  it("has the columns in sight alone, and asks for those alone, of a long text", async () => {
    const long = Array.from({ length: 512 }, (_, i) => `w${i}`);
    await draw(long, () => 4, { change: decoder(long) });
    const drawnCells = element.querySelectorAll("[data-row='0']").length;
    expect(drawnCells).toBeLessThan(40);
    expect(asked.map((each) => fieldsOf(each).rows)).toEqual([
      [0, 16],
      [496, 512],
    ]);
    const grid = part("lens-grid");
    grid.scrollLeft = 58 * 100;
    grid.dispatchEvent(new Event("scroll"));
    for (let i = 0; i < 5; i++) await settled();
    expect(cell(1, 100).textContent).toBe("river");
    expect(cell(1, 20)).toBeNull();
    expect(fieldsOf(itemAt(asked, 2)).rows).toEqual([96, 112]);
    expect(drawn?.part?.("png")).toBe("Tokens 96 to 115 of 512.");
    press(cell(0, 0), "End");
    expect(document.activeElement).toBe(cell(0, 511));
  });

  it("gives a table of all positions, those that were not in sight included", async () => {
    const long = Array.from({ length: 200 }, (_, i) => `w${i}`);
    await draw(long, () => 4, { change: decoder(long) });
    const table = await drawn?.table();
    expect(table?.columns).toEqual([
      ...["layer", "position", "token", "rank", "prediction", "probability"],
      ...["token_rank", "entropy", "divergence"],
    ]);
    expect(table?.rows.length).toBe(3 * 200 * 5);
    expect(table?.rows[5 * 203]).toEqual([1, 3, "w3", 1, "river", expect.closeTo(0.4), 5, 2, 1]);
  });

  it("says why there is no answer, and asks again", async () => {
    let fails = true;
    await draw(texts, () => 4, {
      change: decoder(texts),
      answer: (request) => {
        if (fails) throw new SliceFailure("No lens.", "Ask later.");
        return answerOf(() => 4, request, texts.length);
      },
    });
    expect(element.textContent).toContain("No lens.");
    fails = false;
    element.querySelector<HTMLElement>(".aw-heads-again")?.click();
    for (let i = 0; i < 5; i++) await settled();
    expect(cell(0, 0).textContent).toBe("river");
  });
});

describe("masked passes", () => {
  it("say how far they are, stop, and go on", async () => {
    const texts = Array.from({ length: 20 }, (_, i) => `w${i}`);
    let aborted = 0;
    let hangs = true;
    await draw(texts, () => 4, {
      answer: (request, { signal, progress }) => {
        const [first] = fieldsOf(request).rows as [number, number];
        if (fieldsOf(request).mode !== "masked" || first === 0 || !hangs)
          return answerOf(() => 4, request);
        progress?.(3, 4);
        return new Promise((_, reject) => {
          signal?.addEventListener("abort", () => {
            aborted++;
            reject(new DOMException("", "AbortError"));
          });
        });
      },
    });
    const settle = async () => {
      for (let i = 0; i < 8; i++) await settled();
    };
    element.querySelector<HTMLElement>("[data-mode=masked]")?.click();
    await settle();
    const bar = part("lens-progress");
    expect(bar.textContent).toBe("19 / 20 positionsCancel");
    expect(bar.querySelector("[role=progressbar]")?.getAttribute("aria-valuenow")).toBe("19");
    bar.querySelector("button")?.click();
    await settle();
    expect(aborted).toBe(1);
    expect(bar.textContent).toBe("Stopped: 16 / 20 positionsGo on");
    expect(cell(0, 3).textContent).toBe("river");
    const before = asked.length;
    expect(element.querySelector("[aria-busy=true]")).toBeNull();
    hangs = false;
    bar.querySelector("button")?.click();
    await settle();
    expect(asked.length).toBe(before + 1);
    expect(bar.hidden).toBe(true);
    expect(cell(0, 18).textContent).toBe("river");
  });
});

describe("the tab", () => {
  const { available = () => false } = itemAt(feature.views ?? [], 0);
  const of = (part: Meta["part"], mlm: boolean, next: string | null): boolean => {
    const meta = metaOf(["a"]);
    const { model } = meta;
    return available({
      ...meta,
      part,
      next_token: next,
      model: { ...model, has: { ...model.has, mlm } },
    } as Meta);
  };
  it("stands for a head, and on cross-attention for what the decoder has written", () => {
    expect(of(undefined, true, null)).toBe(true);
    expect(of(undefined, false, null)).toBe(false);
    expect(of("decoder", true, "a")).toBe(true);
    expect(of("cross", false, "a")).toBe(true);
    expect(of("cross", false, null)).toBe(false);
    expect(of("encoder", false, "a")).toBe(false);
  });
});
