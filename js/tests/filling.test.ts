// @vitest-environment jsdom
import { expect, it, vi } from "vitest";
import { isFilled, startFilling } from "../src/figures/filling";
import { fillingLine } from "../src/frame/head-grid/filling";
import { SliceFailure } from "../src/protocol/failure";
import type { Meta, NdArray, Slice } from "../src/protocol/types";
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

it("writes each layer into its place, in whatever order they come", async () => {
  const arrays = empty();
  const answers = [layers([2]), layers([0, 1])];
  const { source, asked } = fakeRun(meta, () => answers.shift() as Slice, { arrays });
  const filling = startFilling(source, new AbortController().signal);
  const seen: number[] = [];
  filling?.on(() => seen.push(filling.done));
  expect(isFilled(source, 4)).toBe(false);
  await vi.waitFor(() => expect(filling?.state).toBe("done"));
  expect(asked).toEqual([
    { kind: "heads", start: 0 },
    { kind: "heads", start: 1 },
  ]);
  expect([...(arrays.get("head_max")?.data ?? [])]).toEqual([0.25, 0.5, 1.25, 1.5, 2.25, 2.5]);
  expect(seen.at(-1)).toBe(3);
  expect(isFilled(source, 4)).toBe(true);
});

it("has nothing to do where all is there", () => {
  const { source } = fakeRun({ ...meta, computed: [0, 1, 2] }, () => layers([]));
  expect(startFilling(source, new AbortController().signal)).toBeNull();
});

it("stops and goes on at a click", async () => {
  let open = false;
  const { source, asked } = fakeRun(
    meta,
    (_, { signal }) => (open ? layers([0, 1, 2]) : aborted(signal)),
    { arrays: empty() },
  );
  const filling = startFilling(source, new AbortController().signal);
  let drawn = 0;
  const line = fillingLine(filling, () => drawn++);
  const button = line.element?.querySelector("button") as HTMLButtonElement;
  expect(line.element?.textContent).toBe("Computing heads: 0 of 3 layersStop");
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  button.click();
  await vi.waitFor(() => expect(button.textContent).toBe("Go on"));
  expect(line.element?.textContent).toContain("Stopped: 0 of 3 layers");
  open = true;
  button.click();
  await vi.waitFor(() => expect(line.element?.hidden).toBe(true));
  expect(drawn).toBeGreaterThan(1);
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
  const filling = startFilling(source, new AbortController().signal);
  const line = fillingLine(filling, () => undefined);
  await vi.waitFor(() => expect(filling?.state).toBe("stopped"));
  expect(line.element?.textContent).toBe("The kernel is gone. 1 of 3 layersGo on");
  expect(isFilled(source, 2)).toBe(true);
});

it("ends with its run", async () => {
  const run = new AbortController();
  const { source, asked } = fakeRun(meta, (_, { signal }) => aborted(signal), { arrays: empty() });
  const filling = startFilling(source, run.signal);
  let told = 0;
  filling?.on(() => told++);
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  run.abort();
  await vi.waitFor(() => expect(filling?.state).toBe("stopped"));
  expect(told).toBe(0);
});
