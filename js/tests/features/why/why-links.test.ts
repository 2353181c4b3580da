// @vitest-environment jsdom

import { describe, expect, it, vi } from "vitest";
import { unitsOf } from "../../../src/figures/derive/units";
import { itemAt } from "../../../src/protocol/required";
import { metaOf } from "../../runs";
import { matrixOf, open, quiet, source, stalled, TEXTS, TOKENS } from "./why-view";

describe("links", () => {
  const WORD_OF = [null, 0, 0, 1, 2, null];

  it("tells the strongest word with its cell of the matrix, which opens", async () => {
    const { part, state, element } = open();
    await quiet();
    const readout = part("why-readout");
    expect(readout.textContent).toBe(
      "keys 2: decomposition 3.00 · L1 · H2: are → keys 3.20, unmasked see in the matrix",
    );
    element.querySelector<HTMLElement>('[data-method="alti"]')?.click();
    expect(readout.textContent).toContain("keys 2: ALTI 3.00");
    part("why-matrix").click();
    const { view, pair, token, quantity, layer } = state.get();
    expect({ view, pair, token, quantity, layer }).toEqual({
      ...{ view: "attention", pair: [3, 2], token: 3, quantity: "alti_rollout", layer: 1 },
    });
  });

  it("follows the token that the text points at, another head, and words", async () => {
    const { part, overlay, turn, element } = open();
    await quiet();
    const readout = part("why-readout");
    overlay.pointed.value = 4;
    expect(readout.textContent).toContain("here 4: decomposition −1.00");
    expect(element.querySelectorAll("rect.is-pointed")).toHaveLength(
      element.querySelectorAll('rect[data-token="4"]').length,
    );
    turn({ ...matrixOf(TOKENS), head: 0, weights: new Float32Array(36).fill(0.5) });
    expect(readout.textContent).toContain(
      "here 4: decomposition −1.00 · L1 · H0: are → here 0.500",
    );
    overlay.pointed.value = null;
    expect(element.querySelector(".is-pointed")).toBeNull();
    expect(readout.textContent).toContain("here 4"); // it can be clicked
    turn(matrixOf(unitsOf(metaOf(TEXTS).tokens, { special: false, tokenWord: WORD_OF })));
    expect(part("why-sum").textContent).toContain("the keys +2.50");
    expect(part("why-sum").textContent).toContain("= 2.50");
    expect(readout.textContent).toContain("the keys 1: decomposition 2.50");
  });

  it("gives up switching heads off, and offers it again", async () => {
    const answers = source();
    const { part, element } = open([], true, (request, options) =>
      request.kind === "head_effects" ? stalled(options) : answers(request, options),
    );
    await quiet();
    await vi.waitFor(() => expect(part("why-cancel")).not.toBeNull());
    part("why-cancel").click();
    const again = [...element.querySelectorAll("button")].find((one) =>
      one.textContent?.startsWith("Switch off each head"),
    );
    expect(again).toBeDefined();
  });

  it("keeps the line in which “cancel” stands when the heads come, so that a late press chooses none", async () => {
    const answers = source();
    let come = (): void => undefined;
    const { part } = open([], true, async (request, options) => {
      if (request.kind === "head_effects") {
        options.progress?.(1, 2);
        await new Promise<void>((resolve) => {
          come = resolve;
        });
      }
      return answers(request, options);
    });
    await quiet();
    await vi.waitFor(() => expect(part("why-cancel")).not.toBeNull());
    const title = part("why-cancel").closest("p")!.previousElementSibling!;
    const line = () => title.nextElementSibling!;
    expect(line().contains(part("why-cancel"))).toBe(true);
    come();
    await vi.waitFor(() => expect(part("why-heads")).not.toBeNull());
    expect(title.isConnected).toBe(true);
    expect(line().querySelector("button")).toBeNull();
    expect(line().textContent).toContain("shrinks without each head");
    expect(line().nextElementSibling).toBe(part("why-heads"));
  });

  it("plots the gradient's guess of every head; a dot chooses its head", async () => {
    const { part, state } = open();
    await quiet();
    const folded = part("why-heads").querySelector("details");
    if (folded !== null) folded.open = true;
    folded?.dispatchEvent(new Event("toggle"));
    const plot = part("why-guesses");
    expect(plot.textContent).toContain("ρ = 0.80 over 6 heads");
    const dots = [...plot.querySelectorAll("circle")];
    expect(dots).toHaveLength(6);
    expect(dots[4]?.textContent).toBe("L1 · H1: effect −2.00, estimate 1.50");
    // The largest effect is highest, the largest guess rightmost.
    const places = dots.map((dot) => [
      Number(dot.getAttribute("cx")),
      Number(dot.getAttribute("cy")),
    ]);
    const [right, highest] = itemAt(places, 4) as [number, number];
    expect(places.every(([x, y]) => Number(x) <= right && Number(y) >= highest)).toBe(true);
    dots[2]?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect([state.get().layer, state.get().head]).toEqual([0, 2]);
  });
});
