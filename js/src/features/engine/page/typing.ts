/** Runs what is typed: the latest text wins, and the last good picture stays. */

import { explain } from "../../../protocol/failure";
import { headsOff } from "../../../protocol/meta";
import type { Action, Activity, Meta, PastRun } from "../../../protocol/types";
import { carriedMasks } from "./carry-over";
import type { Metadata, Text } from "./metadata";
import type { Changes } from "./open";
import type { RequestQueue } from "./request-queue";
import { EngineSource } from "./source";

/** Texts that the history has. */
const HISTORY = 20;

interface TypingHost {
  show(source: EngineSource): void;
  /** True if predictions are looked at: otherwise they are computed when they are asked for. */
  predicts(): boolean;
  activity(activity: Activity): void;
}

export interface Typing {
  /** Run a text as it is typed; one that a later one overtakes is never run. */
  type(text: Text): Promise<void>;
  /** The actions of the run box, of the ribbon and of the head grid: what a kernel would be asked. */
  act(action: Action): Promise<void>;
}

/** The text to run next, from the run that is shown. */
type Job = (before: Meta) => { readonly text: Text; readonly changes: Changes };

/** The same masks and heads, as far as the next text has them. */
const carried = (before: Meta): Changes => ({
  ...(before.masked.length > 0 && { masks: (tokens) => carriedMasks(before, tokens) }),
  off: headsOff(before.heads_off),
});

/** `first`: the run that is shown before anything is typed. */
export function createTyping(
  queue: RequestQueue,
  metadata: Metadata,
  host: TypingHost,
  first: Meta,
): Typing {
  let history: readonly PastRun[] = [{ text: first.text, text_pair: first.text_pair }];
  let next: Job | null = null;
  let shown = first;
  let working: Promise<void> | null = null;

  const report = (status: string, error: Activity["error"] = null): void =>
    host.activity({ status, progress: null, history, error });

  async function work(): Promise<void> {
    while (next !== null) {
      const { text, changes } = next(shown);
      next = null;
      try {
        const predicted = host.predicts();
        const source = await EngineSource.open(queue, metadata, text, { ...changes, predicted });
        shown = source.meta;
        host.show(source);
        report("ready");
      } catch (error) {
        // The next key may bring what a half-typed text lacks.
        if (next === null) report("error", explain(error));
      }
    }
    working = null;
  }

  function run(job: Job): Promise<void> {
    next = job;
    working ??= work();
    return working;
  }

  const type = (text: Text): Promise<void> => run((before) => ({ text, changes: carried(before) }));

  /** Run the shown text again, changed. */
  async function change(changes: Changes): Promise<void> {
    await working;
    await run((before) => ({ text: before, changes: { ...carried(before), ...changes } }));
  }

  /** A text that was run on purpose, newest first. */
  function keep({ text, text_pair }: Text): void {
    const entry = { text, text_pair: text_pair || null };
    const others = history.filter(
      (earlier) => earlier.text !== entry.text || (earlier.text_pair || null) !== entry.text_pair,
    );
    history = [entry, ...others].slice(0, HISTORY);
  }

  return {
    type,
    async act(action) {
      switch (action.kind) {
        case "cancel":
          next = null;
          return;
        case "run":
          keep(action);
          return type(action);
        case "mask":
          return change({ masks: () => action.tokens });
        case "switch_off":
          return change({ off: headsOff(action.heads) });
      }
    },
  };
}
