/** Why a head looks there, drawn over made-up answers. */

import { signal } from "@preact/signals-core";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { askCell, cellRequest, type Found } from "../../../src/features/qk/data";
import { qk } from "../../../src/features/qk/view";
import type { NdArray, Slice, SliceRequest } from "../../../src/protocol/types";
import type { PinnedCell } from "../../../src/views/contract";
import { type Fake, fakeRun, settled } from "../../fake";
import { fieldsOf, metaOf } from "../../runs";

// jsdom lays nothing out.
globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

export const TOKENS = ["[CLS]", "the", "man", "lost", "his", "keys", "[SEP]"];
export const N = TOKENS.length;
export const CELL: PinnedCell = { layer: 1, head: 2, query: 4, key: 2, merged: false };
export const NOTE = "It adds up exactly: 'run without each' shows that.";

export const nd = (data: Float32Array, shape: readonly number[] = [data.length]): NdArray => ({
  data,
  shape,
});
export const part = (kind: string, more: object = {}) => ({
  ...{ kind, layer: null, head: null, token: null, source: null },
  ...more,
});
const TOKEN_PARTS = TOKENS.map((_, token) => part("token", { token }));
export const PARTS = [
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
export function answerOf(request: SliceRequest): Slice {
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
export function brought(side: string, part: number): number {
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
export const TRACE = {
  ...LEAF,
  ...{ layer: 1, head: 2, query: 4, key: 2, stop: null },
  children: [{ side: "key", part: [0, 1], value: 2.5, share: 0.5, node: LEAF }],
};

/** What the test at hand draws, and what it holds back. */
interface Page {
  fake: Fake;
  place: HTMLElement;
  /** Answers that wait, where a test holds them back. */
  held: (() => void)[] | null;
  /** What waits until the page has nothing else to do. */
  idle: (() => void)[];
}
export const page = {} as Page;
export const cell = signal<PinnedCell | null>(null);
export async function quiet(): Promise<void> {
  while (page.idle.length > 0) {
    for (const act of page.idle.splice(0)) act();
    await settled();
  }
}

export function draw(change: Parameters<typeof fakeRun>[2] = {}, answer = answerOf): void {
  const meta = metaOf(TOKENS);
  page.fake = fakeRun(
    meta,
    async (request) => {
      if (page.held !== null) await new Promise<void>((resolve) => page.held?.push(resolve));
      return answer(request);
    },
    change,
  );
  qk(page.place, page.fake.context, cell);
}
export const find = (name: string): HTMLElement | null =>
  page.place.querySelector(`[data-aw-part="${name}"]`);
export const text = (name: string): string => find(name)?.textContent?.replaceAll("−", "-") ?? "";
export async function press(target: HTMLElement | null): Promise<void> {
  expect(target).not.toBeNull();
  target?.click();
  await settled();
}
export const byParts = () => press(page.place.querySelector<HTMLElement>('[data-by="parts"]'));
export const value = (name: string): number => Number(find(name)?.dataset.awValue);

beforeEach(() => {
  page.place = document.createElement("div");
  document.body.append(page.place);
  cell.value = CELL;
  page.held = null;
  page.idle = [];
  vi.stubGlobal("requestIdleCallback", (act: () => void) => page.idle.push(act));
});
afterEach(() => {
  vi.unstubAllGlobals();
  page.fake.stop();
  page.place.remove();
});

export async function foundFor(by: "tokens" | "parts"): Promise<Found> {
  return askCell(page.fake.source, cellRequest(CELL, "others", by), {});
}
