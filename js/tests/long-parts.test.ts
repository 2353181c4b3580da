// @vitest-environment jsdom
import { expect, test, vi } from "vitest";
import type { LongMatrix } from "../src/figures/long/store";
import { ribbonTools } from "../src/frame/long/tools";
import { createMasking } from "../src/frame/ribbon/masking";
import { newMemory } from "../src/frame/ribbon/tools";
import type { Meta, Slice } from "../src/protocol/types";
import { longControls } from "../src/views/attention/long/controls";
import { strongestList } from "../src/views/attention/long/list";
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
    const { context } = fakeRun(given, nothing);
    const list = strongestList(context, String, {
      changed: () => undefined,
      go: () => undefined,
      error: () => 0,
    });
    list.show(links);
    return [...list.element.querySelectorAll<HTMLElement>(".aw-long-link")].map(
      (link) => link.querySelector(".aw-link-window")?.textContent ?? undefined,
    );
  };
  expect(rows({ ...meta, windows } as Meta)).toEqual(["window 2 of 2", "window 1 of 2"]);
  expect(rows(meta)).toEqual([undefined, undefined]);
});

test("a mixing quantity says on screen why weights are shown", () => {
  const fake = fakeRun(meta, nothing);
  const controls = longControls(document.createElement("div"), fake.context, {
    zoom: () => undefined,
    pool: () => undefined,
    pooling: () => "max",
  });
  controls.show({ quantity: "weights", layer: 0, head: 0, size: 3, largest: 1 } as LongMatrix);
  const note = part(controls.head, "quantity-note");
  expect(note.hidden).toBe(true);
  fake.state.set({ quantity: "alti" });
  expect(note.hidden).toBe(false);
  expect(note.textContent).toMatch(/^ALTI is not drawn here: .*1,024 tokens.* shows weights\.$/);
  fake.state.set({ quantity: "weights" });
  expect(note.hidden).toBe(true);
  part(controls.head, "carried-quantity").click();
  expect(note.hidden).toBe(false);
  expect(fake.state.get().quantity).toBe("weights");
  fake.stop();
});

test("the ribbon asks for tags when they are wished for, and says why there are none", async () => {
  const ribbon = document.createElement("div");
  const memory = newMemory();
  const given = { words: [{ pos: "NOUN", entity: null, segment: 0 }], token_word: [0, null, null] };
  const fake = fakeRun(meta, () => ({ data: { ...given, tagger: "t" }, arrays: new Map() }));
  const tagged = vi.fn();
  const masking = createMasking(ribbon, fake.context, memory);
  const corner = ribbonTools(fake.context, memory, masking, tagged);
  expect(fake.asked).toEqual([]);
  expect(part(corner, "mask")).toBeNull();
  part(corner, "tags").click();
  await vi.waitFor(() => expect(tagged).toHaveBeenCalledTimes(1));
  expect(tagged.mock.lastCall?.[0].of(0)).toMatchObject({ pos: "NOUN" });
  part(corner, "tags").click();
  expect(tagged.mock.lastCall).toEqual([null]);
  expect(fake.asked).toEqual([{ kind: "language" }]);

  const none = fakeRun(meta, () => ({ data: { notes: ["No tagger."] }, arrays: new Map() }));
  const wish = newMemory();
  const other = ribbonTools(none.context, wish, createMasking(ribbon, none.context, wish), tagged);
  part(other, "tags").click();
  await vi.waitFor(() => expect(none.said).toEqual(["No tagger."]));
  expect(part(other, "tags").getAttribute("aria-pressed")).toBe("false");
  expect(tagged).toHaveBeenCalledTimes(2);
});

test("masks are taken by a click where a kernel runs, and taken off together", () => {
  const ribbon = document.createElement("div");
  const memory = newMemory();
  const hidden = { ...meta, masked: [{ token: 1, text: "b" }] } as unknown as Meta;
  const fake = fakeRun(hidden, nothing, { acts: true });
  const masking = createMasking(ribbon, fake.context, memory);
  const corner = ribbonTools(fake.context, memory, masking, () => undefined);
  part(corner, "mask").click();
  expect(memory.masking).toBe(true);
  expect(ribbon.classList.contains("aw-masking")).toBe(true);
  masking.flip([0], true, "[CLS]");
  masking.flip([2, 3], false, "cats");
  masking.flip([1], false, "b");
  part(corner, "unmask").click();
  expect(fake.acts).toEqual([[1, 2, 3], [2, 3], []].map((tokens) => ({ kind: "mask", tokens })));
  expect(fake.said[0]).toBe("Special tokens are not masked.");
});
