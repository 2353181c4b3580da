/** Work that takes a while: how far it is, what is there of its result, and a way to stop it and to go on. */

import { type ReadonlySignal, type Signal, signal } from "@preact/signals-core";
import { explain, isAbort, isLasting, type Notice } from "./failure";
import type { SliceOptions } from "./slice";

export interface TaskState<T> {
  readonly status: "idle" | "running" | "stopped" | "failed" | "done";
  /** Steps that are done, and all: null before the first report, 0 while it is unknown. */
  readonly done: number;
  readonly total: number | null;
  /** The result, or as much of it as is there. */
  readonly value: T | null;
  /** Why it failed, and whether it would fail again. */
  readonly failure: (Notice & { readonly lasting: boolean }) | null;
}

/** Argument of the work, which serves as the options of its requests. */
export interface Step<T> extends Required<SliceOptions> {
  readonly partial: (value: T) => void;
}

const IDLE = { status: "idle", done: 0, total: null, value: null, failure: null } as const;

/** Share of the steps that are done; null before the first report. */
export const shareOf = ({ done, total }: TaskState<unknown>): number | null =>
  total === null ? null : done / (total || 1);

/** Before the next picture; in a page that is hidden none is drawn, and a task says no more than that it has ended. */
const frame = (act: () => void): void => void requestAnimationFrame(act);

export class Task<T> {
  readonly #work: (step: Step<T>) => Promise<T>;
  readonly #until: AbortSignal;
  readonly #initial: TaskState<T>;
  readonly #state: Signal<TaskState<T>>;
  #running: AbortController | null = null;
  /** Reports that wait for the next frame: what comes in pieces is drawn once for all of them. */
  #reported: Partial<TaskState<T>> | null = null;

  /** Work that is stopped may be started again: it then goes on from what it has kept. */
  constructor(
    work: (step: Step<T>) => Promise<T>,
    until: AbortSignal,
    initial: Partial<TaskState<T>> = {},
  ) {
    this.#work = work;
    this.#until = until;
    this.#initial = { ...IDLE, ...initial };
    this.#state = signal(this.#initial);
  }

  get state(): ReadonlySignal<TaskState<T>> {
    return this.#state;
  }

  #set(change: Partial<TaskState<T>> = {}): void {
    this.#state.value = { ...this.#state.peek(), ...this.#reported, ...change };
    this.#reported = null;
  }

  #report(change: Partial<TaskState<T>>): void {
    const waits = this.#reported !== null;
    this.#reported = { ...this.#reported, ...change };
    if (!waits) frame(() => this.#reported !== null && !this.#until.aborted && this.#set());
  }

  async start(): Promise<void> {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    const when =
      (act: (change: Partial<TaskState<T>>) => void) => (change: Partial<TaskState<T>>) => {
        if (this.#running === running && !this.#until.aborted) act.call(this, change);
      };
    const [set, report] = [when(this.#set), when(this.#report)];
    const value = this.#reported?.value ?? this.#state.peek().value;
    set({ ...this.#initial, status: "running", value });
    try {
      const value = await this.#work({
        signal: AbortSignal.any([running.signal, this.#until]),
        progress: (done, total) => report({ done, total }),
        partial: (value) => report({ value }),
      });
      set({ status: "done", value });
    } catch (error) {
      if (isAbort(error)) set({ status: "stopped" });
      else set({ status: "failed", failure: { ...explain(error), lasting: isLasting(error) } });
    }
  }

  stop(): void {
    this.#running?.abort();
    this.#running = null;
    if (this.#until.aborted || this.#state.peek().status !== "running") return;
    this.#set({ status: "stopped" });
  }

  /** Stop, or go on. */
  toggle(): void {
    if (this.#state.peek().status === "running") this.stop();
    else void this.start();
  }
}
