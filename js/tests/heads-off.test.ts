// @vitest-environment jsdom

import { expect, it } from "vitest";
import { createHeadsOff, createTyping } from "../src/frame/head-grid/off";
import { explain } from "../src/protocol/failure";
import type { Action, NdArray } from "../src/protocol/types";
import { mount } from "../src/ui/mount";
import type { ViewContext } from "../src/views/contract";
import { changedIn } from "../src/views/predictions/intact";
import { settled } from "./fake";
import { metaOf } from "./runs";

function grid(live = true, refuse = false) {
  const acts: Action[] = [];
  const said: string[] = [];
  const act = async (action: Action): Promise<void> => {
    acts.push(action);
    if (refuse) throw new Error("All heads would be off.");
  };
  const context = {
    source: { meta: metaOf(["[CLS]", "a", "[SEP]"], { heads_off: [[1, 2]] }) },
    act: live ? act : null,
    announce: (words: string) => void said.push(words),
    report: (error: unknown) => void said.push(explain(error).message),
    signal: new AbortController().signal,
  } as unknown as ViewContext;
  const off = createHeadsOff(context);
  const place = document.createElement("div");
  let changes = -1;
  mount(
    place,
    () => {
      changes++;
      return off.View();
    },
    context.signal,
  );
  const element = place.firstElementChild as HTMLElement;
  return { off, element, acts, said, changes: () => changes };
}

it("adds heads to those that are off, and takes them back", () => {
  const { off, element, acts } = grid();
  expect(element.textContent).toContain("L1 · H2 switched off");
  off.toggle(0, 1);
  expect(acts.at(-1)).toEqual({
    kind: "switch_off",
    heads: [
      [0, 1],
      [1, 2],
    ],
  });
  // As after the run, which lists them in this order.
  expect(element.textContent).toContain("L0 · H1, L1 · H2 switched off");
  off.toggle(1, 2);
  expect(acts.at(-1)).toEqual({ kind: "switch_off", heads: [[0, 1]] });
  element.querySelector("button")?.click();
  expect(acts.at(-1)).toEqual({ kind: "switch_off", heads: [] });
  expect(element.hidden).toBe(true);
});

it("is as it was when the kernel refuses", async () => {
  const { off, said, changes } = grid(true, true);
  off.toggle(0, 0);
  expect(off.isOff(0, 0)).toBe(true);
  await settled();
  expect(off.isOff(0, 0)).toBe(false);
  expect(off.isOff(1, 2)).toBe(true);
  expect(said.at(-1)).toContain("All heads");
  expect(changes()).toBe(2);
});

it("says in a saved page that it takes a kernel", () => {
  const { off, said, acts } = grid(false);
  off.toggle(0, 0);
  expect(said.at(-1)).toContain("needs a running kernel");
  expect(off.isOff(0, 0)).toBe(false);
  expect(acts).toEqual([]);
});

it("finds the positions whose first choice is another one now", () => {
  const nd = (values: number[]): NdArray => ({
    data: Float64Array.from(values),
    shape: [values.length],
  });
  const slice = {
    data: { vocabulary: { 5: "are", 6: "here" } },
    arrays: new Map([
      ["ids", nd([4, 5, 6])],
      ["probabilities", nd([0.9, 0.6, 0.5])],
      ["left", nd([0.1, 0.2, 0.5])],
    ]),
  };
  const lost = { position: 1, before: "are", probability: 0.6, left: 0.2 };
  expect(changedIn(slice, [9, 9, 6], [true, false, false])).toEqual([{ ...lost, changed: true }]);
  expect(changedIn(slice, [9, 5, 6], [true, false, false])).toEqual([{ ...lost, changed: false }]);
});

it("takes a head by its numbers, and no other keys", () => {
  const found: [number, number][] = [];
  const type = createTyping((...head) => void found.push(head));
  expect(["1", "0", ".", "7"].map(type)).toEqual([true, true, true, true]);
  expect(type("x")).toBe(false);
  expect(found).toEqual([[10, 7]]);
});
