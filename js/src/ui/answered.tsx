/** An answer that is asked for: the content that it gives, or a note that it takes long, or why there is none. */

import type { ComponentChildren } from "preact";
import type { Asking, Failure } from "../protocol/asking";
import { Button } from "./controls";
import { memo } from "./memo";

/** Content that loads: a note where that takes long, then the content, or why there is none and a button to ask again. */
export const Answered = memo(function Answered({
  asked: { answer, failure, busy },
  class: name,
  waiting,
  again,
  children,
}: {
  readonly asked: Pick<Asking<unknown>, "answer" | "failure" | "busy">;
  readonly class: string;
  readonly waiting: string;
  readonly again: () => void;
  readonly children: ComponentChildren;
}) {
  const [found, why, late] = [answer.value, failure.value, busy.value];
  return (
    <div
      class={why === null || late ? name : `${name} is-absent`}
      aria-busy={late ? "true" : undefined}
    >
      {late ? (
        <p class="aw-heads-waiting" role="status">
          {waiting}
        </p>
      ) : why === null ? (
        found !== null && children
      ) : (
        <NoAnswer failure={why} again={again} />
      )}
    </div>
  );
});

/** Why there is no answer, and a button to ask again where that can help. */
export const NoAnswer = ({
  failure: { message, hint, lasting },
  again,
}: {
  readonly failure: Failure;
  readonly again: () => void;
}) => (
  <div class="aw-heads-absent" role="status">
    <p>{message}</p>
    {hint !== "" && <p class="aw-hint">{hint}</p>}
    {!lasting && (
      <Button class="aw-plain-button aw-heads-again" onClick={again}>
        Ask again
      </Button>
    )}
  </div>
);
