/** Errors of the engine: a sentence that a page can show, and a code to test for. */

export type EngineErrorCode =
  | "unsupported" // no WebAssembly, no SIMD, or a policy that forbids it
  | "file" // not a file of the engine
  | "truncated"
  | "checksum"
  | "memory"
  | "too-long"
  | "input"
  | "no-run"; // figures asked for before the first run

export class EngineError extends Error {
  override readonly name = "EngineError";

  constructor(
    readonly code: EngineErrorCode,
    message: string,
  ) {
    super(message);
  }
}
