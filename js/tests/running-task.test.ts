import { beforeEach, expect, test, vi } from "vitest";
import { SliceFailure } from "../src/protocol/failure";
import { type Step, shareOf, Task } from "../src/protocol/task";
import { onChange } from "../src/ui/mount";

const forever = ({ signal }: Pick<Step<never>, "signal">): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
const life = () => new AbortController();

/** Draws a frame. */
let draw: () => void;
beforeEach(() => {
  let frames: (() => void)[] = [];
  vi.stubGlobal("requestAnimationFrame", (act: () => void) => frames.push(act));
  draw = () => {
    const due = frames;
    frames = [];
    for (const act of due) act();
  };
});

test("a task says how far it is, and has its result", async () => {
  const seen: (number | null)[] = [];
  const task = new Task<string>(async ({ progress }) => {
    progress(0, 0);
    draw();
    progress(1, 4);
    draw();
    return "answer";
  }, life().signal);
  onChange(task.state, (state) => seen.push(shareOf(state)), life().signal);
  expect(task.state.peek().status).toBe("idle");
  await task.start();
  expect(task.state.peek()).toMatchObject({ status: "done", value: "answer", failure: null });
  expect(seen).toEqual([null, 0, 0.25, 0.25]);
});

test("answers that come in pieces are drawn once a frame, and none is lost", async () => {
  let seen = 0;
  const task = new Task<number>(async ({ progress, partial, signal }) => {
    for (let i = 1; i <= 20; i++) {
      progress(i, 40);
      partial(i);
      await Promise.resolve();
      if (i % 5 === 0) draw();
    }
    partial(21);
    return forever({ signal });
  }, life().signal);
  onChange(task.state, () => seen++, life().signal);
  const end = task.start();
  await vi.waitFor(() => expect(task.state.peek().value).toBe(20));
  expect(seen).toBe(1 + 4);
  expect(task.state.peek()).toMatchObject({ status: "running", done: 20, total: 40 });
  task.stop();
  expect(task.state.peek()).toMatchObject({ status: "stopped", value: 21 });
  draw();
  await end;
  expect(seen).toBe(1 + 4 + 1);
});

test("a task that is stopped keeps its part, and goes on from what it has", async () => {
  const parts: number[] = [];
  const task = new Task<readonly number[]>(async ({ signal, partial }) => {
    while (parts.length < 3) {
      parts.push(parts.length);
      partial([...parts]);
      if (parts.length === 2) await forever({ signal });
    }
    return parts;
  }, life().signal);
  const first = task.start();
  await vi.waitFor(() => {
    draw();
    expect(task.state.peek().value).toEqual([0, 1]);
  });
  task.toggle();
  await first;
  expect(task.state.peek()).toMatchObject({ status: "stopped", value: [0, 1] });
  task.toggle();
  await vi.waitFor(() => expect(task.state.peek().status).toBe("done"));
  expect(task.state.peek().value).toEqual([0, 1, 2]);
});

test("a task that fails says why, and whether it would fail again", async () => {
  let lasting = true;
  const task = new Task<null>(
    () => Promise.reject(new SliceFailure("It is not here.", "Ask a kernel.", lasting)),
    life().signal,
  );
  await task.start();
  const failure = { message: "It is not here.", hint: "Ask a kernel.", lasting: true };
  expect(task.state.peek()).toMatchObject({ status: "failed", failure });
  lasting = false;
  await task.start();
  expect(task.state.peek().failure?.lasting).toBe(false);
});

test("a task ends with what it is for, and tells nobody", async () => {
  const run = life();
  const told = vi.fn();
  let left = false;
  const task = new Task<null>((step) => forever(step).finally(() => (left = true)), run.signal);
  const going = task.start();
  onChange(task.state, told, life().signal);
  run.abort();
  await going;
  expect(left).toBe(true);
  expect(told).not.toHaveBeenCalled();
});
