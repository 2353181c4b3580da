// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import { inFrames } from "../src/draw/long/frames";
import { isComputed, type LayerProgress, startLayerProgress } from "../src/figures/layer-progress";
import { layerProgressLine } from "../src/frame/long/layer-progress";
import { SliceFailure } from "../src/protocol/failure";
import type { Meta, NdArray, Slice, Source } from "../src/protocol/types";
import { onChange } from "../src/ui/mount";
import { fakeRun } from "./fake";

const meta = { computed: [] as number[], model: { n_layers: 3, n_heads: 2 } } as unknown as Meta;
const array = (values: number[], shape: number[]): NdArray => ({
  data: new Float32Array(values),
  shape,
});
const empty = (): Map<string, NdArray> =>
  new Map([["head_max", array(Array(6).fill(Number.NaN), [3, 2])]]);
const layers = (numbers: number[]): Slice => ({
  data: { layers: numbers, total: 3 },
  arrays: new Map([
    [
      "head_max",
      array(
        numbers.flatMap((layer) => [layer + 0.25, layer + 0.5]),
        [numbers.length, 2],
      ),
    ],
  ]),
});
const aborted = (signal?: AbortSignal): Promise<Slice> =>
  new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(new DOMException("gone", "AbortError")));
  });

/** The line below a grid. */
function lineOf(
  source: Source,
  layerProgress: LayerProgress | null,
  draw: (layer: number) => void,
) {
  const grid = document.createElement("div");
  document.body.replaceChildren(grid);
  const life = new AbortController();
  layerProgressLine({ source, layerProgress, signal: life.signal }, grid, draw);
  const stop = () => life.abort();
  return { element: grid.nextElementSibling as HTMLElement, stop };
}

it("writes each layer into its place, in whatever order they come", async () => {
  const arrays = empty();
  const answers = [layers([2]), layers([0, 1])];
  const { source, asked } = fakeRun(meta, () => answers.shift() as Slice, { arrays });
  const layerProgress = startLayerProgress(source, new AbortController().signal);
  const seen: number[] = [];
  onChange(layerProgress!.state, ({ done }) => seen.push(done), new AbortController().signal);
  expect(isComputed(source, 4)).toBe(false);
  await vi.waitFor(() => expect(layerProgress?.state.peek().status).toBe("done"));
  expect(asked).toEqual([
    { kind: "heads", start: 0 },
    { kind: "heads", start: 1 },
  ]);
  expect([...(arrays.get("head_max")?.data ?? [])]).toEqual([0.25, 0.5, 1.25, 1.5, 2.25, 2.5]);
  expect(seen.at(-1)).toBe(3);
  expect(isComputed(source, 4)).toBe(true);
});

it("has nothing to do where all is there", () => {
  const { source } = fakeRun({ ...meta, computed: [0, 1, 2] }, () => layers([]));
  expect(startLayerProgress(source, new AbortController().signal)).toBeNull();
});

it("stops and goes on at a click", async () => {
  let open = false;
  const { source, asked } = fakeRun(
    meta,
    (_, { signal }) => (open ? layers([0, 1, 2]) : aborted(signal)),
    { arrays: empty() },
  );
  const layerProgress = startLayerProgress(source, new AbortController().signal);
  const drawn: number[] = [];
  const line = lineOf(source, layerProgress, (layer) => drawn.push(layer));
  const button = line.element.querySelector("button") as HTMLButtonElement;
  expect(line.element.textContent).toBe("Computing heads: 0 of 3 layersStop");
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  button.click();
  await vi.waitFor(() => expect(button.textContent).toBe("Go on"));
  expect(line.element.textContent).toContain("Stopped: 0 of 3 layers");
  open = true;
  button.click();
  await vi.waitFor(() => expect(line.element.hidden).toBe(true));
  await vi.waitFor(() => expect(drawn).toEqual([0, 1, 2]));
});

it("says why the kernel gave up, and keeps what is drawn", async () => {
  const answers = [layers([1])];
  const { source } = fakeRun(
    meta,
    () => {
      const next = answers.shift();
      if (next === undefined) throw new SliceFailure("The kernel is gone.");
      return next;
    },
    { arrays: empty() },
  );
  const layerProgress = startLayerProgress(source, new AbortController().signal);
  const line = lineOf(source, layerProgress, () => undefined);
  await vi.waitFor(() => expect(layerProgress?.state.peek().status).toBe("failed"));
  expect(line.element.textContent).toBe("The kernel is gone. 1 of 3 layersGo on");
  expect(isComputed(source, 2)).toBe(true);
});

it("ends with its run", async () => {
  const run = new AbortController();
  let left = false;
  const answer = (_: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<Slice> => {
    signal?.addEventListener("abort", () => {
      left = true;
    });
    return aborted(signal);
  };
  const { source, asked } = fakeRun(meta, answer, { arrays: empty() });
  const layerProgress = startLayerProgress(source, run.signal);
  let told = 0;
  onChange(layerProgress!.state, () => told++, new AbortController().signal);
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  run.abort();
  await vi.waitFor(() => expect(left).toBe(true));
  expect(told).toBe(0);
});

it("draws a layer once, and none of those that were there", async () => {
  const arrays = new Map([["head_max", array([0.5, 0.5, ...Array(4).fill(Number.NaN)], [3, 2])]]);
  const answers = [layers([2]), layers([1])];
  const { source } = fakeRun({ ...meta, computed: [0] }, () => answers.shift() as Slice, {
    arrays,
  });
  const drawn: number[] = [];
  const layerProgress = startLayerProgress(source, new AbortController().signal);
  lineOf(source, layerProgress, (layer) => drawn.push(layer));
  await vi.waitFor(() => expect([...drawn].sort()).toEqual([1, 2])); // both in a frame, or one in each
  expect(layerProgress?.state.peek().status).toBe("done");
});

describe("work in frames", () => {
  afterEach(() => vi.unstubAllGlobals());

  /** Frames by hand, and a clock that each part moves on by 3 ms. */
  function byHand(pending: () => boolean = () => false) {
    const frames: FrameRequestCallback[] = [];
    vi.stubGlobal("requestAnimationFrame", (one: FrameRequestCallback) => frames.push(one));
    vi.stubGlobal("cancelAnimationFrame", () => frames.splice(0));
    vi.stubGlobal("navigator", { scheduling: { isInputPending: pending } });
    let clock = 0;
    const done: number[] = [];
    const work = inFrames(() => clock);
    const add = (key: number): void =>
      work.add(key, () => {
        clock += 3;
        done.push(key);
      });
    return { work, add, done, frame: () => frames.shift()?.(0), frames };
  }

  it("ends a frame's share after 8 ms, and does the rest in the next ones", () => {
    const { add, done, frame, frames } = byHand();
    for (let key = 0; key < 8; key++) add(key);
    expect(done).toEqual([]);
    frame();
    expect(done).toEqual([0, 1, 2]);
    frame();
    frame();
    expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(frames).toEqual([]);
  });

  it("lets a click go first", () => {
    let pending = true;
    const { add, done, frame } = byHand(() => pending);
    add(0);
    frame();
    expect(done).toEqual([]);
    pending = false;
    frame();
    expect(done).toEqual([0]);
  });

  it("does what was added twice once, and nothing once it was stopped", () => {
    const { work, add, done, frame } = byHand();
    add(1);
    add(1);
    frame();
    expect(done).toEqual([1]);
    add(2);
    work.stop();
    frame();
    expect(done).toEqual([1]);
  });
});
