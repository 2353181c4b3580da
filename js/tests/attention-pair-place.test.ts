/** The place below the pinned pair, which features fill. */

// @vitest-environment jsdom
import type { ReadonlySignal } from "@preact/signals-core";
import { expect, test } from "vitest";
import { createPairPlace } from "../src/views/attention/pair-place";
import type { PairPart, PinnedCell } from "../src/views/contract";
import { matrixOf, run, WEIGHTS } from "./attention-view";

function placed(selection: Parameters<typeof run>[0]) {
  const { stage } = run(selection);
  let cell: ReadonlySignal<PinnedCell | null> | undefined;
  const pair: PairPart = (place, _, given) => {
    place.textContent = "why";
    cell = given;
  };
  const place = createPairPlace({ ...stage, pairs: [pair] });
  return { place, state: stage.state, cell: () => cell?.value };
}

test("knows the pair of a head's weights, and none of what has no query and key", () => {
  const { place, cell, state } = placed({ layer: 0, head: 0 });
  const matrix = matrixOf(WEIGHTS);
  place.show({ matrix, row: 2, column: 1 });
  expect(cell()).toEqual({ layer: 0, head: 0, query: 2, key: 1, merged: false });
  place.show({ matrix: { ...matrix, quantity: "rollout" }, row: 2, column: 1 });
  expect(cell()).toBeNull();
  place.show({ matrix, row: -1, column: -1 });
  expect(cell()).toBeNull();
  state.set({ layer: 1 });
  place.show({ matrix, row: 2, column: 1 });
  expect(cell(), "the matrix of the selected head is still to come").toBeNull();
});

test("says where a word of several tokens is pinned", () => {
  const { place, cell } = placed({ layer: 0, head: 0 });
  const matrix = matrixOf(WEIGHTS);
  const keys = matrix.keys.map((unit, i) => (i === 1 ? { ...unit, end: unit.end + 1 } : unit));
  place.show({ matrix: { ...matrix, keys }, row: 2, column: 1 });
  expect(cell()).toMatchObject({ key: 1, merged: true });
});

test("moves what stands in it to another box, and leaves it alone in the same one", () => {
  const { place } = placed({});
  const [one, two] = [document.createElement("div"), document.createElement("div")];
  place.hold(one);
  const first = one.firstChild;
  place.hold(one);
  expect(one.firstChild).toBe(first);
  place.hold(null);
  place.hold(two);
  expect([one.textContent, two.textContent]).toEqual(["", "why"]);
});
