// @vitest-environment jsdom
import { signal } from "@preact/signals-core";
import { h } from "preact";
import { expect, test } from "vitest";
import type { LongMatrix } from "../src/figures/long/store";
import type { Meta, Slice } from "../src/protocol/types";
import { mount, selectionOf } from "../src/ui/mount";
import { LongHead } from "../src/views/attention/long/controls";
import { Strongest } from "../src/views/attention/long/lists";
import { drawn } from "./drawn";
import { fakeRun } from "./fake";

const meta = {
  masked: [],
  profile: null,
  model: { has: { scores: true } },
  tokens: { text: ["a", "b", "c"] },
} as unknown as Meta;
const nothing = (): Slice => ({ data: {}, arrays: new Map() });
const part = (root: Element, name: string): HTMLButtonElement =>
  root.querySelector(`[data-aw-part="${name}"]`) as HTMLButtonElement;

test("a link in the list names the window of its query", () => {
  const windows = { size: 2, overlap: 1, spans: [[0, 2] as const, [1, 3] as const], of: [0, 0, 1] };
  const links = {
    queries: Int32Array.of(2, 0),
    keys: Int32Array.of(1, 1),
    weights: Float32Array.of(0.5, 0.25),
    total: 2,
  };
  const rows = (given: Meta): (string | undefined)[] => {
    const choice = signal({ special: false, neighbors: false, itself: false, least: null });
    const list = drawn(
      h(Strongest, {
        ...{ meta: given, links, status: "", choice, pair: null, name: String },
        error: () => 0,
        go: () => undefined,
      }),
    );
    return [...list.querySelectorAll<HTMLElement>(".aw-long-link")].map(
      (link) => link.querySelector(".aw-link-window")?.textContent ?? undefined,
    );
  };
  expect(rows({ ...meta, windows } as Meta)).toEqual(["window 2 of 2", "window 1 of 2"]);
  expect(rows(meta)).toEqual([undefined, undefined]);
});

test("a mixing quantity says on screen why weights are shown", () => {
  const fake = fakeRun(meta, nothing);
  const head = document.createElement("div");
  const [context, explained] = [fake.context, signal(false)];
  const of = { layer: 0, head: 0, rows: 3, columns: 3 };
  const matrix = { quantity: "weights", ...of, largest: 1 } as LongMatrix;
  const selection = selectionOf(fake.state, ["quantity"], context.signal);
  mount(
    head,
    () => h(LongHead, { context, matrix, selection: selection.value, explained }),
    context.signal,
  );
  const note = part(head, "quantity-note");
  expect(note.hidden).toBe(true);
  fake.state.set({ quantity: "alti" });
  expect(note.hidden).toBe(false);
  expect(note.textContent).toMatch(/^ALTI is not drawn here: .*1,024 tokens.* shows weights\.$/);
  fake.state.set({ quantity: "weights" });
  expect(note.hidden).toBe(true);
  part(head, "carried-quantity").click();
  expect(note.hidden).toBe(false);
  expect(fake.state.get().quantity).toBe("weights");
  fake.stop();
});
