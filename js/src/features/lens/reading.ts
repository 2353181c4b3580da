/** The blocks of a mode as they are asked for, one after the other, those in sight first. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type Failure, latest } from "../../protocol/asking";
import { explain, isAbort, isLasting } from "../../protocol/failure";
import type { Source } from "../../protocol/types";
import { type Block, lensRequest, type Mode, slicedBlock } from "./data";

export interface Reading {
  readonly blocks: ReadonlySignal<ReadonlyMap<number, Block>>;
  readonly failure: ReadonlySignal<Failure | null>;
  /** Positions of the block that is being read, and how many of them are done; null while none is. */
  readonly progress: ReadonlySignal<readonly [done: number, total: number] | null>;
  /** Read these blocks in this order, and no others that are still to come. Resolves when they are there, or have failed. */
  want(blocks: readonly number[]): Promise<void>;
  /** True once the reader has stopped it: what is wanted waits until it goes on. */
  readonly stopped: ReadonlySignal<boolean>;
  /** Give up what is being read. */
  stop(): void;
  /** Stop, or go on with what is wanted. */
  toggle(): void;
  /** Try again after a failure. */
  again(): void;
}

/** Gives the reading of each mode, which begins when it is first asked for. */
export function createReadings(source: Source, until: AbortSignal): (mode: Mode) => Reading {
  const readings = new Map<Mode, Reading>();
  return (mode) => {
    const reading = readings.get(mode) ?? createReading(source, mode, until);
    readings.set(mode, reading);
    return reading;
  };
}

function createReading(source: Source, mode: Mode, until: AbortSignal): Reading {
  const n = source.meta.tokens.text.length;
  const blocks = signal<ReadonlyMap<number, Block>>(new Map());
  const failure = signal<Failure | null>(null);
  const progress = signal<readonly [number, number] | null>(null);
  const stopped = signal(false);
  const next = latest(until);
  let wanted: readonly number[] = [];
  let running: Promise<void> | null = null;

  async function read(): Promise<void> {
    const ended = next();
    for (;;) {
      const block = wanted.find((each) => !blocks.peek().has(each));
      if (block === undefined) return;
      const slice = await source.ask(lensRequest(mode, block, n), {
        signal: ended,
        progress: (done, total) => {
          if (!ended.aborted) progress.value = [done, total];
        },
      });
      ended.throwIfAborted();
      blocks.value = new Map(blocks.peek()).set(block, slicedBlock(slice, block));
    }
  }

  function start(): Promise<void> {
    if (failure.peek() !== null || stopped.peek()) return Promise.resolve();
    if (running !== null) return running;
    const mine = read()
      .catch((error: unknown) => {
        if (!isAbort(error) && !until.aborted)
          failure.value = { ...explain(error), lasting: isLasting(error) };
      })
      .finally(() => {
        if (running !== mine) return;
        running = null;
        progress.value = null;
      });
    running = mine;
    return mine;
  }

  function stop(): void {
    next();
    [running, progress.value] = [null, null];
  }

  return {
    blocks,
    failure,
    progress,
    stopped,
    want(these) {
      wanted = these;
      return start();
    },
    stop() {
      stop();
      wanted = [];
    },
    toggle() {
      stopped.value = !stopped.peek();
      if (stopped.peek()) stop();
      else void start();
    },
    again() {
      failure.value = null;
      void start();
    },
  };
}
