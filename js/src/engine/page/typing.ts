/** Runs what is typed: the latest text wins, and the last good picture stays. */

import { explain, SliceFailure } from "../../protocol/failure";
import { NEEDS_KERNEL } from "../../protocol/token-row";
import type { Action, Activity, PastRun } from "../../protocol/types";
import type { About, Text } from "./about";
import { EngineSource } from "./source";
import type { Turns } from "./turns";

/** Texts that the history has. */
const HISTORY = 20;

export interface TypingHost {
  show(source: EngineSource): void;
  activity(activity: Activity): void;
}

export interface Typing {
  /** Run a text as it is typed; one that a later one overtakes is never run. */
  type(text: Text): Promise<void>;
  /** The actions of the run box: what a kernel would be asked. */
  act(action: Action): Promise<void>;
}

export function createTyping(turns: Turns, about: About, host: TypingHost, first: PastRun): Typing {
  let history: readonly PastRun[] = [first];
  let next: Text | null = null;
  let working: Promise<void> | null = null;

  const tell = (status: string, error: Activity["error"] = null): void =>
    host.activity({ status, progress: null, history, error });

  async function work(): Promise<void> {
    while (next !== null) {
      const text = next;
      next = null;
      try {
        const source = await EngineSource.open(turns, about, text);
        host.show(source);
        tell("ready");
      } catch (error) {
        // The next key may bring what a half-typed text lacks.
        if (next === null) tell("error", explain(error));
      }
    }
    working = null;
  }

  function type(text: Text): Promise<void> {
    next = text;
    working ??= work();
    return working;
  }

  /** A text that was run on purpose, newest first. */
  function keep({ text, text_pair }: Text): void {
    const entry = { text, text_pair: text_pair || null };
    const others = history.filter(
      (one) => one.text !== entry.text || (one.text_pair || null) !== entry.text_pair,
    );
    history = [entry, ...others].slice(0, HISTORY);
  }

  return {
    type,
    async act(action) {
      if (action.kind === "cancel") {
        next = null;
        return;
      }
      if (action.kind !== "run") {
        throw new SliceFailure("This page runs texts, and changes nothing else.", NEEDS_KERNEL);
      }
      keep(action);
      await type(action);
    },
  };
}
