/** Why a head looks there, over made-up answers. */

// @vitest-environment jsdom
import { signal } from "@preact/signals-core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { askCell, cellRequest, type Found } from "../../../src/features/qk/data";
import { checkedOf, groupsOf } from "../../../src/features/qk/groups";
import { gridOf, headsTop } from "../../../src/features/qk/heads";
import { namesOf } from "../../../src/features/qk/names";
import { largestHeads } from "../../../src/features/qk/off";
import { linkedOf } from "../../../src/features/qk/pairs";
import { sumsTable } from "../../../src/features/qk/table";
import { traceTree } from "../../../src/features/qk/trace";
import { qk } from "../../../src/features/qk/view";
import { CachedSource } from "../../../src/protocol/cached-source";
import { SliceFailure } from "../../../src/protocol/failure";
import type {
  NdArray,
  Slice,
  SliceOptions,
  SliceRequest,
  Source,
} from "../../../src/protocol/types";
import type { PinnedCell } from "../../../src/views/contract";
import { type Fake, fakeRun, settled } from "../../fake";
import { fieldsOf, metaOf } from "../../runs";

// jsdom lays nothing out.
globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

const TOKENS = ["[CLS]", "the", "man", "lost", "his", "keys", "[SEP]"];
const N = TOKENS.length;
const CELL: PinnedCell = { layer: 1, head: 2, query: 4, key: 2, merged: false };
const NOTE = "It adds up exactly: 'run without each' shows that.";

const nd = (data: Float32Array, shape: readonly number[] = [data.length]): NdArray => ({
  data,
  shape,
});
const part = (kind: string, more: object = {}) => ({
  ...{ kind, layer: null, head: null, token: null, source: null },
  ...more,
});
const TOKEN_PARTS = TOKENS.map((_, token) => part("token", { token }));
const PARTS = [
  part("word"),
  ...[0, 1, 2].map((head) => part("head", { layer: 0, head, source: head + 3 })),
  part("ffn", { layer: 0 }),
  part("bias"),
];

/** A table of binary fractions, whose sums are exact, that depends on the cell. */
function tableOf(
  { layer, query, key }: { layer: number; query: number; key: number },
  size: number,
) {
  const rest = 1 + layer + 2 * query + 3 * key;
  return Float32Array.from({ length: size * size }, (_, at) => (((at * 7 + rest) % 23) - 10) / 8);
}
function answerOf(request: SliceRequest): Slice {
  const { kind, by, against, side, ...cell } = fieldsOf(request) as unknown as PinnedCell & {
    kind: string;
    by: string | null;
    against: string | number;
    side: "key" | "query";
  };
  const tokens = by !== "parts";
  const parts = tokens ? TOKEN_PARTS : PARTS;
  const size = parts.length;
  const table = tableOf(cell, size);
  const sums = { query: new Float32Array(size), key: new Float32Array(size) };
  table.forEach((value, at) => {
    sums.query[Math.floor(at / size)]! += value;
    sums.key[at % size]! += value;
  });
  if (kind === "qk_effects") {
    const effects = [0, 1].map((part) => ({
      ...{ part, direct: sums[side][part], total: sums[side][part]! / 2 },
      weight: side === "key" ? 0.1 : 0.5,
    }));
    return { data: { effects, weight: 0.75 }, arrays: new Map() };
  }
  if (kind === "qk_trace") return { data: { root: TRACE }, arrays: new Map() };
  return {
    data: {
      ...{ by: tokens ? "tokens" : "parts", others: ["tokens", "parts"], against },
      ...{ againsts: ["others", "all", "rivals"], fallback: null, score: 3, weight: 0.75 },
      ...{ contrast: table.reduce((sum, value) => sum + value, 0), constant: 0, distance: 0 },
      ...{ capped: null, unreliable: false, gap: 0, notes: [NOTE] },
      ...{ query_parts: parts, key_parts: parts, pairs: [[1, 2, 1.25]], pairs_rest: 0.5 },
    },
    arrays: new Map([
      ["query_sums", nd(sums.query)],
      ["key_sums", nd(sums.key)],
      ...(tokens ? [["matrix", nd(table, [size, size])] as const] : []),
    ]),
  };
}
/** What a part brings to the pinned cell, by parts. */
function brought(side: string, part: number): number {
  const table = tableOf(CELL, PARTS.length);
  return PARTS.map((_, at) =>
    side === "key" ? table[at * PARTS.length + part] : table[part * PARTS.length + at],
  ).reduce<number>((sum, value) => sum + value!, 0);
}
const SIDE = { heads: 1, ffns: -0.5, rest: 0.25, largest: [part("ffn", { layer: 0 }), -0.5] };
const LEAF = {
  ...{ layer: 0, head: 1, query: 2, key: 5, weight: 0.5, contrast: 1, children: [] },
  ...{ sides: { query: SIDE, key: SIDE }, stop: "No head brings 15% of it." },
};
const TRACE = {
  ...LEAF,
  ...{ layer: 1, head: 2, query: 4, key: 2, stop: null },
  children: [{ side: "key", part: [0, 1], value: 2.5, share: 0.5, node: LEAF }],
};

let fake: Fake;
let place: HTMLElement;
const cell = signal<PinnedCell | null>(null);
/** Answers that wait, where a test holds them back. */
let held: (() => void)[] | null;
/** What waits until the page has nothing else to do. */
let idle: (() => void)[];
async function quiet(): Promise<void> {
  while (idle.length > 0) {
    for (const act of idle.splice(0)) act();
    await settled();
  }
}

function draw(change: Parameters<typeof fakeRun>[2] = {}, answer = answerOf): void {
  const meta = metaOf(TOKENS);
  fake = fakeRun(
    meta,
    async (request) => {
      if (held !== null) await new Promise<void>((resolve) => held?.push(resolve));
      return answer(request);
    },
    change,
  );
  qk(place, fake.context, cell);
}
const find = (name: string): HTMLElement | null => place.querySelector(`[data-aw-part="${name}"]`);
const text = (name: string): string => find(name)?.textContent?.replaceAll("−", "-") ?? "";
async function press(target: HTMLElement | null): Promise<void> {
  expect(target).not.toBeNull();
  target?.click();
  await settled();
}
const byParts = () => press(place.querySelector<HTMLElement>('[data-by="parts"]'));
const value = (name: string): number => Number(find(name)?.dataset.awValue);

beforeEach(() => {
  place = document.createElement("div");
  document.body.append(place);
  cell.value = CELL;
  held = null;
  idle = [];
  vi.stubGlobal("requestIdleCallback", (act: () => void) => idle.push(act));
});
afterEach(() => {
  vi.unstubAllGlobals();
  fake.stop();
  place.remove();
});

async function foundFor(by: "tokens" | "parts"): Promise<Found> {
  return askCell(fake.source, cellRequest(CELL, "others", by), {});
}

describe("a pinned cell", () => {
  test("asks nothing before its button is pressed, then says what stands against what", async () => {
    draw();
    await settled();
    expect(fake.asked).toEqual([]);
    await press(find("why-here"));
    expect(fake.asked).toHaveLength(1);
    expect(fieldsOf(fake.asked[0]!)).toMatchObject({
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
    expect(place.textContent, "the same number twice").toContain("do not add them");
  });

  test("keeps its sum open for the next pair, cleared while that is computed, and never shows an answer for another one", async () => {
    draw();
    await press(find("why-here"));
    held = [];
    cell.value = { ...CELL, key: 3 };
    await settled();
    expect(find("qk-line")).toBeNull();
    expect(place.querySelector("[aria-busy]")).not.toBeNull();
    const late = held;
    held = [];
    cell.value = { ...CELL, key: 5 };
    for (const answer of late) answer();
    await settled();
    expect(find("qk-line")).toBeNull();
    for (const answer of held) answer();
    await settled();
    expect(text("qk-line")).toContain("looks at keys5");
    cell.value = { ...CELL, layer: 0, head: 1, key: 5 };
    await settled();
    for (const answer of held) answer();
    await settled();
    expect(text("qk-line"), "the same link in another head").toMatch(
      /^L0 · H1: his4 looks at keys5/,
    );
    cell.value = null;
    expect(place.textContent).toBe("");
  });

  test("that is cleared, or whose text is replaced, while it computes is asked about no further", async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const waits = (request: SliceRequest, { signal }: SliceOptions = {}) => {
      signals.push(signal);
      return new Promise<Slice>((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason));
        held?.push(() => resolve(answerOf(request)));
      });
    };
    fake = fakeRun(metaOf(TOKENS), waits);
    qk(place, fake.context, cell);
    held = [];
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
    fake.stop();
    for (const answer of held) answer();
    await settled();
    expect(signals[2]?.aborted, "another text").toBe(true);
    expect(place.textContent).toBe("");
    expect(fake.reports).toEqual([]);
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
    expect(fake.asked).toEqual([]);
    fake.stop();
    const one: Source["has"] = (request) =>
      request.kind === "qk" && request.key === 2 && request.against === "others" && !request.by;
    draw({ live: false, has: one });
    await settled();
    expect(text("qk-line"), "open as it was saved").toContain("looks at man");
    for (const name of ["qk-without", "qk-start-trace", "qk-by"])
      expect(find(name), `${name} is not in the page`).toBeNull();
    expect([...place.querySelectorAll("[data-against]")]).toHaveLength(1);
    expect(text("qk-notes")).toBe("It adds up exactly.");
    cell.value = { ...CELL, key: 3 };
    await settled();
    expect(text("qk-absent")).toBe(
      "The sum of this pair is not in this saved page. It needs a kernel: open the text in a notebook.",
    );
    fake.stop();
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
    expect(fake.asked).toEqual([]);
  });

  test("asks for the default way without naming it, so that there is one answer to keep", async () => {
    draw();
    await press(find("why-here"));
    await byParts();
    await press(place.querySelector<HTMLElement>('[data-by="tokens"]'));
    expect(fake.asked.map((each) => fieldsOf(each).by)).toEqual([null, "parts"]);
    expect(text("qk-line")).toContain("looks at man");
  });

  test("asks for a single token where a word of several is pinned", async () => {
    cell.value = { ...CELL, merged: true };
    draw();
    await press(find("why-here"));
    expect(fake.asked).toEqual([]);
    expect(place.textContent).toContain("several tokens");
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
    await press(place.querySelector<HTMLElement>('[data-aw-part="qk-key"] [data-head="1"]'));
    const own = { layer: 0, head: 1, pair: [CELL.key, 4] };
    expect(fake.state.get(), "on the key side a head stands at the key").toMatchObject(own);
    cell.value = { ...CELL, layer: 0, head: 1, query: CELL.key, key: 4 };
    await settled();
    expect(text("qk-back")).toBe("← back to L1 · H2, his4 → man2");
    expect(document.activeElement, "the head's button is gone").toBe(find("qk-back"));
    await press(find("qk-back"));
    expect(fake.state.get()).toMatchObject({ layer: 1, head: 2, pair: [4, 2] });
    cell.value = CELL;
    await settled();
    expect(find("qk-back")).toBeNull();
    expect(document.activeElement).toBe(find("why-here"));
  });

  test("forget the way back once the reader pins another pair", async () => {
    draw();
    await press(find("why-here"));
    await byParts();
    await press(place.querySelector<HTMLElement>('[data-aw-part="qk-query"] [data-head="0"]'));
    expect(fake.state.get().pair, "on the query side a head stands at the query").toEqual([4, 3]);
    cell.value = { ...CELL, layer: 0, head: 0, key: 3 };
    expect(find("qk-back")).not.toBeNull();
    cell.value = { ...CELL, query: 5 };
    expect(find("qk-back")).toBeNull();
  });

  test("compare with a group of keys for every pair, and with another key for this one in every head", async () => {
    draw();
    const asked = () => fieldsOf(fake.asked.at(-1)!).against;
    await press(find("why-here"));
    await press(place.querySelector<HTMLElement>('[data-against="all"]'));
    expect(text("qk-line")).toContain("all other tokens");
    cell.value = { ...CELL, key: 3 };
    await settled();
    expect(asked()).toBe("all");
    await press(find("qk-show-pairs"));
    await press(place.querySelector<HTMLElement>('[data-side="b"][data-unit="5"]'));
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

test("every earlier head is shaded by what it brings, layer by layer", async () => {
  draw();
  const found = await foundFor("parts");
  expect(gridOf(found, "key")).toMatchObject({ count: 3, values: found.sums.key.slice(1, 4) });
  expect(gridOf(await foundFor("tokens"), "key")).toBeNull();
  await press(find("why-here"));
  expect(find("qk-show-heads"), "no heads by tokens").toBeNull();
  await byParts();
  await press(find("qk-show-heads"));
  expect(place.querySelectorAll('[data-aw-part="qk-heads"] h4')).toHaveLength(2);
  const sizes = [...found.sums.key.slice(1, 4), ...found.sums.query.slice(1, 4)].map(Math.abs);
  expect(headsTop(found), "one scale of shades on both sides").toBe(Math.max(...sizes));
  for (const side of ["key", "query"])
    expect(text(`qk-head-${side}`)).toMatch(/^L0 · H\d from .*: [+-]/);
});

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
  expect(place.textContent, "what “without” means").toContain("at the query by nothing");
  expect(find("qk-two-questions"), "no head can be switched off").toBeNull();
  const order = ["qk-line", "qk-without", "qk-verdict", "qk-key", "qk-show-pairs"].map(find);
  for (const [i, each] of order.slice(1).entries())
    expect(
      order[i]!.compareDocumentPosition(each!) & Node.DOCUMENT_POSITION_FOLLOWING,
    ).toBeTruthy();
  expect(text("qk-key"), "next to the weight as it is").toContain("weight without it, of 75.0%");
  fake.stop();
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
    fake.stop();
    place.replaceChildren();
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
  fake.stop();
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
  fake.stop();
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
    expect(place.textContent).not.toContain("because");
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
    held = [];
    cell.value = { ...CELL, key: 3 };
    for (const answer of held) answer();
    await settled();
    expect(find("qk-line"), "the sum is here").not.toBeNull();
    expect(find("qk-verdict"), "another cell has not been run yet").toBeNull();
    await press(find("qk-check-progress")?.querySelector("button") ?? null);
    await press(find("qk-without"));
    expect(find("qk-check"), "off again").toBeNull();
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

describe("heads that bring most", () => {
  const chips = () => [...(find("qk-off")?.querySelectorAll("button") ?? [])];
  const drawn = (off: readonly (readonly [number, number])[], state?: Fake["state"]) => {
    fake = fakeRun({ ...metaOf(TOKENS), heads_off: off }, async (request) => answerOf(request), {
      acts: true,
      ...(state === undefined ? {} : { state }),
    });
    qk(place, fake.context, cell);
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
    expect(fake.acts.at(-1)).toEqual({ kind: "switch_off", heads: both });
    expect(chips().map((chip) => chip.ariaPressed ?? chip.getAttribute("aria-pressed"))).toEqual([
      ...["true", "true", "false"],
    ]);
    await press(chips()[0]!);
    expect(fake.acts.at(-1)).toEqual({ kind: "switch_off", heads: [both[1]] });
  });

  /** The same text again, with these heads off, as the widget draws it after a press. */
  const again = async (off: readonly (readonly [number, number])[]) => {
    const { state } = fake;
    fake.stop();
    place.replaceChildren();
    drawn(off, state);
    await settled();
  };

  test("keep their places while others are switched off, and what was open stays open", async () => {
    drawn([]);
    await press(find("why-here"));
    await byParts();
    await press(place.querySelector<HTMLElement>('[data-against="all"]'));
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
    expect(place.querySelector('[data-against="all"]')?.getAttribute("aria-pressed")).toBe("true");
    expect(place.querySelector('[data-by="parts"]')?.getAttribute("aria-pressed")).toBe("true");
    cell.value = { ...CELL, key: 3 };
    await settled();
    expect(names()[0], "another cell has its own").toBe(before.at(-1));
    // Another text is another question.
    const { state } = fake;
    fake.stop();
    place.replaceChildren();
    fake = fakeRun(metaOf([...TOKENS, "x"]), async (request) => answerOf(request), { state });
    qk(place, fake.context, cell);
    await settled();
    expect(find("qk-line")).not.toBeNull();
    expect(find("qk-verdict")).toBeNull();
  });

  test("show what is left of the weight with all heads on", async () => {
    drawn([]);
    await press(find("why-here"));
    expect(text("qk-line")).not.toContain("all heads");
    const { state } = fake;
    fake.stop();
    place.replaceChildren();
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
    expect(place.querySelectorAll(".aw-tree-edge")).toHaveLength(2);
    expect(place.querySelectorAll(".aw-tree-edge.is-dashed")).toHaveLength(1);
    expect(text("qk-stops")).toContain("No head brings 15% of it.");
    const nodes = () => [...place.querySelectorAll<SVGElement>(".aw-tree-node")];
    const key = (name: string, on: number) =>
      nodes()[on]?.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
    key("ArrowLeft", 0);
    expect(nodes(), "closed").toHaveLength(1);
    key("ArrowRight", 0);
    key("Enter", 2);
    expect(fake.state.get()).toMatchObject({ layer: 0, head: 1, pair: [2, 5] });
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

describe("in a quiet second", () => {
  /** A source that keeps its answers, as a kernel's does. */
  class Kept extends CachedSource {
    readonly live = true;
    readonly meta;
    readonly arrays = new Map();
    readonly asked: SliceRequest[] = [];
    readonly signals: AbortSignal[] = [];
    constructor(tokens: readonly string[]) {
      super(1e6);
      this.meta = metaOf(tokens);
    }
    protected async answer(request: SliceRequest, { signal }: { signal: AbortSignal }) {
      this.asked.push(request);
      this.signals.push(signal);
      if (held !== null) await new Promise<void>((resolve) => held?.push(resolve));
      return answerOf(request);
    }
    get kinds(): string[] {
      return this.asked.map((each) => {
        const { kind, side, by } = fieldsOf(each);
        return [kind, side ?? by].filter(Boolean).join(" ");
      });
    }
  }
  const FURTHER = ["qk_effects key", "qk_effects query", "qk_trace tokens", "qk parts"];
  function drawKept(tokens: readonly string[] = TOKENS): Kept {
    fake = fakeRun(metaOf(tokens), answerOf);
    const source = new Kept(tokens);
    qk(place, { ...fake.context, source }, cell);
    return source;
  }

  test("everything of a short text is asked for, so that no click asks again", async () => {
    const source = drawKept();
    await quiet();
    expect(source.kinds, "nothing is open").toEqual([]);
    await press(find("why-here"));
    expect(source.kinds).toEqual(["qk"]);
    await quiet();
    expect(source.kinds).toEqual(["qk", ...FURTHER]);
    for (const name of ["qk-without", "qk-start-trace", "qk-show-pairs"]) await press(find(name));
    expect(text("qk-verdict")).toContain("because of");
    expect(find("qk-trace")).not.toBeNull();
    await byParts();
    expect(text("qk-key")).toContain("FFNs");
    expect(source.kinds.slice(0, 5)).toEqual(["qk", ...FURTHER]);
    expect(source.kinds.slice(5), "effects and trace of the parts").toHaveLength(3);
  });

  test("a long text is asked about by the reader alone", async () => {
    const source = drawKept(Array.from({ length: 65 }, (_, i) => `t${i}`));
    await press(find("why-here"));
    await quiet();
    expect(source.kinds).toEqual(["qk"]);
  });

  test("one question is under way at a time, and another choice or pair gives it up", async () => {
    const source = drawKept();
    await press(find("why-here"));
    held = [];
    for (const act of idle.splice(0)) act();
    await settled();
    expect(source.kinds, "no second before the first is answered").toEqual(["qk", FURTHER[0]]);
    expect(idle).toEqual([]);
    fake.state.set({ layer: 1 });
    expect(source.signals[1]!.aborted, "the reader chose").toBe(true);
    held = null;
    await quiet();
    expect(source.kinds).toEqual(["qk", FURTHER[0], ...FURTHER]);
    cell.value = null;
    cell.value = { ...CELL, key: 3 };
    await settled();
    held = [];
    for (const act of idle.splice(0)) act();
    const under = source.signals.length - 1;
    expect(source.kinds[under]).toBe(FURTHER[0]);
    cell.value = null;
    expect(source.signals[under]!.aborted, "the pair was cleared").toBe(true);
    held = null;
    await quiet();
    expect(source.signals).toHaveLength(under + 1);
  });

  test("what the reader wants of it goes on as the reader's, and what was canceled is left", async () => {
    const source = drawKept();
    await press(find("why-here"));
    held = [];
    for (const act of idle.splice(0)) act();
    await press(find("qk-without"));
    expect(source.kinds, "shared").toEqual(["qk", FURTHER[0]]);
    expect(source.signals[1]!.aborted).toBe(false);
    await press(find("qk-check-progress")?.querySelector("button") ?? null);
    expect(source.signals[1]!.aborted).toBe(true);
    await quiet();
    expect(source.kinds).toEqual(["qk", FURTHER[0]]);
  });

  test("a refusal keeps nothing from the others, and is asked for no second time", async () => {
    const source = drawKept();
    source.ask = async (request, options = {}) => {
      source.asked.push(request);
      if (request.kind === "qk_effects") throw new SliceFailure("No.");
      return fake.source.ask(request, options);
    };
    await press(find("why-here"));
    await quiet();
    expect(source.kinds).toEqual(["qk", ...FURTHER]);
    fake.state.set({ layer: 1 });
    await quiet();
    expect(source.kinds).toEqual(["qk", ...FURTHER]);
  });
});
