import type { SliceRequest, Source } from "./types";

/** A message for the reader, with what helps. */
export interface Notice {
  readonly message: string;
  readonly hint: string;
}

/** Why a question has no answer, in words for the reader. */
export class SliceFailure extends Error implements Notice {
  override name = "SliceFailure";
  constructor(
    message: string,
    readonly hint: string = "",
    /** Whether it would fail again: nothing to retry. */
    readonly lasting: boolean = false,
  ) {
    super(message);
  }
}

/** Whether a source that runs texts has no code for a question; a saved page tells when it is asked. */
export const isBeyond = (source: Source, request: SliceRequest): boolean =>
  source.live && source.has?.(request) === false;

export const isLasting = (error: unknown): boolean =>
  error instanceof SliceFailure && error.lasting;

/** Message and hint of anything that was thrown. */
export function explain(error: unknown): Notice {
  if (error instanceof SliceFailure) return { message: error.message, hint: error.hint };
  return { message: error instanceof Error ? error.message : String(error), hint: "" };
}

/** Whether an error only reports a canceled request. */
export const isAbort = (error: unknown): boolean =>
  error instanceof DOMException && error.name === "AbortError";
