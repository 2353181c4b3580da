// @vitest-environment jsdom
/** The earlier heads that bring a head's score: shaded, listed and switched off. */

import { describe, expect, test } from "vitest";
import { gridOf, headsTop } from "../../../src/features/qk/heads";
import { largestHeads } from "../../../src/features/qk/off";
import { qk } from "../../../src/features/qk/view";
import { type Fake, fakeRun, settled } from "../../fake";
import { metaOf } from "../../runs";
import {
  answerOf,
  brought,
  byParts,
  CELL,
  cell,
  draw,
  find,
  foundFor,
  PARTS,
  page,
  press,
  TOKENS,
  text,
} from "./qk-view";

test("every earlier head is shaded by what it brings, layer by layer", async () => {
  draw();
  const found = await foundFor("parts");
  expect(gridOf(found, "key")).toMatchObject({ count: 3, values: found.sums.key.slice(1, 4) });
  expect(gridOf(await foundFor("tokens"), "key")).toBeNull();
  await press(find("why-here"));
  expect(find("qk-show-heads"), "no heads by tokens").toBeNull();
  await byParts();
  await press(find("qk-show-heads"));
  expect(page.place.querySelectorAll('[data-aw-part="qk-heads"] h4')).toHaveLength(2);
  const sizes = [...found.sums.key.slice(1, 4), ...found.sums.query.slice(1, 4)].map(Math.abs);
  expect(headsTop(found), "one scale of shades on both sides").toBe(Math.max(...sizes));
  for (const side of ["key", "query"])
    expect(text(`qk-head-${side}`)).toMatch(/^L0 · H\d from .*: [+-]/);
});

describe("heads that bring most", () => {
  const chips = () => [...(find("qk-off")?.querySelectorAll("button") ?? [])];
  const drawn = (off: readonly (readonly [number, number])[], state?: Fake["state"]) => {
    page.fake = fakeRun(
      { ...metaOf(TOKENS), heads_off: off },
      async (request) => answerOf(request),
      {
        acts: true,
        ...(state === undefined ? {} : { state }),
      },
    );
    qk(page.place, page.fake.context, cell);
  };

  test("are switched off together, largest first, and on again", async () => {
    drawn([]);
    await press(find("why-here"));
    expect(chips(), "no heads by tokens").toHaveLength(0);
    await byParts();
    const contrast = PARTS.reduce((sum, _, at) => sum + brought("key", at), 0);
    const sizes = PARTS.map((_, at) =>
      Math.max(...["key", "query"].map((side) => Math.sign(contrast) * brought(side, at))),
    );
    const heads = [0, 1, 2]
      .filter((head) => sizes[head + 1]! > 0)
      .sort((a, b) => sizes[b + 1]! - sizes[a + 1]!);
    expect(chips().map((chip) => Number(chip.dataset.head))).toEqual(heads);
    const [first, second] = heads as [number, number];
    await press(chips()[0]!);
    await press(chips().find((chip) => chip.dataset.head === String(second)) ?? null);
    const both = [first, second].sort().map((head) => [0, head]);
    expect(page.fake.acts.at(-1)).toEqual({ kind: "switch_off", heads: both });
    expect(chips().map((chip) => chip.ariaPressed ?? chip.getAttribute("aria-pressed"))).toEqual([
      ...["true", "true", "false"],
    ]);
    await press(chips()[0]!);
    expect(page.fake.acts.at(-1)).toEqual({ kind: "switch_off", heads: [both[1]] });
  });

  /** The same text again, with these heads off, as the widget draws it after a press. */
  const again = async (off: readonly (readonly [number, number])[]) => {
    const { state } = page.fake;
    page.fake.stop();
    page.place.replaceChildren();
    drawn(off, state);
    await settled();
  };

  test("keep their places while others are switched off, and what was open stays open", async () => {
    drawn([]);
    await press(find("why-here"));
    await byParts();
    await press(page.place.querySelector<HTMLElement>('[data-against="all"]'));
    expect(find("qk-two-questions"), "neither has been asked").toBeNull();
    for (const name of ["qk-without", "qk-show-heads", "qk-start-trace"]) await press(find(name));
    expect(text("qk-two-questions")).toContain("at every token");
    const names = () => chips().map(({ textContent }) => textContent);
    const before = names();
    expect(before.length).toBeGreaterThan(1);
    const last = chips().at(-1)!;
    const head = [0, Number(last.dataset.head)] as const;
    await press(last);
    expect(names(), "at once").toEqual(before);
    await again([head]);
    expect(names(), "after the run").toEqual(before);
    expect(chips().at(-1)!.getAttribute("aria-pressed")).toBe("true");
    const note = () => text("qk-two-questions");
    expect(note(), "both questions are answered").toContain("at this one token only");
    await press(find("qk-without"));
    expect(note(), "heads are off").toContain("at every token");
    await press(find("qk-without"));
    for (const name of ["qk-verdict", "qk-heads", "qk-trace"])
      expect(find(name), name).not.toBeNull();
    expect(page.place.querySelector('[data-against="all"]')?.getAttribute("aria-pressed")).toBe(
      "true",
    );
    expect(page.place.querySelector('[data-by="parts"]')?.getAttribute("aria-pressed")).toBe(
      "true",
    );
    cell.value = { ...CELL, key: 3 };
    await settled();
    expect(names()[0], "another cell has its own").toBe(before.at(-1));
    // Another text is another question.
    const { state } = page.fake;
    page.fake.stop();
    page.place.replaceChildren();
    page.fake = fakeRun(metaOf([...TOKENS, "x"]), async (request) => answerOf(request), { state });
    qk(page.place, page.fake.context, cell);
    await settled();
    expect(find("qk-line")).not.toBeNull();
    expect(find("qk-verdict")).toBeNull();
  });

  test("show what is left of the weight with all heads on", async () => {
    drawn([]);
    await press(find("why-here"));
    expect(text("qk-line")).not.toContain("all heads");
    const { state } = page.fake;
    page.fake.stop();
    page.place.replaceChildren();
    drawn([[0, 1]], state);
    await settled();
    expect(text("qk-line")).toContain("(75.0%; 75.0% with all heads on)");
    expect(chips()[0]?.textContent, "can be switched on by tokens, too").toBe("L0 · H1");
    cell.value = { ...CELL, key: 1 };
    await settled();
    expect(text("qk-line"), "never seen with all heads").not.toContain("all heads");
  });

  test("are those that carry the contrast, not those that work against it", async () => {
    draw();
    const found = await foundFor("parts");
    const of = Float32Array.of(9, 2, -5, 1, 8, 7);
    const sums = { key: of, query: new Float32Array(6) };
    expect(largestHeads({ ...found, sums, contrast: 3 })).toEqual([
      [0, 0],
      [0, 2],
    ]);
    expect(largestHeads({ ...found, sums, contrast: -3 })).toEqual([[0, 1]]);
  });

  test("are not offered where nothing runs", async () => {
    draw();
    await press(find("why-here"));
    await byParts();
    expect(find("qk-off")).toBeNull();
  });
});
