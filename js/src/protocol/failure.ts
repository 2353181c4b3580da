/** Why a question has no answer, in words for the reader. */

/** A message for the reader, with what helps. */
export interface Notice {
  readonly message: string;
  readonly hint: string;
}

/** A question without an answer. */
export class SliceFailure extends Error implements Notice {
  override name = "SliceFailure";
  constructor(
    message: string,
    readonly hint: string = "",
    /** True if it would fail again: nothing to retry. */
    readonly lasting: boolean = false,
  ) {
    super(message);
  }
}

/** Error and remedy for a token whose numbers were not saved. */
export const ONE_TOKEN = "This saved page has these numbers for one token only.";
export const NEEDS_KERNEL = "It needs a kernel: open the text in a notebook.";

export const needsKernel = (what: string): SliceFailure =>
  new SliceFailure(`${what} is not in this saved page.`, NEEDS_KERNEL, true);

/** True if a source that runs texts has no code for a question; a saved page tells when it is asked. */
export const cannotAnswer = <R>(
  source: { readonly live: boolean; has?(request: R): boolean },
  request: R,
): boolean => source.live && source.has?.(request) === false;

export const isLasting = (error: unknown): boolean =>
  error instanceof SliceFailure && error.lasting;

/** Message and hint of anything that was thrown, or of a notice. */
export function explain(error: unknown): Notice {
  const { message = String(error), hint = "" } = Object(error) as Partial<Notice>;
  return { message, hint };
}

/** Both in one line. */
export function messageOf(error: unknown): string {
  const { message, hint } = explain(error);
  return `${message} ${hint}`.trim();
}

/** True if an error only reports a canceled request. */
export const isAbort = (error: unknown): boolean =>
  error instanceof DOMException && error.name === "AbortError";
