/** Work on a question that may change: a task for each question, of which only the present one runs. */

import { computed, type ReadonlySignal, untracked } from "@preact/signals-core";
import { type Step, shareOf, Task } from "../../protocol/task";
import { Button } from "../../ui/controls";
import { watch } from "../../ui/mount";

/** Answers that are kept. */
const KEPT = 24;

/** The task of the present question, which starts at once; null without one. */
export function taskOf<Q, T>(
  question: ReadonlySignal<Q | null>,
  work: (of: Q, step: Step<T>) => Promise<T>,
  until: AbortSignal,
): ReadonlySignal<Task<T> | null> {
  const tasks = new Map<string, Task<T>>();
  const task = computed(() => {
    const of = question.value;
    if (of === null) return null;
    const key = JSON.stringify(of);
    const found = tasks.get(key) ?? new Task<T>((step) => work(of, step), until);
    tasks.delete(key);
    tasks.set(key, found);
    const [oldest] = tasks.keys();
    if (tasks.size > KEPT && oldest !== undefined) tasks.delete(oldest);
    return found;
  });
  let last: Task<T> | null = null;
  watch(() => {
    const now = task.value;
    untracked(() => {
      if (last !== now) last?.stop();
      last = now;
      if (now !== null && now.state.peek().value === null) void now.start();
    });
  }, until);
  return task;
}

/** Progress of a task, the reason why it gave nothing, or, once it was stopped, a button that starts it; nothing once its value is here. */
export function Waiting({
  task,
  doing,
  start,
  part,
}: {
  readonly task: Task<unknown>;
  readonly doing: string;
  /** On the button. */
  readonly start: string;
  readonly part: string;
}) {
  const { status, value, failure } = task.state.value;
  if (value !== null) return null;
  if (failure !== null)
    return (
      <p class="aw-qk-absent" role="status" data-aw-part={`${part}-absent`}>
        {failure.message}
        {failure.hint !== "" && <span class="aw-muted"> {failure.hint}</span>}
      </p>
    );
  if (status !== "running")
    return (
      <Button class="aw-plain-button aw-small" part={part} onClick={() => void task.start()}>
        {start}
      </Button>
    );
  const share = shareOf(task.state.value);
  return (
    <p class="aw-qk-wait aw-muted aw-cluster" role="status" data-aw-part={`${part}-progress`}>
      {`${doing} …${share === null ? "" : ` ${Math.round(100 * share)}%`}`}
      <Button class="aw-link" onClick={() => task.stop()}>
        cancel
      </Button>
    </p>
  );
}
