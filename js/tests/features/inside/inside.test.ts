// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { Bands } from "../../../src/draw/bands";
import { length } from "../../../src/features/inside/dimensions";
import { roundToError } from "../../../src/figures/format";
import {
  chain,
  draw,
  drawn,
  element,
  HEAD,
  HIDDEN,
  HOSTILE,
  INNER,
  N,
  one,
  open,
  press,
  reports,
  settled,
  stage,
  tensor,
  values,
} from "./inside-view";

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
    state.set({ token: 3 });
    expect(bars("attention")).toEqual([0.2, 1.5]);
  });

  it("has no box for a part of the embeddings that the model lacks, and says why with the others", async () => {
    await draw();
    expect(element.querySelector("[data-stage=segment]")).toBeNull();
    await open("token");
    expect(one("[data-aw-part=stage-panel]").textContent).toContain("No segment embeddings.");
  });
});

describe("the focus token by layer", () => {
  const lens = (): HTMLElement =>
    element.querySelector("[data-aw-part='inside-lens']") as HTMLElement;
  /** It is folded until it is asked for. */
  async function unfold(): Promise<void> {
    expect(lens().querySelector("[data-aw-part=lens]")).toBeNull();
    const details = lens().querySelector("details") as HTMLDetailsElement;
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    await settled();
  }

  it("is the token of the text, folded, with the chosen layer marked", async () => {
    const state = await draw({ layer: 1, token: 2 });
    await unfold();
    expect(lens().textContent).toMatch(
      /Probability and rank of word \d+ at .* 2 according to each/,
    );
    expect(lens().textContent).toContain("900");
    expect(lens().querySelector(".is-marked")?.textContent).toBe("L130%#4");
    state.set({ layer: 3 });
    await settled();
    expect(lens().querySelector(".is-marked")?.textContent).toBe("L370%#1");
  });

  it("is the target of the view Why where that stands at the focus token, and never another position", async () => {
    const state = await draw({ token: 3, target: { position: 3, token: 9 } });
    expect(lens().querySelector("summary")?.textContent).toBe(
      "word 9, layer by layer (logit lens)",
    );
    state.set({ token: 2 });
    await settled();
    expect(lens().querySelector("summary")?.textContent).not.toContain("word 9,");
    state.set({ token: 0 });
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
    const written = exactly.map((value, i) => roundToError({ value, error: errors[i]! }));
    expect(written).not.toEqual(exactly);
    expect(values("[data-tensor=head_output] rect[data-aw-value]")).toEqual(written);
    expect(chain()[1]).toBe(written[Number(one("[data-aw-part=strips]").ariaValueNow)]);
    const rows = (await drawn?.table())?.rows.filter(([name]) => name === "head_output");
    expect(rows?.map((row) => row[6])).toEqual(written);
    const long = length(exactly);
    expect(values("[data-tensor=head_output] text[data-aw-value]")).toEqual([
      roundToError({ value: long, error: length(errors) }),
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

// Of 400 px, 92 are for the bands' names and 60 for their lengths; a cell has at most 48.
it.each([
  [100, 248],
  [3, 144],
])("gives the cells of %d dimensions %d px", (count, width) => {
  const bands = new Bands(() => undefined, new AbortController().signal);
  bands.resize(400);
  bands.show(
    {
      ...{ bands: [], total: count, window: [0, count], cursor: 0, root: false },
      ...{ name: String, spoken: String, axis: "" },
    },
    "light",
  );
  expect(bands.cells).toEqual({ left: 92, width });
});
