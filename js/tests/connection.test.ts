import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Comm, connect, WAITING } from "../src/protocol/comm/connection";
import type { Invoke } from "../src/protocol/comm/invoke";
import type { Notice } from "../src/protocol/failure";

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(console, "debug").mockImplementation(() => undefined);
});
afterEach(() => void vi.useRealTimers());

const HOUR_MS = 3_600_000;
const never = (): AbortSignal => new AbortController().signal;

/** A kernel that answers in order, but only while it is idle; what is sent to one that is gone fails. */
function kernel() {
  const sent: string[] = [];
  let queue: { readonly name: string; readonly answer: () => void }[] = [];
  let state: "idle" | "busy" | "gone" = "busy";
  const invoke: Invoke = (name, request, { signal }) =>
    new Promise((resolve, reject) => {
      if (state === "gone") return reject(new Error("Cannot send"));
      sent.push(name);
      signal.addEventListener("abort", () => reject(signal.reason));
      queue.push({ name, answer: () => resolve([request, []]) });
      if (state === "idle") answer();
    });
  function answer(): void {
    for (const question of queue.splice(0)) question.answer();
  }
  return {
    sent,
    invoke,
    become(next: typeof state) {
      state = next;
      if (state === "idle") answer();
    },
    /** As an interrupt does to the question that the kernel is at. */
    lose(name: string) {
      queue = queue.filter((question) => question.name !== name);
    },
  };
}

function connection(invoke: Invoke, comm?: Comm) {
  const told: (string | undefined)[] = [];
  const life = new AbortController();
  const contact = (notice: Notice | null) => void told.push(notice?.message);
  const ask = connect(invoke, { contact, comm, signal: life.signal });
  return { ask, told, close: () => life.abort(new DOMException("closed", "AbortError")) };
}

/** A comm as ipywidgets describes it. */
function commOf(live: boolean) {
  const listeners = new Set<() => void>();
  const comm = {
    comm_live: live,
    on: (_: string, listener: () => void) => void listeners.add(listener),
    off: (_: string, listener: () => void) => void listeners.delete(listener),
  };
  return {
    comm,
    listeners,
    cut() {
      comm.comm_live = false;
      for (const listener of listeners) listener();
    },
  };
}

describe("a question to a busy kernel", () => {
  test("waits for an hour, and is answered without being sent again", async () => {
    const { sent, invoke, become } = kernel();
    const { ask, told } = connection(invoke);
    const answer = ask("slice", 1, { signal: never() });
    await vi.advanceTimersByTimeAsync(2900);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(told).toEqual([WAITING.message]);
    become("idle");
    expect(await answer).toEqual([1, []]);
    expect(told).toEqual([WAITING.message, undefined]);
    expect(sent.filter((name) => name === "slice")).toHaveLength(1);
    // What is sent to a busy kernel piles up there, in every widget.
    expect(sent.length).toBeLessThan(15);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(sent.length).toBeLessThan(15);
  });

  test("is asked again if its answer was lost", async () => {
    const { sent, invoke, become, lose } = kernel();
    const { ask } = connection(invoke);
    const answers = Promise.all(["a", "b"].map((name) => ask(name, name, { signal: never() })));
    await vi.advanceTimersByTimeAsync(6000);
    expect(sent).toEqual(["a", "b", "echo"]);
    lose("a");
    become("idle");
    expect(await answers).toEqual([
      ["a", []],
      ["b", []],
    ]);
    expect(sent.filter((name) => name === "a")).toHaveLength(2);
    expect(sent.filter((name) => name === "b")).toHaveLength(1);
  });

  test("is asked again if its answer was lost together with the first echo", async () => {
    const { invoke, become, lose } = kernel();
    const { ask } = connection(invoke);
    const answer = ask("slice", 1, { signal: never() });
    await vi.advanceTimersByTimeAsync(6000);
    lose("slice");
    lose("echo");
    become("idle");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await answer).toEqual([1, []]);
  });

  test("says nothing more once nobody waits", async () => {
    const { sent, invoke } = kernel();
    const { ask, told } = connection(invoke);
    const leaving = new AbortController();
    const answer = ask("slice", 1, { signal: leaving.signal });
    const left = expect(answer).rejects.toThrow("enough");
    await vi.advanceTimersByTimeAsync(4000);
    leaving.abort(new Error("enough"));
    await left;
    expect(told).toEqual([WAITING.message, undefined]);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(sent).toEqual(["slice"]);
  });

  test("ends with the widget", async () => {
    const { invoke } = kernel();
    const { comm, listeners } = commOf(true);
    const { ask, close } = connection(invoke, comm);
    const left = expect(ask("slice", 1, { signal: never() })).rejects.toThrow("closed");
    close();
    await left;
    expect(listeners.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a kernel at work on several questions", () => {
  test("is not waited for while it answers one after the other", async () => {
    let turn = 0;
    const invoke: Invoke = (_name, request) =>
      new Promise((resolve) => setTimeout(() => resolve([request, []]), 2000 * ++turn));
    const { ask, told } = connection(invoke);
    const answers = [1, 2, 3, 4].map((i) => ask("slice", i, { signal: never() }));
    await vi.advanceTimersByTimeAsync(8000);
    expect((await Promise.all(answers)).map(([reply]) => reply)).toEqual([1, 2, 3, 4]);
    expect(told).toEqual([]);
  });
});

describe("a kernel that has ended", () => {
  test("fails in words when the host refuses to send, until it answers again", async () => {
    const { invoke, become } = kernel();
    const { ask, told } = connection(invoke);
    become("gone");
    await expect(ask("slice", 1, { signal: never() })).rejects.toMatchObject({
      name: "SliceFailure",
      message: expect.stringContaining("kernel is gone"),
      hint: "Run the cell again.",
    });
    expect(told).toEqual([expect.stringContaining("gone")]);
    become("idle");
    await ask("slice", 1, { signal: never() });
    expect(told.at(-1)).toBe(undefined);
  });

  test("ends all that waits as soon as the host says so", async () => {
    const { invoke } = kernel();
    const { comm, cut } = commOf(true);
    const { ask, told } = connection(invoke, comm);
    const failed = [1, 2].map((i) =>
      expect(ask("slice", i, { signal: never() })).rejects.toThrow("kernel is gone"),
    );
    await vi.advanceTimersByTimeAsync(60_000);
    cut();
    await Promise.all(failed);
    expect(told).toEqual([WAITING.message, expect.stringContaining("gone")]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is found by an echo where the host says nothing", async () => {
    const { invoke, become } = kernel();
    const { ask } = connection(invoke);
    const failed = expect(ask("slice", 1, { signal: never() })).rejects.toThrow("kernel is gone");
    become("gone");
    await vi.advanceTimersByTimeAsync(6000);
    await failed;
  });

  test("is not waited for in a notebook that was opened and not run", async () => {
    const { invoke } = kernel();
    const { ask, told } = connection(invoke, commOf(false).comm);
    const failed = expect(ask("slice", 1, { signal: never() })).rejects.toThrow("kernel is gone");
    await vi.advanceTimersByTimeAsync(3000);
    await failed;
    expect(told).toEqual([expect.stringContaining("gone")]);
  });
});
