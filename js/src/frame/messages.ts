/** Messages: errors, a lost kernel, a closed run. */

import { h } from "../draw/dom";
import { type Notice, SliceFailure } from "../protocol/failure";
import type { Meta } from "../protocol/types";

export interface Messages {
  readonly element: HTMLElement;
  /** Show an error, with what helps below it. */
  report(message: string, hint?: string, remedy?: Node | null): void;
  clearReport(): void;
  /** Why the kernel gives no answer; null when it does. */
  kernel(notice: Notice | null): void;
  closed(is: boolean): void;
}

const strip = (name: string, part: string, role: "alert" | "status"): HTMLElement =>
  h("div", { class: `aw-message ${name}`, role, "data-aw-part": part, hidden: true });

export function createMessages(): Messages {
  const error = strip("aw-error", "error", "alert");
  const kernel = strip("aw-notice", "kernel", "status");
  const closed = strip("aw-notice", "closed", "status");
  closed.append(h("p", {}, "Closed: the kernel has freed this run. The picture on screen stays."));
  let lost: string | undefined;

  function clearReport(): void {
    error.hidden = true;
    error.replaceChildren();
  }

  return {
    element: h("div", { class: "aw-messages" }, kernel, closed, error),
    report(message, hint = "", remedy = null) {
      // The banner says so already.
      if (message === lost) return;
      const close = h("button", { class: "aw-button", "aria-label": "Dismiss" }, "×");
      close.addEventListener("click", clearReport);
      const text = h(
        "p",
        {},
        h("strong", {}, message),
        hint === "" ? null : h("span", {}, ` ${hint}`),
      );
      error.replaceChildren(h("div", { class: "aw-message-text" }, text, remedy), close);
      error.hidden = false;
    },
    clearReport,
    kernel(notice) {
      lost = notice?.message;
      kernel.hidden = notice === null;
      kernel.classList.toggle("aw-calm", !(notice instanceof SliceFailure));
      const notes = notice === null ? [] : [h("p", {}, `${notice.message} ${notice.hint}`)];
      kernel.replaceChildren(...notes);
    },
    closed(is) {
      closed.hidden = !is;
    },
  };
}

/** The part of a long text that is shown, or how it was read; empty for others. */
export function lengthNote({ truncated, windows }: Meta): string {
  if (truncated !== null)
    return `Cut: the model reads ${truncated.limit} tokens, the text has ${truncated.length}.`;
  if (windows === undefined) return "";
  return (
    `Read in ${windows.spans.length} windows of ${windows.size} tokens that share ${windows.overlap}. A row is from the ` +
    "window in which its token is most central; hatched keys lie outside that window and have no weight."
  );
}

/** Sentence about the parts that a saved page of a given size lacks. */
export const lacking = ({ snapshot }: Meta): string =>
  snapshot?.left_out ? ` Left out to limit the size: ${snapshot.left_out}.` : "";
