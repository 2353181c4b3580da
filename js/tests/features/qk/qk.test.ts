// @vitest-environment jsdom
/** Why a head looks there, over made-up answers: the pinned cell, its sides, its pairs, the trace and the file. */

import { describe, expect, test } from "vitest";
import { groupsOf } from "../../../src/features/qk/groups";
import { namesOf } from "../../../src/features/qk/names";
import { linkedOf } from "../../../src/features/qk/pairs";
import { sumsTable } from "../../../src/features/qk/table";
import { traceTree } from "../../../src/features/qk/trace";
import { qk } from "../../../src/features/qk/view";
import { SliceFailure } from "../../../src/protocol/failure";
import type { Slice, SliceOptions, SliceRequest, Source } from "../../../src/protocol/types";
import { fakeRun, settled } from "../../fake";
import { fieldsOf, metaOf } from "../../runs";
import {
  answerOf,
  byParts,
  CELL,
  cell,
  draw,
  find,
  foundFor,
  N,
  NOTE,
  nd,
  PARTS,
  page,
  press,
  TOKENS,
  TRACE,
  text,
  value,
} from "./qk-view";

describe("a pinned cell", () => {
  test("asks nothing before its button is pressed, then says what stands against what", async () => {
    draw();
    await settled();
    expect(page.fake.asked).toEqual([]);
    await press(find("why-here"));
    expect(page.fake.asked).toHaveLength(1);
    expect(fieldsOf(page.fake.asked[0]!)).toMatchObject({
      kind: "qk",
      ...{ layer: 1, head: 2, query: 4, key: 2 },
    });
    expect(text("qk-line")).toMatch(
      /^L1 · H2: his4 looks at man2 \(75\.0%\): its score is \d.* (above|below) the mean of the other words\.$/,
    );
    expect(text("qk-notes")).toBe(NOTE);
    const { contrast } = await foundFor("tokens");
    expect(value("qk-key-total")).toBe(contrast);
    expect(value("qk-query-total")).toBe(contrast);
    expect(page.place.textContent, "the same number twice").toContain("do not add them");
  });

  test("keeps its sum open for the next pair, cleared while that is computed, and never shows an answer for another one", async () => {
    draw();
    await press(find("why-here"));
    page.held = [];
    cell.value = { ...CELL, key: 3 };
    await settled();
    expect(find("qk-line")).toBeNull();
    expect(page.place.querySelector("[aria-busy]")).not.toBeNull();
    const late = page.held;
    page.held = [];
    cell.value = { ...CELL, key: 5 };
    for (const answer of late) answer();
    await settled();
    expect(find("qk-line")).toBeNull();
    for (const answer of page.held) answer();
    await settled();
    expect(text("qk-line")).toContain("looks at keys5");
    cell.value = { ...CELL, layer: 0, head: 1, key: 5 };
    await settled();
    for (const answer of page.held) answer();
    await settled();
    expect(text("qk-line"), "the same link in another head").toMatch(
      /^L0 · H1: his4 looks at keys5/,
    );
    cell.value = null;
    expect(page.place.textContent).toBe("");
  });

  test("that is cleared, or whose text is replaced, while it computes is asked about no further", async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const waits = (request: SliceRequest, { signal }: SliceOptions = {}) => {
      signals.push(signal);
      return new Promise<Slice>((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason));
        page.held?.push(() => resolve(answerOf(request)));
      });
    };
    page.fake = fakeRun(metaOf(TOKENS), waits);
    qk(page.place, page.fake.context, cell);
    page.held = [];
    find("why-here")?.click();
    expect(signals.map((each) => each?.aborted)).toEqual([false]);
    cell.value = null;
    expect(signals[0]?.aborted).toBe(true);
    await settled();
    cell.value = CELL;
    expect(signals).toHaveLength(2);
    await press(find("qk-progress")?.querySelector("button") ?? null);
    expect(signals[1]?.aborted, "canceled by the reader").toBe(true);
    expect(find("qk")?.textContent, "and can be asked again").toContain("Compute the sum");
    find("qk")?.querySelector<HTMLElement>("button.aw-plain-button:not([aria-expanded])")?.click();
    expect(signals).toHaveLength(3);
    page.fake.stop();
    for (const answer of page.held) answer();
    await settled();
    expect(signals[2]?.aborted, "another text").toBe(true);
    expect(page.place.textContent).toBe("");
    expect(page.fake.reports).toEqual([]);
  });

  test("shows a refusal in place of the picture", async () => {
    const why = "A mean of heads has no query and key of its own: choose a head.";
    draw({}, () => {
      throw new SliceFailure(why);
    });
    await press(find("why-here"));
    expect(text("qk-absent")).toBe(why);
    expect(find("qk-key")).toBeNull();
  });

  test("says that it needs a kernel where there is none, unless the page has recorded it", async () => {
    draw({ live: false });
    await press(find("why-here"));
    expect(text("qk-absent")).toContain("It needs a kernel");
    expect(page.fake.asked).toEqual([]);
    page.fake.stop();
    const one: Source["has"] = (request) =>
      request.kind === "qk" && request.key === 2 && request.against === "others" && !request.by;
    draw({ live: false, has: one });
    await settled();
    expect(text("qk-line"), "open as it was saved").toContain("looks at man");
    for (const name of ["qk-without", "qk-start-trace", "qk-by"])
      expect(find(name), `${name} is not in the page`).toBeNull();
    expect([...page.place.querySelectorAll("[data-against]")]).toHaveLength(1);
    expect(text("qk-notes")).toBe("It adds up exactly.");
    cell.value = { ...CELL, key: 3 };
    await settled();
    expect(text("qk-absent")).toBe(
      "The sum of this pair is not in this saved page. It needs a kernel: open the text in a notebook.",
    );
    page.fake.stop();
    cell.value = CELL;
    draw({ live: false, has: () => true });
    await settled();
    await press(find("qk-without"));
    expect(text("qk-verdict"), "what was run when it was saved").toContain("because of [CLS]0");
    await byParts();
    expect(find("qk-start-trace")).not.toBeNull();
    expect(find("qk-key")?.textContent).toContain("FFNs");
  });

  test("says of a model in the page that it does not compute this", async () => {
    draw({ has: () => false });
    await press(find("why-here"));
    expect(text("qk-absent")).toBe(
      "The model in this page does not compute why a head looks there. It needs a kernel: open the text in a notebook.",
    );
    expect(page.fake.asked).toEqual([]);
  });

  test("asks for the default way without naming it, so that there is one answer to keep", async () => {
    draw();
    await press(find("why-here"));
    await byParts();
    await press(page.place.querySelector<HTMLElement>('[data-by="tokens"]'));
    expect(page.fake.asked.map((each) => fieldsOf(each).by)).toEqual([null, "parts"]);
    expect(text("qk-line")).toContain("looks at man");
  });

  test("asks for a single token where a word of several is pinned", async () => {
    cell.value = { ...CELL, merged: true };
    draw();
    await press(find("why-here"));
    expect(page.fake.asked).toEqual([]);
    expect(page.place.textContent).toContain("several tokens");
  });
});

describe("the sides", () => {
  test("list heads first, each group with its sum, and close", async () => {
    draw();
    const found = await foundFor("parts");
    const groups = groupsOf(found.parts.key, found.sums.key);
    expect(groups.map(({ name }) => name)).toEqual(["Heads", "FFNs", "Embedding and biases"]);
    expect(groups.reduce((sum, { total }) => sum + total, 0)).toBe(found.contrast);
    for (const { rows, rest, total } of groups)
      expect(rows.reduce((sum, { value }) => sum + value, rest?.value ?? 0)).toBe(total);
    const [tokens] = groupsOf(
      (await foundFor("tokens")).parts.query,
      (await foundFor("tokens")).sums.query,
    );
    expect(tokens).toMatchObject({ name: null, rest: { count: N - 5, of: "tokens" } });
  });

  test("have bars on one scale, so that a number is as long on either", async () => {
    // The largest entry of the query side is a quarter of that of the key side.
    const uneven = (request: SliceRequest): Slice => {
      const slice = answerOf(request);
      const sums = [1, 2, 1, 0, 1, 1, 2];
      const of = (scale: number) => nd(Float32Array.from(sums, (each) => each * scale));
      return request.kind === "qk"
        ? {
            ...slice,
            arrays: new Map([
              ["key_sums", of(4)],
              ["query_sums", of(1)],
            ]),
          }
        : slice;
    };
    draw({}, uneven);
    await press(find("why-here"));
    for (const [side, scale] of [
      ["key", 4],
      ["query", 1],
    ] as const) {
      const shares = [
        ...(find(`qk-${side}`)?.querySelectorAll<HTMLElement>(".aw-change") ?? []),
      ].map(
        (each) =>
          Number.parseFloat(each.querySelector<HTMLElement>(".aw-change-bar")!.style.inlineSize) /
          Number(each.dataset.awValue),
      );
      expect(shares.length).toBeGreaterThan(4);
      for (const share of shares) expect(share, `${side} ${scale}`).toBeCloseTo(50 / 8, 4);
    }
  });

  test("lead from a head to the cell at which it read, and back", async () => {
    draw({ selection: { layer: 1, head: 2, token: 4, pair: [4, 2] } });
    await press(find("why-here"));
    await byParts();
    await press(page.place.querySelector<HTMLElement>('[data-aw-part="qk-key"] [data-head="1"]'));
    const own = { layer: 0, head: 1, pair: [CELL.key, 4] };
    expect(page.fake.state.get(), "on the key side a head stands at the key").toMatchObject(own);
    cell.value = { ...CELL, layer: 0, head: 1, query: CELL.key, key: 4 };
    await settled();
    expect(text("qk-back")).toBe("← back to L1 · H2, his4 → man2");
    expect(document.activeElement, "the head's button is gone").toBe(find("qk-back"));
    await press(find("qk-back"));
    expect(page.fake.state.get()).toMatchObject({ layer: 1, head: 2, pair: [4, 2] });
    cell.value = CELL;
    await settled();
    expect(find("qk-back")).toBeNull();
    expect(document.activeElement).toBe(find("why-here"));
  });

  test("forget the way back once the reader pins another pair", async () => {
    draw();
    await press(find("why-here"));
    await byParts();
    await press(page.place.querySelector<HTMLElement>('[data-aw-part="qk-query"] [data-head="0"]'));
    expect(page.fake.state.get().pair, "on the query side a head stands at the query").toEqual([
      4, 3,
    ]);
    cell.value = { ...CELL, layer: 0, head: 0, key: 3 };
    expect(find("qk-back")).not.toBeNull();
    cell.value = { ...CELL, query: 5 };
    expect(find("qk-back")).toBeNull();
  });

  test("compare with a group of keys for every pair, and with another key for this one in every head", async () => {
    draw();
    const asked = () => fieldsOf(page.fake.asked.at(-1)!).against;
    await press(find("why-here"));
    await press(page.place.querySelector<HTMLElement>('[data-against="all"]'));
    expect(text("qk-line")).toContain("all other tokens");
    cell.value = { ...CELL, key: 3 };
    await settled();
    expect(asked()).toBe("all");
    await press(find("qk-show-pairs"));
    await press(page.place.querySelector<HTMLElement>('[data-side="b"][data-unit="5"]'));
    await press(find("qk-compare"));
    expect(asked()).toBe(5);
    expect(text("qk-line")).toMatch(/(above|below) keys5\.$/);
    cell.value = { ...CELL, key: 3, head: 0 };
    await settled();
    expect(asked()).toBe(5);
    cell.value = { ...CELL, key: 1 };
    await settled();
    expect(asked()).toBe("others");
  });
});

describe("the pairs", () => {
  test("leave out tokens that add nothing, and keep every other pair", async () => {
    draw();
    const found = await foundFor("tokens");
    const matrix = found.matrix!.slice();
    for (let k = 0; k < N; k++) matrix[6 * N + k] = 0; // a later token of a decoder
    const linked = linkedOf({ ...found, matrix }, namesOf(metaOf(TOKENS)))!;
    expect(linked.a.special).toEqual(TOKENS.map((_, i) => i === 6));
    expect(linked.b.special).toEqual(TOKENS.map(() => false));
    expect(linked.matrix!.ranked.reduce((sum, { value }) => sum + value, 0)).toBe(
      matrix.reduce((sum, value) => sum + value, 0),
    );
    expect(linked.matrix!.ranked[0]).toMatchObject({
      value: linked.matrix!.values[linked.matrix!.ranked[0]!.a * N + linked.matrix!.ranked[0]!.b],
    });
  });

  test("are threads and cells by tokens, and a list by parts", async () => {
    draw();
    await press(find("why-here"));
    await press(find("qk-show-pairs"));
    expect(find("qk-texts")?.querySelectorAll('[data-side="a"]')).toHaveLength(N);
    await byParts();
    expect(find("qk-texts")).toBeNull();
    expect(text("qk-pairs")).toContain("L0 · H0 × L0 · H1");
  });
});

describe("the trace", () => {
  test("says how it is to be read, in the direction in which it is drawn", async () => {
    draw();
    await press(find("why-here"));
    await press(find("qk-start-trace"));
    expect(text("qk-trace")).toContain("From left to right");
  });

  test("is a tree in which each step to a cell is a new question, with its stop said", async () => {
    draw();
    const { items } = traceTree(TRACE as never, namesOf(metaOf(TOKENS)));
    expect(items.map(({ name, index }) => `${name} ${index}`)).toEqual([
      "L1 · H2: his → man 4 → 2",
      "L0 · H1 key",
      "man → keys 2 → 5",
    ]);
    await press(find("why-here"));
    await press(find("qk-start-trace"));
    expect(page.place.querySelectorAll(".aw-tree-edge")).toHaveLength(2);
    expect(page.place.querySelectorAll(".aw-tree-edge.is-dashed")).toHaveLength(1);
    expect(text("qk-stops")).toContain("No head brings 15% of it.");
    const nodes = () => [...page.place.querySelectorAll<SVGElement>(".aw-tree-node")];
    const key = (name: string, on: number) =>
      nodes()[on]?.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
    key("ArrowLeft", 0);
    expect(nodes(), "closed").toHaveLength(1);
    key("ArrowRight", 0);
    key("Enter", 2);
    expect(page.fake.state.get()).toMatchObject({ layer: 0, head: 1, pair: [2, 5] });
  });
});

test("a file has every entry of both sides, which add up to the contrast", async () => {
  draw();
  const found = await foundFor("parts");
  const { columns, rows } = sumsTable(found, null, namesOf(metaOf(TOKENS)));
  const at = columns.indexOf("value");
  for (const side of ["key", "query"])
    expect(rows.filter(([of]) => of === side).reduce((sum, row) => sum + Number(row[at]), 0)).toBe(
      found.contrast,
    );
  expect(rows).toHaveLength(2 * PARTS.length);
});
