/** Questions that the reader may open next, asked while nothing else is to be done: one question after another, of a short text. */

import type { ReadonlySignal } from "@preact/signals-core";
import { whenIdle } from "../../draw/wait";
import { isAbort } from "../../protocol/failure";
import { keysOf } from "../../protocol/meta";
import { requestKey } from "../../protocol/slice";
import type { SliceRequest, Source } from "../../protocol/types";
import { watch } from "../../ui/mount";

/** Tokens of the longest text that is asked about unbidden. */
const SHORT = 64;

export const isShort = ({ meta }: Source): boolean =>
  Math.max(meta.tokens.text.length, keysOf(meta).text.length) <= SHORT;

/**
 * The source keeps the answers. Other questions, and none, give up the one that is under way; so a kernel never has more
 * than one, and one that is busy gets no second.
 */
export function askAhead(
  source: Source,
  questions: ReadonlySignal<readonly SliceRequest[]>,
  until: AbortSignal,
): void {
  const settled = new Set<string>();
  watch(() => {
    const left = questions.value.filter((each) => !settled.has(requestKey(each)));
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, until]);
    const next = (): void => {
      const question = left.shift();
      if (question === undefined || signal.aborted) return;
      const go = (): void => {
        settled.add(requestKey(question));
        whenIdle(next);
      };
      // A refusal is shown where the reader asks.
      source.ask(question, { signal }).then(go, (error: unknown) => isAbort(error) || go());
    };
    if (left.length > 0) whenIdle(next);
    return () => ended.abort();
  }, until);
}
