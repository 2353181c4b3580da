// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { length } from "../src/figures/derive/dimensions";
import { held } from "../src/figures/format";
import { SliceFailure } from "../src/protocol/failure";
import type { NdArray, Precision, Slice, SliceRequest } from "../src/protocol/types";
import type { Selection, State } from "../src/state/selection";
import type { ViewHandle } from "../src/views/contract";
import { inside } from "../src/views/inside/view";
import { fakeRun } from "./fake";
import { fieldsOf, metaOf } from "./runs";

const HOSTILE = "<img src=x onerror=alert(1)>";
const TEXTS = ["[CLS]", "bank", HOSTILE, "שלום", "[SEP]"];
const N = TEXTS.length;
const [LAYERS, HEADS, HIDDEN, HEAD, INNER] = [2, 3, 80, 4, 120];
const META = metaOf(TEXTS, {
  model: {
    ...metaOf(TEXTS).model,
    n_layers: LAYERS,
    n_heads: HEADS,
    head_dim: HEAD,
    hidden_size: HIDDEN,
  },
});

/** Some number that depends on all of its place. */
const number = (seed: number, row: number, column: number): number =>
  Math.fround(Math.sin(seed * 12.9898 + row * 78.233 + column * 37.719) * 2);

/** This model has no segments. */
const EMBEDDED = ["token", "position"];

/** Tensors whose sums close, as a model's do. */
function tensor(name: string, layer: number, row: number, column: number): number {
  const own = (which: string): number => tensor(which, layer, row, column);
  if (name === "sum") return Math.fround(EMBEDDED.reduce((sum, part) => sum + own(part), 0));
  if (name === "attention_sum") return Math.fround(own("layer_input") + own("attention_output"));
  if (name === "ffn_sum") return Math.fround(own("attention_norm") + own("ffn_output"));
  const seed = [...name].reduce((sum, character) => sum + character.charCodeAt(0), layer * 7);
  return number(seed, row, column);
}

const width = (name: string): number =>
  name === "ffn_activation"
    ? INNER
    : ["query", "key", "value", "head_output"].includes(name)
      ? HEAD
      : HIDDEN;

const f32 = (data: readonly number[], ...shape: number[]): NdArray => ({
  data: Float32Array.from(data),
  shape,
});

const reply = (arrays: Record<string, NdArray>, data: Slice["data"] = {}): Slice => ({
  data,
  arrays: new Map(Object.entries(arrays)),
});

const ATTENTION = [0.2, 1.5, 0.7, 0.4];
const FFN = [0.3, 0.9, 0.1, 0.6];

function answer(request: SliceRequest): Slice {
  const {
    kind,
    name,
    layer = 0,
    rows = [0, N],
    cols,
    target,
  } = request as unknown as {
    kind: string;
    name: string;
    target?: { position?: number; token?: number };
    layer?: number;
    rows?: [number, number];
    cols?: [number, number];
  };
  const grid = (
    columns: readonly [number, number],
    value: (row: number, column: number) => number,
  ): NdArray => {
    const [height, wide] = [rows[1] - rows[0], columns[1] - columns[0]];
    return f32(
      Array.from({ length: height * wide }, (_, i) =>
        value(rows[0] + Math.floor(i / wide), columns[0] + (i % wide)),
      ),
      height,
      wide,
    );
  };
  switch (kind) {
    case "architecture":
      return reply(
        {},
        {
          parameters: { embeddings: 1200, attention: 800, feed_forward: 1600, total: 3600 },
          sizes: {
            hidden: HIDDEN,
            intermediate: INNER,
            head_dim: HEAD,
            vocabulary: 50,
            max_length: 512,
          },
          activation: "gelu",
          pre_norm: false,
          notes: [],
          tensors: { segment: "No segment embeddings." },
          // A saved page says them.
          widths: { norm: HIDDEN, attention_output: HIDDEN, ffn_activation: INNER },
        },
      );
    case "tensor":
      return reply(
        {
          tensor: grid(
            [cols?.[0] ?? 0, Math.min(cols?.[1] ?? width(name), width(name))],
            (row, column) => tensor(name, layer, row, column),
          ),
        },
        { shape: [N, width(name)] },
      );
    case "residuals": {
      const spread = (values: readonly number[]) =>
        f32(
          Array.from(
            { length: LAYERS * N },
            (_, i) => values[Math.floor(i / N) + (i % N === 1 ? 1 : 0)]!,
          ),
          LAYERS,
          N,
        );
      return reply({ attention: spread(ATTENTION), ffn: spread(FFN) });
    }
    case "layer_change":
      return reply({ change: f32([0.25], 1) });
    case "hidden_path":
      return reply({
        norms: f32(
          Array.from({ length: (LAYERS + 1) * N }, (_, i) => 1 + i),
          LAYERS + 1,
          N,
        ),
        cosines: f32(
          Array.from({ length: LAYERS * N }, (_, i) => 1 - 0.05 * i),
          LAYERS,
          N,
        ),
        points: f32(
          Array.from({ length: (LAYERS + 1) * N * 2 }, (_, i) => number(3, i, 0)),
          LAYERS + 1,
          N,
          2,
        ),
        explained: f32([0.4, 0.2], 2),
      });
    case "targets":
      return reply(
        {},
        {
          targets: [
            { target: { label: 1 }, of: "class", names: ["good"] },
            { target: { position: 2, token: 7 }, of: "token", names: ["mat"] },
          ],
        },
      );
    case "logit_lens":
      if (target?.position === undefined) throw new SliceFailure("No word piece.");
      return reply(
        {
          probabilities: f32([0.01, 0.2, 0.3, 0.5, 0.7], LAYERS + 1),
          ranks: f32([900, 40, 4, 2, 1], LAYERS + 1),
        },
        { names: [`word ${target.token}`] },
      );
    case "weights":
      return reply({ weights: grid([0, N], () => 1 / N) });
    case "scores":
      return reply({
        scores: grid([0, N], (_, key) => (key === 4 ? Number.NEGATIVE_INFINITY : 1)),
      });
    default:
      throw new SliceFailure(`Unknown kind ${kind}.`);
  }
}

let drawn: ViewHandle | null = null;
let element: HTMLElement;
let reports: string[];

/** Widths come from the page; here there is none. */
class Sized {
  constructor(readonly call: ResizeObserverCallback) {}
  observe(): void {
    const entry = { contentRect: { width: 800 } } as ResizeObserverEntry;
    this.call([entry], this as unknown as ResizeObserver);
  }
  disconnect(): void {}
  unobserve(): void {}
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

async function draw(
  selection: Partial<Selection> = {},
  change: {
    live?: boolean;
    precision?: Precision;
    failing?: (request: SliceRequest) => boolean;
    has?: (request: SliceRequest) => boolean;
  } = {},
): Promise<State> {
  const { failing, ...of } = change;
  const run = fakeRun(
    META,
    (request) => {
      if (of.has?.(request) === false && request.kind === "tensor")
        throw new SliceFailure("This tensor is not in this saved page.");
      if (failing?.(request))
        throw new SliceFailure("The kernel went away.", "Run the cell again.");
      return answer(request);
    },
    { ...of, selection: { view: "inside", layer: 1, head: 2, token: 1, ...selection } },
  );
  reports = run.reports;
  drawn = inside(element, run.context);
  await settled();
  await settled();
  return run.state;
}

const one = (selector: string): HTMLElement => {
  const found = element.querySelector<HTMLElement>(selector);
  if (found === null) throw new Error(`Nothing matches ${selector}.`);
  return found;
};
const stage = (id: string): HTMLElement => one(`[data-aw-part=stage][data-stage=${id}]`);
const press = (target: Element, key: string): void => {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
};
async function open(id: string): Promise<void> {
  stage(id).dispatchEvent(new MouseEvent("click", { bubbles: true }));
  await settled();
}
const values = (selector: string): number[] =>
  [...element.querySelectorAll<HTMLElement>(selector)].map((found) =>
    Number(found.dataset.awValue),
  );
const chain = (): number[] => values("[data-aw-part=chain] [data-aw-value]");

beforeEach(() => {
  globalThis.ResizeObserver = Sized as unknown as typeof ResizeObserver;
  element = document.createElement("div");
  document.body.append(element);
  reports = [];
});

afterEach(() => {
  drawn?.dispose();
  drawn = null;
  element.remove();
});

describe("the map", () => {
  it("has one stop for Tab, which arrows move without opening anything", async () => {
    await draw();
    expect(element.querySelectorAll("[data-aw-part=inside-map] [tabindex='0']")).toHaveLength(1);
    stage("token").focus();
    press(stage("token"), "ArrowRight");
    expect(document.activeElement).toBe(stage("position"));
    expect(one("[data-aw-part=stage-panel]").dataset.stage).toBe("token");
    press(stage("position"), "Enter");
    await settled();
    expect(one("[data-aw-part=stage-panel]").dataset.stage).toBe("position");
    expect(stage("position").getAttribute("aria-pressed")).toBe("true");
  });

  it("changes the layer up and down, and no further than there are layers", async () => {
    const state = await draw();
    press(stage("token"), "ArrowDown");
    expect(state.get().layer).toBe(1);
    press(stage("token"), "ArrowUp");
    expect(state.get().layer).toBe(0);
    press(stage("token"), "]");
    expect(state.get().layer).toBe(1);
  });

  it("draws the residual bars of the focus token and says which is largest", async () => {
    const state = await draw();
    const bars = (half: string) => values(`[data-half=${half}]`).map((value) => +value.toFixed(4));
    expect([bars("attention"), bars("ffn")]).toEqual([
      [1.5, 0.7],
      [0.9, 0.1],
    ]);
    expect(one("[data-aw-part=changes]").textContent).toContain(
      "Attention changes most from L0 to L1 (0.250)",
    );
    expect(one("[data-aw-part=changes]").textContent).toContain(
      "“bank” changes most in the attention of L0 (1.50)",
    );
    state.set({ token: 3 });
    expect(bars("attention")).toEqual([0.2, 1.5]);
    expect(one("[data-aw-part=changes]").textContent).toContain("in the attention of L1 (1.50)");
  });

  it("opens a stage that the model lacks with the reason", async () => {
    await draw();
    expect(stage("segment").classList.contains("is-absent")).toBe(true);
    await open("segment");
    expect(one("[data-aw-part=stage-panel]").textContent).toContain("No segment embeddings.");
  });
});

describe("the target by layer", () => {
  const lens = (): HTMLElement =>
    element.querySelector("[data-aw-part='inside-lens']") as HTMLElement;

  it("is that of the first word that the text proposes, with the chosen layer marked", async () => {
    const state = await draw({ layer: 1 });
    expect(lens().textContent).toMatch(/^Probability and rank of word 7 at .* 2 as each/);
    expect(lens().textContent).toContain("900");
    expect(lens().querySelector(".is-marked")?.textContent).toBe("L130%#4");
    state.set({ layer: 3 });
    await settled();
    expect(lens().querySelector(".is-marked")?.textContent).toBe("L370%#1");
  });

  it("follows the target of the view Why, and goes where there is none to read", async () => {
    const state = await draw({ target: { position: 3, token: 9 } });
    expect(lens().textContent).toContain("word 9");
    state.set({ target: { label: 1 } });
    await settled();
    expect(lens().hidden).toBe(true);
    expect(reports).toEqual([]);
  });
});

describe("the open stage", () => {
  it("adds up: token + position = sum at every dimension", async () => {
    await draw();
    const strip = one("[data-aw-part=strips]");
    for (let i = 0; i < 3; i++) {
      press(strip, "ArrowRight");
      const [token, position, sum] = chain();
      expect(token! + position!).toBeCloseTo(sum!, 5);
    }
  });

  it("closes attention's and the FFN's residual sums", async () => {
    await draw();
    for (const id of ["attention_sum", "ffn_sum"]) {
      await open(id);
      const [given, output, sum] = chain();
      expect(given! + output!).toBeCloseTo(sum!, 5);
    }
  });

  it("shows the first 64 dimensions, and reaches every other one", async () => {
    await draw();
    const shown = () => element.querySelectorAll("[data-tensor=token] rect[data-dimension]").length;
    expect(shown()).toBe(64);
    press(one("[data-aw-part=strips]"), "End");
    expect(one("[data-aw-part=strips]").getAttribute("aria-valuenow")).toBe(String(HIDDEN - 1));
    expect(one(`[data-tensor=token] [data-dimension='${HIDDEN - 1}']`).dataset.awValue).toBe(
      String(tensor("token", 0, 1, HIDDEN - 1)),
    );
    const field = one("input[type=number]") as HTMLInputElement;
    field.value = "5";
    field.dispatchEvent(new Event("change", { bubbles: true }));
    expect(one("[data-aw-part=strips]").getAttribute("aria-valuenow")).toBe("5");
    const sizes = one(".aw-window select") as HTMLSelectElement;
    sizes.value = String(HIDDEN);
    sizes.dispatchEvent(new Event("change", { bubbles: true }));
    expect(shown()).toBe(HIDDEN);
  });

  it("lists the largest units of the FFN and counts those above zero", async () => {
    await draw();
    await open("ffn_activation");
    const row = Array.from({ length: INNER }, (_, i) => tensor("ffn_activation", 1, 1, i));
    const best = [...row].sort((a, b) => b - a).slice(0, 8);
    expect(values("[data-aw-part=top-units] [data-aw-value]")).toEqual(best);
    const active = row.filter((value) => value > 0).length;
    expect(one(".aw-inside-answer").textContent).toContain(
      `${active} of ${INNER} units are above zero`,
    );
    expect(
      element.querySelectorAll("[data-tensor=ffn_activation] rect[data-dimension]"),
    ).toHaveLength(96);
  });

  it("turns scores into weights, and marks what the mask forbids", async () => {
    await draw();
    await open("weights");
    expect(element.querySelector("[data-tensor=scores] path.aw-band-masked")).not.toBeNull();
    const [score, exponential, sum, weight] = chain();
    expect([score, exponential, sum, weight]).toEqual([1, 1, N - 1, Math.fround(1 / N)]);
  });

  it("gives a head's output of a saved page no digit that its weights do not hold", async () => {
    const off = 0.004;
    await draw(
      {},
      {
        live: false,
        precision: { weight: () => off, rollout: 0, score: 0, note: "" },
      },
    );
    await open("head_output");
    const errors = Array.from({ length: HEAD }, (_, i) =>
      Array.from({ length: N }, (_, j) => off * Math.abs(tensor("value", 1, j, i))).reduce(
        (sum, part) => sum + part,
      ),
    );
    const exactly = Array.from({ length: HEAD }, (_, i) => tensor("head_output", 1, 1, i));
    const written = exactly.map((value, i) => held(value, errors[i]!));
    expect(written).not.toEqual(exactly);
    expect(values("[data-tensor=head_output] rect[data-aw-value]")).toEqual(written);
    expect(chain()[1]).toBe(written[Number(one("[data-aw-part=strips]").ariaValueNow)]);
    const rows = (await drawn?.table())?.rows.filter(([name]) => name === "head_output");
    expect(rows?.map((row) => row[6])).toEqual(written);
    const long = length(exactly);
    expect(values("[data-tensor=head_output] text[data-aw-value]")).toEqual([
      held(long, length(errors)),
    ]);
    // The values themselves are the kernel's.
    expect(values("[data-tensor=value] rect[data-aw-value]")).toEqual(
      Array.from({ length: HEAD }, (_, i) => tensor("value", 1, 1, i)),
    );
  });

  it("asks for a head where the mean has no numbers of its own", async () => {
    const state = await draw({ head: "mean" });
    await open("qkv");
    expect(element.querySelector("[data-aw-part=stage-panel]")?.textContent).toContain(
      "Choose a head",
    );
    one(".aw-inside-chip").click();
    await settled();
    expect(state.get().head).toBe(0);
    expect(element.querySelectorAll("[data-tensor=query] rect[data-dimension]")).toHaveLength(HEAD);
  });

  it("keeps hostile tokens as text", async () => {
    await draw({ token: 2 });
    await open("hidden");
    expect(element.querySelector("img")).toBeNull();
    expect(one(".aw-inside-title").textContent).toContain(HOSTILE);
  });

  it("takes the first word where no token is chosen, and says so", async () => {
    await draw({ token: null });
    expect(one(".aw-inside-title").textContent).toContain("bank");
    expect(one(".aw-inside-notice").hidden).toBe(false);
  });
});

describe("the walk", () => {
  it("goes through a layer into the next one, and back", async () => {
    const state = await draw({ layer: 0 });
    await open("ffn_norm");
    press(stage("ffn_norm"), "n");
    await settled();
    expect([state.get().layer, one("[data-aw-part=stage-panel]").dataset.stage]).toEqual([
      1,
      "qkv",
    ]);
    press(stage("qkv"), "p");
    await settled();
    expect([state.get().layer, one("[data-aw-part=stage-panel]").dataset.stage]).toEqual([
      0,
      "ffn_norm",
    ]);
  });

  it("holds one scale through all stages when asked to", async () => {
    await draw();
    const button = one("[data-shared=walk]");
    button.click();
    await settled();
    const most = Math.max(
      ...Array.from({ length: (LAYERS + 1) * HIDDEN }, (_, i) =>
        Math.abs(tensor("hidden", Math.floor(i / HIDDEN), 1, i % HIDDEN)),
      ),
    );
    expect(values(".aw-inside-legend [data-aw-value]")).toEqual([most]);
    await open("ffn_output");
    expect(values(".aw-inside-legend [data-aw-value]")).toEqual([most]);
  });
});

describe("what it gives away", () => {
  it("is every dimension of the open stage's tensors for the focus token", async () => {
    await draw();
    await open("attention_norm");
    const table = await drawn?.table();
    expect(table?.columns).toEqual([
      "tensor",
      "layer",
      "head",
      "position",
      "token",
      "dimension",
      "value",
    ]);
    expect(table?.rows).toHaveLength(4 * HIDDEN);
    expect(table?.rows[HIDDEN + 70]).toEqual([
      "attention_output",
      1,
      null,
      1,
      "bank",
      70,
      tensor("attention_output", 1, 1, 70),
    ]);
  });

  it("leaves out what the model lacks, and gives N/A for what the mask forbids", async () => {
    await draw();
    const names = new Set((await drawn?.table())?.rows.map(([tensorName]) => tensorName));
    expect([...names]).toEqual(["token", "position", "sum", "norm"]);
    await open("scores");
    expect((await drawn?.table())?.rows[4]).toEqual(["scores", 1, 2, 1, "bank", 4, null]);
  });
});

describe("when answers fail", () => {
  it("says why there is no map, and asks again", async () => {
    let failing = true;
    await draw({}, { failing: () => failing });
    expect(one("[data-aw-part=empty]").textContent).toContain(
      "The kernel went away. Run the cell again.",
    );
    failing = false;
    one("[data-aw-part=empty] button").click();
    await settled();
    await settled();
    expect(stage("token")).not.toBeNull();
  });

  it("keeps the last good stage, open on the map too", async () => {
    await draw({}, { failing: (request) => fieldsOf(request).name === "value" });
    await open("qkv");
    expect(reports).toEqual(["The kernel went away."]);
    expect(one("[data-aw-part=stage-panel]").dataset.stage).toBe("token");
    expect(stage("token").getAttribute("aria-pressed")).toBe("true");
  });

  it("shows what a saved page has, and the reason for what it lacks", async () => {
    await draw({}, { live: false, failing: (request) => fieldsOf(request).name === "position" });
    expect(one("[data-tensor=position]").textContent).toContain("The kernel went away.");
    expect(element.querySelectorAll("[data-tensor=token] rect[data-dimension]")).toHaveLength(64);
    expect(one("[data-aw-part=window]").textContent).toContain(
      `of ${HIDDEN} (this page has the first 64)`,
    );
  });

  it("frames at the cursor only the rows that have numbers", async () => {
    await draw({}, { live: false, failing: (request) => fieldsOf(request).name === "position" });
    const frames = (): string[] => one(".aw-bands-cursor").getAttribute("d")!.match(/M/g) ?? [];
    expect(element.querySelectorAll(".aw-band-outline").length).toBeGreaterThan(1);
    expect(frames()).toHaveLength(2);
  });

  it("says once that a saved page has none of a stage's tensors, without a cursor over nothing", async () => {
    await draw({}, { live: false, failing: (request) => fieldsOf(request).name === "hidden" });
    await open("hidden");
    const panel = one("[data-aw-part=stage-panel]");
    expect(panel.dataset.stage).toBe("hidden");
    expect(panel.textContent?.match(/The kernel went away/g)).toHaveLength(1);
    for (const part of ["strips", "chain", "window"]) {
      expect(one(`[data-aw-part=${part}]`).hidden, part).toBe(true);
    }
    expect(reports).toEqual([]);
  });
});

describe("a saved page with a part of the stages", () => {
  const panel = (): HTMLElement => one("[data-aw-part=stage-panel]");
  const grayed = (): string[] =>
    [...element.querySelectorAll<HTMLElement>("[data-aw-part=stage].is-absent")].map(
      ({ dataset }) => dataset.stage!,
    );
  const ofAttention = ({ kind }: SliceRequest): boolean => kind === "weights" || kind === "scores";
  /** The row of token 2 in every tensor, and nothing else but attention. */
  const ofToken2 = (request: SliceRequest): boolean =>
    ofAttention(request) || JSON.stringify(fieldsOf(request).rows) === "[2,3]";

  it("opens on the first one that it has, and grays the others with the reason", async () => {
    await draw({}, { live: false, has: ofAttention });
    expect(panel().dataset.stage).toBe("scores");
    expect(element.querySelectorAll("[data-tensor=weights] rect").length).toBeGreaterThan(0);
    expect(grayed()).toEqual(expect.arrayContaining(["token", "qkv", "head_output", "ffn_sum"]));
    expect(grayed()).not.toContain("weights");
    // Lengths and turns of hidden states are in every page.
    expect(grayed()).not.toContain("hidden");
    expect(grayed()).not.toContain("mlm");
    await open("token");
    expect(panel().textContent).toContain("not in this saved page");
    expect(drawn!.table()).toBeNull();
  });

  it("walks over what it lacks", async () => {
    await draw({ layer: 0 }, { live: false, has: ofAttention });
    const [previous, next] = element.querySelectorAll<HTMLButtonElement>(
      "[data-aw-part=walk] button",
    );
    expect(previous!.disabled).toBe(true);
    const seen = [panel().dataset.stage];
    for (let i = 0; i < 3; i++) {
      next!.click();
      await settled();
      seen.push(panel().dataset.stage);
    }
    expect(seen).toEqual(["scores", "weights", "scores", "weights"]);
    expect(previous!.disabled).toBe(false);
  });

  it("shows the row of the token that it has, with the numbers of that row", async () => {
    await draw({ token: 2 }, { live: false, has: ofToken2 });
    expect(panel().dataset.stage).toBe("token");
    expect(grayed()).toEqual(["segment"]);
    await open("ffn_output");
    const { rows } = (await drawn!.table())!;
    const own = rows.filter(([name]) => name === "ffn_output").map((row) => row.at(-1));
    expect(own).toEqual(Array.from({ length: HIDDEN }, (_, i) => tensor("ffn_output", 1, 2, i)));
  });

  it("leads from another token to the one that it has", async () => {
    const state = await draw({ token: 1 }, { live: false, has: ofToken2 });
    await open("token");
    one("[data-stage=sum]").dispatchEvent(new Event("pointerover", { bubbles: true }));
    expect(one("[data-aw-part=map-note]").textContent).toContain("of one token alone");
    const way = one("[data-aw-part=stage-panel] .aw-inside-link");
    expect(way.textContent).toBe(`Show those of ${HOSTILE}`);
    way.click();
    await settled();
    expect(state.get().token).toBe(2);
    expect(element.querySelectorAll("[data-tensor=token] rect[data-dimension]")).toHaveLength(64);
  });

  it("stays on the stage that the reader opened, and says what is missing there", async () => {
    const state = await draw({ token: 2 }, { live: false, has: ofToken2 });
    await open("ffn_sum");
    state.set({ token: 1 });
    await settled();
    expect(panel().dataset.stage).toBe("ffn_sum");
    expect(panel().textContent).toContain("not in this saved page");
    expect(one("[data-aw-part=residual]").textContent).toContain("‖out − in‖");
    expect(reports).toEqual([]);
  });
});

it("leaves nothing behind", async () => {
  const state = await draw();
  drawn?.dispose();
  state.set({ token: 2, layer: 0 });
  expect(element.childElementCount).toBe(0);
});
