/** Messages: errors, a lost kernel, a closed run; and the progress of a run. */

import { signal } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import { type Notice, SliceFailure } from "../protocol/failure";
import type { Activity } from "../protocol/types";
import { Button } from "../ui/controls";
import { setTo } from "../ui/mount";

/** A run that is over sooner shows nothing: no flicker. */
const PATIENCE_MS = 150;
const WORDS: Readonly<Record<string, string>> = {
  loading: "Loading the model",
  running: "Running the model",
};

interface Failure extends Notice {
  /** Controls that help, below the message. */
  readonly remedy: (() => ComponentChildren) | null;
}

/** Why the kernel gives no answer; nothing while it does. */
export const Contact = ({
  notice,
  part = "kernel",
}: {
  readonly notice: Notice | null;
  readonly part?: string;
}) => (
  <div
    class={`aw-message aw-notice${notice instanceof SliceFailure ? "" : " aw-calm"}`}
    role="status"
    data-aw-part={part}
    hidden={notice === null}
  >
    {notice && <p>{`${notice.message} ${notice.hint}`}</p>}
  </div>
);

export function createMessages() {
  const error = signal<Failure | null>(null);
  const kernel = signal<Notice | null>(null);
  const closed = signal(false);
  const clearReport = setTo(error, null);
  return {
    closed,
    kernel,
    clearReport,
    report(message: string, hint = "", remedy: Failure["remedy"] = null): void {
      // The strip of the kernel says so already.
      if (message !== kernel.peek()?.message) error.value = { message, hint, remedy };
    },
    View() {
      const failure = error.value;
      return (
        <div class="aw-messages">
          <Contact notice={kernel.value} />
          <div
            class="aw-message aw-notice"
            role="status"
            data-aw-part="closed"
            hidden={!closed.value}
          >
            <p>This run was closed. Its picture stays, but nothing more can be computed.</p>
          </div>
          <div
            class="aw-message aw-error"
            role="alert"
            data-aw-part="error"
            hidden={failure === null}
          >
            {failure && (
              <>
                <div class="aw-message-text">
                  <p>
                    <strong>{failure.message}</strong>
                    {failure.hint !== "" && <span> {failure.hint}</span>}
                  </p>
                  {failure.remedy?.()}
                </div>
                <Button label="Dismiss" onClick={clearReport}>
                  ×
                </Button>
              </>
            )}
          </div>
        </div>
      );
    },
  };
}

/** A line, words and a way to cancel; `visible` is called when they come and go. */
export function createProgress(visible: (is: boolean) => void) {
  const shown = signal<{ activity: Activity; cancel: (() => void) | null } | null>(null);
  const late = signal(false);
  const canceled = signal(false);
  let timer: ReturnType<typeof setTimeout> | undefined;

  function hide(): void {
    clearTimeout(timer);
    timer = undefined;
    canceled.value = false;
    if (!late.peek()) return;
    late.value = false;
    visible(false);
  }

  return {
    show(activity: Activity, cancel: (() => void) | null): void {
      if (WORDS[activity.status] === undefined) {
        hide();
        return;
      }
      shown.value = { activity, cancel };
      timer ??= setTimeout(() => {
        late.value = true;
        visible(true);
      }, PATIENCE_MS);
    },
    dispose: hide,
    View() {
      const { status = "", progress = null } = shown.value?.activity ?? {};
      const cancel = shown.value?.cancel ?? null;
      const words = progress?.label ?? WORDS[status];
      const { done, total } = progress ?? { done: 0, total: 0 };
      const counted = total > 0;
      return (
        <div class="aw-progress" data-aw-part="progress" hidden={!late.value}>
          <div class="aw-progress-words" role="status">
            <span class="aw-progress-text">{words}</span>
            <span class="aw-number aw-muted">{counted && `${done} / ${total}`}</span>
          </div>
          <Button
            class="aw-plain"
            part="cancel"
            hidden={cancel === null || status !== "running"}
            disabled={canceled.value}
            onClick={() => {
              canceled.value = true;
              cancel?.();
            }}
          >
            Cancel
          </Button>
          <div
            class={`aw-progress-bar${counted ? "" : " aw-endless"}`}
            role="progressbar"
            aria-label={words}
            aria-valuemin={0}
            aria-valuemax={counted ? total : undefined}
            aria-valuenow={counted ? done : undefined}
          >
            <span
              class="aw-progress-fill"
              style={{ scale: counted ? `${Math.min(done / total, 1)} 1` : "" }}
            />
          </div>
        </div>
      );
    },
  };
}
