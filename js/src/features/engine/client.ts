/** The page's side: the engine in a worker, or on the main thread where no worker is allowed. */

import { EngineError } from "./errors";
import type { Port, Reply, Request } from "./serve";
import { CALLS, type Remote, type Session } from "./session";

/** Longest wait for a worker's first message, ms. */
const PATIENCE = 3000;

/** The core as the build hands it over: its exports by a function whose source can start a worker. */
export interface Core {
  serve(port: Port): void;
  openSession(file: Uint8Array, kernels: Uint8Array<ArrayBuffer>): Promise<Session>;
}

export type GivenFile = Uint8Array<ArrayBuffer> | (() => Promise<Uint8Array<ArrayBuffer>>);

export interface Engine extends Remote {
  readonly where: "worker" | "main thread";
  close(): void;
}

/**
 * Start an engine.
 *
 * @param given weights and vocabulary, or what gives them once a worker has started; a worker takes the buffer over
 *   where it is a whole one
 */
export async function openEngine(
  makeCore: () => Core,
  kernels: Uint8Array<ArrayBuffer>,
  given: GivenFile,
): Promise<Engine> {
  const worker = await startWorker(makeCore);
  try {
    const file = typeof given === "function" ? await given() : given;
    return worker === null
      ? onMainThread(await makeCore().openSession(file, kernels))
      : await inWorker(worker, file, kernels);
  } catch (error) {
    worker?.terminate();
    throw error;
  }
}

/** A worker that has answered; null where none is allowed. */
function startWorker(makeCore: () => Core): Promise<Worker | null> {
  return new Promise((resolve) => {
    let worker: Worker;
    try {
      const source = `(${makeCore})().serve(self)`;
      const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      worker = new Worker(address);
      setTimeout(() => URL.revokeObjectURL(address), PATIENCE);
    } catch {
      resolve(null);
      return;
    }
    const end = (found: Worker | null): void => {
      clearTimeout(timer);
      worker.onmessage = worker.onerror = null;
      if (found === null) worker.terminate();
      resolve(found);
    };
    const timer = setTimeout(() => end(null), PATIENCE);
    worker.onmessage = () => end(worker);
    worker.onerror = () => end(null);
  });
}

function engineOf(
  where: Engine["where"],
  call: (name: (typeof CALLS)[number], values: unknown[]) => Promise<unknown>,
  close: () => void,
): Engine {
  const calls = CALLS.map((name) => [name, (...values: unknown[]) => call(name, values)]);
  return { where, close, ...Object.fromEntries(calls) } as Engine;
}

function onMainThread(session: Session): Engine {
  return engineOf(
    "main thread",
    async (name, values) =>
      (session[name] as (...all: unknown[]) => unknown).apply(session, values),
    () => undefined,
  );
}

async function inWorker(
  worker: Worker,
  file: Uint8Array<ArrayBuffer>,
  kernels: Uint8Array<ArrayBuffer>,
): Promise<Engine> {
  interface Waiting {
    resolve(value: unknown): void;
    reject(error: Error): void;
  }
  const waiting = new Map<number, Waiting>();
  let last = 0;
  const fail = (error: Error): void => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  worker.onmessage = ({ data }: MessageEvent<Reply>) => {
    const request = waiting.get(data.id);
    waiting.delete(data.id);
    if ("value" in data) request?.resolve(data.value);
    else
      request?.reject(
        data.code === null ? new Error(data.message) : new EngineError(data.code, data.message),
      );
  };
  worker.onerror = (event) => fail(new Error(`The engine stopped: ${event.message}`));
  const send = (make: (id: number) => Request, transfer: Transferable[] = []): Promise<unknown> =>
    new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      worker.postMessage(make(last), transfer);
    });
  const whole = file.byteLength === file.buffer.byteLength;
  await send((id) => ({ id, file, kernels }), whole ? [file.buffer] : []);
  return engineOf(
    "worker",
    (name, values) => send((id) => ({ id, name, values })),
    () => {
      worker.terminate();
      fail(new Error("The engine was closed."));
    },
  );
}
