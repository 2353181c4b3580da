// @vitest-environment jsdom
/** The verdict on why a head looks there, and what running without entries adds to it. */

import { describe, expect, test } from "vitest";
import { checkedOf } from "../../../src/features/qk/groups";
import type { SliceRequest } from "../../../src/protocol/types";
import { settled } from "../../fake";
import { fieldsOf } from "../../runs";
import {
  answerOf,
  byParts,
  CELL,
  cell,
  draw,
  find,
  foundFor,
  PARTS,
  page,
  press,
  text,
} from "./qk-view";

test("the verdict is about other tokens than the pair itself", async () => {
  draw();
  await press(find("why-here"));
  await press(find("qk-without"));
  expect(text("qk-verdict")).toContain("because of [CLS]0");
  cell.value = { ...CELL, query: 1, key: 0 };
  await settled();
  expect(find("qk-verdict"), "entries 0 and 1 are the pair").toBeNull();
});

test("the verdict by parts names a cause on each side, above the sums that it is about", async () => {
  const without = (query: number) => (request: SliceRequest) => {
    const slice = answerOf(request);
    if (request.kind !== "qk_effects" || fieldsOf(request).side !== "query") return slice;
    const effects = [{ part: 4, direct: 1, total: 2, weight: query }];
    return { ...slice, data: { ...slice.data, effects } };
  };
  draw({}, without(0.03));
  await press(find("why-here"));
  await byParts();
  await press(find("qk-without"));
  expect(text("qk-verdict")).toMatch(
    /^his4 looks at man2 because of the L0 FFN on the query side and of .* on the key side: without the first the weight is 3\.00% instead of 75\.0%; without the second it is 10\.0%\.$/,
  );
  expect(page.place.textContent, "what “without” means").toContain("at the query by nothing");
  expect(find("qk-two-questions"), "no head can be switched off").toBeNull();
  const order = ["qk-line", "qk-without", "qk-verdict", "qk-key", "qk-show-pairs"].map(find);
  for (const [i, each] of order.slice(1).entries())
    expect(
      order[i]!.compareDocumentPosition(each!) & Node.DOCUMENT_POSITION_FOLLOWING,
    ).toBeTruthy();
  expect(text("qk-key"), "next to the weight as it is").toContain("weight without it, of 75.0%");
  page.fake.stop();
  draw({}, without(0.7));
  if (find("qk-line") === null) await press(find("why-here"));
  await byParts();
  await press(find("qk-without"));
  expect(text("qk-verdict"), "one cause").toMatch(
    /because of .* on the key side: without it the weight is 10\.0% .*; without the L0 FFN on the query side it is 70\.0%\.$/,
  );
});

test("a total that falls while the weight rises is explained, and no other", async () => {
  const of = (total: number, weight: number) => (request: SliceRequest) => {
    const slice = answerOf(request);
    const effects = [{ part: 0, direct: 1, total, weight }];
    return request.kind === "qk_effects" ? { ...slice, data: { ...slice.data, effects } } : slice;
  };
  draw({}, of(0.131, 0.7));
  await press(find("why-here"));
  await press(find("qk-without"));
  expect(find("qk-verdict")).not.toBeNull();
  expect(find("qk-opposite"), "both fall").toBeNull();
  for (const [total, weight, words] of [
    [0.131, 0.828, "its weight rises"],
    [-0.131, 0.7, "its weight falls"],
  ] as const) {
    page.fake.stop();
    page.place.replaceChildren();
    draw({}, of(total, weight));
    if (find("qk-line") === null) await press(find("why-here"));
    await press(find("qk-without"));
    expect(text("qk-opposite")).toContain("the key with the mean of the other words");
    expect(text("qk-opposite")).toContain("Without [CLS]0 the key");
    expect(text("qk-opposite")).toContain(words);
  }
});

test("where every entry alone would be the cause, the verdict names none", async () => {
  const all = (weights: readonly number[]) => (request: SliceRequest) => {
    const slice = answerOf(request);
    const effects = weights.map((weight, i) => ({
      part: [0, 1, 3][i],
      direct: 1,
      total: 2,
      weight,
    }));
    return request.kind === "qk_effects" ? { ...slice, data: { ...slice.data, effects } } : slice;
  };
  draw({}, all([0.02, 0.05, 0.03]));
  await press(find("why-here"));
  await press(find("qk-without"));
  expect(text("qk-verdict")).toBe(
    "Without any one of these other tokens the weight is at most 5.00% instead of 75.0%: the run does not tell which of them matters.",
  );
  page.fake.stop();
  draw({}, all([0.02, 0.05, 0.5]));
  if (find("qk-line") === null) await press(find("why-here"));
  await press(find("qk-without"));
  expect(text("qk-verdict"), "one of them leaves the weight").toContain("because of [CLS]0");
});

test("of a key below the others the verdict says what keeps the head away from it", async () => {
  const below = (weight: number) => (request: SliceRequest) => {
    const slice = answerOf(request);
    const data = { ...slice.data, contrast: -2, weight };
    return request.kind === "qk" ? { ...slice, data } : slice;
  };
  draw({}, below(0.01));
  await press(find("why-here"));
  await press(find("qk-without"));
  expect(text("qk-verdict")).toMatch(
    /^his4 looks away from man2 because of .* 50\.0% instead of 1\.00%/,
  );
  page.fake.stop();
  draw({}, below(0.4));
  await press(find("why-here"));
  if (find("qk-line") === null) await press(find("why-here"));
  await press(find("qk-without"));
  expect(text("qk-verdict")).toMatch(
    /^None of the other tokens alone keeps the head away: without/,
  );
});

test("the network is run without the entries that are listed, heads first, never without a distance", async () => {
  draw();
  const found = await foundFor("parts");
  expect(checkedOf(found, "key").slice(0, 3).sort()).toEqual([1, 2, 3]);
  expect(checkedOf(found, "key")).toHaveLength(PARTS.length);
  const key = found.parts.key.map((each) =>
    each.kind === "ffn" ? { ...each, kind: "distance" as const } : each,
  );
  expect(checkedOf({ ...found, parts: { ...found.parts, key } }, "key")).not.toContain(4);
});

describe("running without the largest", () => {
  test("puts total and weight next to the direct numbers, and only then says because", async () => {
    draw();
    await press(find("why-here"));
    expect(page.place.textContent).not.toContain("because");
    await press(find("qk-without"));
    const row = find("qk-key")?.querySelector('[data-part="0"]');
    const { sums } = await foundFor("tokens");
    const numbers = [...(row?.querySelectorAll<HTMLElement>("[data-aw-value]") ?? [])].map((each) =>
      Number(each.dataset.awValue),
    );
    if (row !== null) expect(numbers).toEqual([sums.key[0], sums.key[0], sums.key[0]! / 2, 0.1]);
    expect(text("qk-verdict")).toMatch(
      /because of .*: without it the weight is 10\.0% instead of 75\.0%\.$/,
    );
    page.held = [];
    cell.value = { ...CELL, key: 3 };
    for (const answer of page.held) answer();
    await settled();
    expect(find("qk-line"), "the sum is here").not.toBeNull();
    expect(find("qk-verdict"), "another cell has not been run yet").toBeNull();
    await press(find("qk-check-progress")?.querySelector("button") ?? null);
    await press(find("qk-without"));
    expect(find("qk-check"), "off again").toBeNull();
  });
});
