/** The last runs, to run again. */

import { consume, h, step } from "../draw/dom";
import { itemAt } from "../protocol/required";
import type { PastRun } from "../protocol/types";

/** A list of buttons; the first run is the one that is shown when `shown` says so. */
export function historyList(
  runs: readonly PastRun[],
  isShown: (run: PastRun) => boolean,
  again: (run: PastRun) => void,
  title = "Run again",
): HTMLElement {
  const buttons = runs.map((run, i) => {
    const button = h(
      "button",
      {
        class: "aw-past",
        tabindex: i === 0 ? 0 : -1,
        "aria-current": isShown(run),
        title: [run.text, run.text_pair].filter(Boolean).join("\n"),
      },
      h("bdi", { class: "aw-past-text" }, run.text),
      run.text_pair ? h("bdi", { class: "aw-past-text aw-muted" }, run.text_pair) : null,
    );
    button.addEventListener("click", () => again(run));
    return button;
  });
  const list = h(
    "ol",
    { class: "aw-history", "data-aw-part": "history" },
    ...buttons.map((button) => h("li", {}, button)),
  );
  list.addEventListener("keydown", (event) => {
    const index = buttons.indexOf(event.target as HTMLButtonElement);
    const next = index < 0 ? null : step(event.key, index, buttons.length);
    if (next === null) return;
    itemAt(buttons, index).tabIndex = -1;
    itemAt(buttons, next).tabIndex = 0;
    itemAt(buttons, next).focus();
    consume(event);
  });
  return h("div", {}, h("h3", { class: "aw-title" }, title), list);
}
