/**
 * The connection of a widget to its kernel. A question waits as long as the kernel is busy with other cells; it is asked
 * again if its answer was lost, and fails only if the kernel has ended.
 */

import { onAbort } from "../abort";
import { type Notice, SliceFailure } from "../failure";
import type { Invoke } from "./invoke";

/** After so much silence the page says that it waits, ms. */
const SILENCE_MS = 3000;
/** Silence before the first echo is asked for, ms; before each further one twice as long, so that they never pile up. */
const ECHO_MS = 5000;

export const WAITING: Notice = {
  message: "Waiting for the kernel, which is busy with another cell or not running.",
  hint: "What is missing here comes by itself.",
};
const LOST = "The answer to this question was lost.";

/** State of a comm, as ipywidgets' models give it. anywidget hides the widget's own model, but not that of its layout. */
export interface Comm {
  readonly comm_live?: boolean;
  on?(event: "comm_live_update", listener: () => void): void;
  off?(event: "comm_live_update", listener: () => void): void;
}

interface ConnectionOptions {
  /** Told why the kernel gives no answer, and null when it answers again. */
  readonly contact: (notice: Notice | null) => void;
  readonly comm?: Comm | undefined;
  /** Aborted with the widget's view. */
  readonly signal: AbortSignal;
}

/** `invoke`, without a time limit. Rejects with a `SliceFailure` if the kernel has ended. */
export function connect(invoke: Invoke, options: ConnectionOptions): Invoke {
  const { contact, comm, signal: lifetime } = options;
  /** Questions without an answer. */
  const waiting = new Set<AbortController>();
  let notified: Notice | null = null;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let next: ReturnType<typeof setTimeout> | undefined;
  let echoing: AbortController | null = null;

  function notify(notice: Notice | null): void {
    if (notice?.message === notified?.message) return;
    notified = notice;
    contact(notice);
  }

  function rest(): void {
    clearTimeout(silence);
    clearTimeout(next);
    echoing?.abort();
    if (notified === WAITING) notify(null);
  }

  /** Count the silence from now on. */
  function count(): void {
    clearTimeout(silence);
    clearTimeout(next);
    silence = setTimeout(() => (isCut() ? end() : notify(WAITING)), SILENCE_MS);
    next = setTimeout(echo, ECHO_MS, ECHO_MS);
  }

  function forget(question: AbortController): void {
    waiting.delete(question);
    if (waiting.size === 0) rest();
  }

  function end(): void {
    for (const question of waiting) question.abort(gone());
    notify(gone());
  }

  /** The kernel answers in order: what was asked before an echo and is not answered after it was lost. */
  async function echo(pause: number): Promise<void> {
    const before = [...waiting];
    next = setTimeout(echo, 2 * pause, 2 * pause);
    echoing?.abort();
    const request = new AbortController();
    echoing = request;
    try {
      await invoke("echo", null, { signal: AbortSignal.any([request.signal, lifetime]) });
    } catch (error) {
      if (request.signal.aborted || lifetime.aborted) return;
      console.debug("attn-widget:", error);
      return end();
    }
    if (request.signal.aborted) return;
    for (const question of before) question.abort(LOST);
  }

  const isCut = (): boolean => comm?.comm_live === false;
  const follow = (): void => {
    if (isCut() && waiting.size > 0) end();
  };
  comm?.on?.("comm_live_update", follow);
  onAbort(lifetime, () => {
    comm?.off?.("comm_live_update", follow);
    rest();
  });

  return async (name, request, { signal }) => {
    for (;;) {
      const question = new AbortController();
      const stop = AbortSignal.any([signal, lifetime, question.signal]);
      waiting.add(question);
      if (waiting.size === 1) count();
      try {
        const answer = await invoke(name, request, { signal: stop });
        notify(null);
        count();
        return answer;
      } catch (error) {
        if (signal.aborted || lifetime.aborted) throw error;
        if (question.signal.reason === LOST) continue;
        // After a restart the host refuses to send: "Cannot send" (JupyterLab).
        console.debug("attn-widget:", error);
        notify(gone());
        throw gone();
      } finally {
        forget(question);
      }
    }
  };
}

const gone = (): SliceFailure =>
  new SliceFailure("The kernel is gone: what is loaded stays usable.", "Run the cell again.");
