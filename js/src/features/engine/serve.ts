/** The worker's side: opens a model, then answers calls in their order. */

import { EngineError, type EngineErrorCode } from "./errors";
import { openSession } from "./open";
import { CALLS, type Session } from "./session";

export type Request =
  | { readonly id: number; readonly file: Uint8Array; readonly kernels: Uint8Array<ArrayBuffer> }
  | { readonly id: number; readonly name: (typeof CALLS)[number]; readonly values: unknown[] };

export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly code: EngineErrorCode | null; readonly message: string };

/** The part of a worker's global scope that is used here. */
export interface Port {
  onmessage: ((event: MessageEvent<Request>) => void) | null;
  postMessage(message: Reply, transfer: Transferable[]): void;
}

/** Id of the first message, by which a worker says that it lives. */
const READY = 0;

/** Buffers of an array, or of those in an object: they are handed over, not copied. */
function buffersOf(value: unknown): Transferable[] {
  const parts = value instanceof Float32Array ? [value] : Object.values(value ?? {});
  return parts.flatMap((part: unknown) => (part instanceof Float32Array ? part.buffer : []));
}

export function serve(port: Port): void {
  let session: Session | null = null;
  let last: Promise<void> = Promise.resolve();
  const answer = async (request: Request): Promise<unknown> => {
    if ("file" in request) {
      session = await openSession(request.file, request.kernels);
      return null;
    }
    if (session === null || !CALLS.includes(request.name))
      throw new EngineError("input", "The engine was asked something before it was opened.");
    const call = session[request.name] as (...values: unknown[]) => unknown;
    return call.apply(session, request.values);
  };
  port.onmessage = ({ data }) => {
    last = last.then(async () => {
      try {
        const value = await answer(data);
        port.postMessage({ id: data.id, value }, buffersOf(value));
      } catch (error) {
        const code = error instanceof EngineError ? error.code : null;
        const message = error instanceof Error ? error.message : String(error);
        port.postMessage({ id: data.id, code, message }, []);
      }
    });
  };
  port.postMessage({ id: READY, value: null }, []);
}
