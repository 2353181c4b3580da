/** The same cell of two runs: entries that belong together, and what only one run has. */

// @vitest-environment jsdom
import { signal } from "@preact/signals-core";
import { afterEach, expect, test } from "vitest";
import { changeOf, changesOf } from "../../../src/features/qk/changes";
import { qkCompared } from "../../../src/features/qk/compared";
import type { Found, Part } from "../../../src/features/qk/data";
import { SliceFailure } from "../../../src/protocol/failure";
import type { Slice, SliceRequest } from "../../../src/protocol/types";
import type { ComparedPair, PinnedCell } from "../../../src/views/contract";
import { type Fake, fakeRun, settled } from "../../fake";
import { fieldsOf, metaOf } from "../../runs";

const part = (kind: Part["kind"], more: Partial<Part> = {}): Part => ({
  ...{ kind, layer: null, head: null, token: null, source: null },
  ...more,
});
const token = (at: number) => part("token", { token: at });
const found = (parts: readonly Part[], values: readonly number[]): Found =>
  ({
    ...{ by: "tokens", others: ["tokens"], against: "others", contrast: 0 },
    parts: { query: parts, key: parts },
    sums: { query: Float32Array.from(values), key: Float32Array.from(values) },
  }) as unknown as Found;

/** Token 1 of A has no partner, and token 1 of B is new; heads 0 and 1 are exchanged. */
const PARTNERS: ComparedPair["partners"] = {
  token: (_side, at) => [0, null, 2][at] ?? null,
  head: (layer, head) => (head === 2 ? null : [layer, 1 - head]),
};

test("tokens stand next to their partners, and what one run lacks brings nothing there", () => {
  const a = found([token(0), token(1), token(2)], [1, 2, 4]);
  const b = found([token(0), token(1), token(2)], [1.5, 8, 3]);
  const rows = changesOf(a, b, "key", PARTNERS);
  expect(rows).toEqual([
    { a: null, b: 1, values: [0, 8] },
    { a: 1, b: null, values: [2, 0] },
    { a: 2, b: 2, values: [4, 3] },
    { a: 0, b: 0, values: [1, 1.5] },
  ]);
  expect(rows.map(changeOf)).toEqual([8, -2, -1, 0.5]);
});

test("heads stand next to their partners, all others next to their like", () => {
  const heads = [0, 1, 2].map((head) => part("head", { layer: 3, head, source: head }));
  const all = [...heads, part("ffn", { layer: 3 }), part("bias")];
  const a = found(all, [1, 2, 3, 4, 5]);
  const b = found(all.slice(0, 4), [20, 10, 0, 4.5]);
  const rows = changesOf(a, b, "query", PARTNERS);
  expect(rows).toHaveLength(6);
  expect(rows).toContainEqual({ a: 0, b: 1, values: [1, 10] });
  expect(rows).toContainEqual({ a: 1, b: 0, values: [2, 20] });
  expect(rows).toContainEqual({ a: 2, b: null, values: [3, 0] });
  expect(rows).toContainEqual({ a: null, b: 2, values: [0, 0] });
  expect(rows).toContainEqual({ a: 3, b: 3, values: [4, 4.5] });
  expect(rows).toContainEqual({ a: 4, b: null, values: [5, 0] });
});

let fakes: Fake[] = [];
afterEach(() => {
  for (const fake of fakes) fake.stop();
  document.body.replaceChildren();
});

const CELL: PinnedCell = { layer: 1, head: 0, query: 2, key: 0, merged: false };
function draw(answers: readonly (() => Slice)[], live = true) {
  fakes = ["the", "a"].map((first, i) =>
    fakeRun(metaOf([first, "old", "cat"]), () => answers[i]!(), { live }),
  );
  const [a, b] = fakes as [Fake, Fake];
  const cells = signal<ComparedPair["cells"]["value"]>(null);
  const place = document.createElement("div");
  document.body.append(place);
  const { state, context } = a;
  qkCompared(place, {
    sources: { a: a.source, b: b.source },
    ...{ cells, state, partners: PARTNERS, signal: context.signal },
  });
  const find = (name: string) => place.querySelector<HTMLElement>(`[data-aw-part="${name}"]`);
  return { place, cells, find };
}
const slice =
  (values: readonly number[], contrast: number, queries = values) =>
  (): Slice => ({
    data: {
      ...{ by: "tokens", others: ["tokens", "parts"], against: "others", againsts: ["others"] },
      ...{ fallback: null, score: 1, weight: 0.5, contrast, constant: 0, distance: 0, gap: 0 },
      ...{ capped: null, unreliable: false, notes: [], pairs: [], pairs_rest: 0 },
      query_parts: [0, 1, 2].map(token),
      key_parts: [0, 1, 2].map(token),
    },
    arrays: new Map(
      Object.entries({ query_sums: queries, key_sums: values }).map(([name, data]) => [
        name,
        { data: Float32Array.from(data), shape: [3] },
      ]),
    ),
  });

test("both runs are asked about the pair, and the columns add up to their contrasts", async () => {
  const { place, cells, find } = draw([slice([1, 2, 4], 7), slice([1.5, 8, 3], 12.5)]);
  expect(place.textContent, "no pair that both have").toBe("");
  cells.value = { a: CELL, b: { ...CELL, query: 1 } };
  find("why-here")?.click();
  await settled();
  const asked = (run: number): SliceRequest[] => fakes[run]!.asked;
  expect(asked(0)).toHaveLength(1);
  expect(fieldsOf(asked(1)[0]!)).toMatchObject({ kind: "qk", query: 1, key: 0, by: null });
  const numbers = (name: string, rows: string) =>
    [...(find(name)?.querySelectorAll<HTMLElement>(`${rows} [data-aw-value]`) ?? [])].map((each) =>
      Number(each.dataset.awValue),
    );
  for (const name of ["qk-compared-key", "qk-compared-query"])
    expect(numbers(name, "tfoot")).toEqual([7, 12.5, 5.5]);
  expect(find("qk-change")?.textContent).toBe(
    "In B the contrast is 5.50 higher. What changes most: old1 (only in B) on the key side, +8.00; old1 (only in B) on the query side, +8.00.",
  );
  expect(find("qk-compared-key")?.textContent, "another word").toContain("the0 → a0");
  place.querySelector<HTMLElement>('[data-by="parts"]')?.click();
  await settled();
  expect([0, 1].map((run) => fieldsOf(asked(run).at(-1)!).by)).toEqual(["parts", "parts"]);
  cells.value = null;
  expect(place.textContent).toBe("");
});

test("bars of both sides have one scale", async () => {
  const { cells, find } = draw([slice([1, 2, 4], 7, [0, 0, 0]), slice([1, 2, 8], 11, [0, 0, 1])]);
  cells.value = { a: CELL, b: CELL };
  find("why-here")?.click();
  await settled();
  const longest = (side: string) =>
    Math.max(
      ...[
        ...find(`qk-compared-${side}`)!.querySelectorAll<HTMLElement>("tbody .aw-change-bar"),
      ].map((bar) => Number.parseFloat(bar.style.inlineSize)),
    );
  expect([longest("key"), longest("query")]).toEqual([50, 12.5]);
});

test("a refusal of one run is said, and a page that lacks a sum says that it needs a kernel", async () => {
  const refused = () => {
    throw new SliceFailure("“cat” may not look at “a”: the mask forbids it.");
  };
  const { cells, find } = draw([slice([1, 2, 4], 7), refused]);
  cells.value = { a: CELL, b: CELL };
  find("why-here")?.click();
  await settled();
  expect(find("qk-absent")?.textContent).toContain("the mask forbids it");
  for (const fake of fakes) fake.stop();
  const saved = draw([refused, refused], false);
  saved.cells.value = { a: CELL, b: CELL };
  saved.find("why-here")?.click();
  await settled();
  expect(saved.find("qk-absent")?.textContent).toContain("It needs a kernel");
  expect(fakes.flatMap(({ asked }) => asked)).toEqual([]);
});
