/** anywidget's commands over plain messages, for hosts that offer no `invoke` of their own (marimo 0.25). */

import { onAbort } from "../abort";

/** anywidget's `experimental.invoke`. */
export type Invoke = (
  name: string,
  request: unknown,
  options: { signal: AbortSignal },
) => Promise<[unknown, readonly (ArrayBuffer | ArrayBufferView)[]]>;

/** The part of the host's model that is used here. */
export interface Messages {
  send(content: unknown): unknown;
  on(event: string, listener: (...values: unknown[]) => void): void;
  off(event: string, listener: (...values: unknown[]) => void): void;
}

type Buffers = readonly (ArrayBuffer | ArrayBufferView)[];

/** The host's way of asking; once it says that it has none, the messages that it would send. */
export function invokeWith(model: Messages, invoke: Invoke): Invoke {
  let missing = false;
  return async (name, request, options) => {
    if (!missing) {
      try {
        return await invoke(name, request, options);
      } catch (error) {
        if (!/not supported/.test(String(error))) throw error;
        missing = true;
      }
    }
    return ask(model, name, request, options.signal);
  };
}

function ask(
  model: Messages,
  name: string,
  msg: unknown,
  signal: AbortSignal,
): Promise<[unknown, Buffers]> {
  const id = `aw-${Math.random().toString(36).slice(2)}`; // no randomUUID without https
  return new Promise((resolve, reject) => {
    const stop = () => {
      model.off("msg:custom", listen);
      stay();
    };
    const abort = () => {
      stop();
      reject(signal.reason);
    };
    const listen = (...[content, buffers]: unknown[]) => {
      const answer = content as { id?: unknown; response?: unknown } | null;
      if (answer?.id !== id) return;
      stop();
      resolve([answer.response, (buffers ?? []) as Buffers]);
    };
    signal.throwIfAborted();
    const stay = onAbort(signal, abort);
    model.on("msg:custom", listen);
    model.send({ id, kind: "anywidget-command", name, msg });
  });
}
