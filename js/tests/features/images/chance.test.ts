// @vitest-environment jsdom
import { signal } from "@preact/signals-core";
import { describe, expect, it } from "vitest";
import { captionOf } from "../../../src/features/images/alone";
import type { ImageModel } from "../../../src/features/images/model";
import { hasChance, timesChance } from "../../../src/features/images/words";

/** A picture of 4 patches whose head 2 of layer 1 is shown. */
function modelWith({
  quantity = "weights",
  painted = null as null | { values: number[]; verb: string },
  overlaid = true,
} = {}): ImageModel {
  return {
    n: 5,
    special: [0],
    nameOf: (token: number) => `t${token}`,
    numOf: (value: number) => ({ value, error: 0 }),
    top: signal(0.25),
    scale: signal("sqrt"),
    overlaid: signal(overlaid),
    painted: signal(painted),
    peeked: signal(null),
    matrix: signal(null),
    focus: signal({ kind: "opening", tokens: [0] }),
    selection: signal({ layer: 1, head: 2, quantity }),
  } as unknown as ImageModel;
}

describe("times chance", () => {
  it("is said of weights", () => {
    expect(timesChance(modelWith(), { value: 0.5, error: 0 })).toBe(", 2.5 × chance");
  });

  it("is not said of other quantities and of numbers of a view, which have no such chance", () => {
    for (const model of [
      modelWith({ quantity: "scores" }),
      modelWith({ quantity: "value_weighted" }),
      modelWith({ painted: { values: [0, 1, 0, 0, 0], verb: "contributes" } }),
    ]) {
      expect(hasChance(model)).toBe(false);
      expect(timesChance(model, { value: 0.5, error: 0 })).toBe("");
    }
  });
});

describe("the caption of a picture in a file", () => {
  it("names what is shown and its scale", () => {
    expect(captionOf(modelWith())).toBe("t0, L1 · H2: 0 to 0.250, by square root");
  });

  it("has both signs of contributions", () => {
    const painted = { values: [0, 0.25, -0.1, 0, 0], verb: "contributes" };
    expect(captionOf(modelWith({ painted }))).toBe("What each patch contributes: −0.250 to +0.250");
  });

  it("says nothing of colors that are the picture's own", () => {
    expect(captionOf(modelWith({ overlaid: false }))).toBe("");
  });
});
