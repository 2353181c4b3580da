/** The view Inside: walking, exports, failures, saved pages. */

// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import type { SliceRequest } from "../../../src/protocol/types";
import { fieldsOf } from "../../runs";
import {
  draw,
  drawn,
  element,
  HIDDEN,
  HOSTILE,
  LAYERS,
  one,
  open,
  press,
  reports,
  settled,
  stage,
  tensor,
  values,
} from "./inside-view";

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
    const button = one("[data-aw-part=shared]");
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
    expect(grayed()).toEqual([]);
    await open("ffn_output");
    const { rows } = (await drawn!.table())!;
    const own = rows.filter(([name]) => name === "ffn_output").map((row) => row.at(-1));
    expect(own).toEqual(Array.from({ length: HIDDEN }, (_, i) => tensor("ffn_output", 1, 2, i)));
  });

  it("leads from another token to the one that it has", async () => {
    const state = await draw({ token: 1 }, { live: false, has: ofToken2 });
    await open("token");
    one("[data-stage=sum]").dispatchEvent(new Event("pointerover", { bubbles: true }));
    expect(one("[data-aw-part=map-note]").textContent).toContain("for one token only");
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
