/** How far a run has come: a line, words and a way to stop it. */

import { h, setAttributes } from "../draw/dom";
import type { Activity } from "../protocol/types";

/** A run that is over sooner shows nothing: no flicker. */
const PATIENCE_MS = 150;
const WORDS: Readonly<Record<string, string>> = {
  loading: "Loading the model",
  running: "Running the model",
};

export interface ProgressBar {
  readonly element: HTMLElement;
  show(activity: Activity, cancel: (() => void) | null): void;
  dispose(): void;
}

export function createProgress(visible: (is: boolean) => void): ProgressBar {
  const text = h("span", { class: "aw-progress-text" });
  const count = h("span", { class: "aw-number aw-muted" });
  const stop = h("button", { class: "aw-plain", "data-aw-part": "cancel" }, "Cancel");
  const fill = h("span", { class: "aw-progress-fill" });
  const bar = h("div", { class: "aw-progress-bar", role: "progressbar" }, fill);
  const element = h(
    "div",
    { class: "aw-progress", "data-aw-part": "progress", hidden: true },
    h("div", { class: "aw-progress-words", role: "status" }, text, count),
    stop,
    bar,
  );
  let late: ReturnType<typeof setTimeout> | undefined;
  let cancel: (() => void) | null = null;
  stop.addEventListener("click", () => {
    stop.disabled = true;
    cancel?.();
  });

  function hide(): void {
    clearTimeout(late);
    late = undefined;
    stop.disabled = false;
    if (element.hidden) return;
    element.hidden = true;
    visible(false);
  }

  return {
    element,
    show({ status, progress }, stopIt) {
      const words = WORDS[status];
      if (words === undefined) return hide();
      cancel = stopIt;
      stop.hidden = stopIt === null || status !== "running";
      text.textContent = progress?.label ?? words;
      const { done, total } = progress ?? { done: 0, total: 0 };
      const known = total > 0;
      count.textContent = known ? `${done} / ${total}` : "";
      bar.classList.toggle("aw-endless", !known);
      fill.style.width = known ? `${(100 * Math.min(done, total)) / total}%` : "";
      setAttributes(bar, {
        "aria-label": text.textContent,
        "aria-valuemin": 0,
        "aria-valuemax": known ? total : null,
        "aria-valuenow": known ? done : null,
      });
      if (late !== undefined || !element.hidden) return;
      late = setTimeout(() => {
        element.hidden = false;
        visible(true);
      }, PATIENCE_MS);
    },
    dispose: hide,
  };
}
