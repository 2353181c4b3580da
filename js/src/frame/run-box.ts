/** Input for another text, which runs in the kernel; unobtrusive until it is used. */

import { consume, h } from "../draw/dom";
import { icon } from "../draw/icon";
import { createPopover } from "../draw/popover";
import { directionOf } from "../draw/text-line";
import { explain } from "../protocol/failure";
import type { Action, Activity, Meta, PastRun } from "../protocol/types";
import { historyList } from "./history";

/** The error for a text that is too long names this option of Python. */
const TOO_LONG = /truncation=True/;

type Act = (action: Action) => Promise<void>;
export type Compare = (anchor: HTMLElement) => void;

export interface RunBox {
  readonly element: HTMLElement;
  /** A run is shown; without `act` there is nothing to type. `compare` asks for another text below a button. */
  show(meta: Meta, act: Act | null, compare?: Compare | null): void;
  activity(activity: Activity): void;
  /** Remedy for an error: the offer to cut a text that is too long. */
  remedy(hint: string): HTMLElement | null;
  dispose(): void;
}

export interface RunBoxHost {
  /** Where the history opens. */
  readonly root: HTMLElement;
  report(message: string, hint?: string): void;
  clearReport(): void;
}

interface Field {
  readonly element: HTMLElement;
  readonly input: HTMLTextAreaElement;
  set(text: string): void;
}

export function createRunBox({ root, report, clearReport }: RunBoxHost): RunBox {
  const stop = new AbortController();
  const { signal } = stop;
  let act: Act | null = null;
  let compare: Compare | null = null;
  /** The text on screen, and the text last sent. */
  let shown: PastRun = { text: "", text_pair: null };
  let sent: PastRun | null = null;
  let history: readonly PastRun[] = [];
  let paired = false;
  /** Null until the reader chooses: then the option of `show()` holds. */
  let truncation: boolean | null = null;
  const boxes: HTMLInputElement[] = [];

  const button = (part: string, label: string | null, face: Node | string, title: string) =>
    h("button", { class: "aw-plain", "data-aw-part": part, "aria-label": label, title }, face);
  const run = button("run-button", null, "Run", "Run this text (Ctrl + Enter)");
  const pair = button("pair-button", null, "+ pair", "Add a second text to make a sentence pair");
  const other = button("compare-button", null, "compare", "Compare with another text");
  const past = button("history-button", "Earlier texts", icon("history"), "Earlier texts");
  const unpair = button("unpair-button", "Remove the second text", "×", "One text only");
  const first = field("Text", "run-text");
  const second = field("Second text", "run-pair");
  const secondRow = h("div", { class: "aw-run-row" }, second.element, unpair);
  const cut = truncate("truncate");
  const offer = truncate("truncate: read only the beginning");
  const element = h(
    "div",
    {
      class: "aw-run",
      role: "group",
      "aria-label": "Run a text",
      "data-aw-part": "run",
      hidden: true,
    },
    h("div", { class: "aw-run-fields" }, first.element, secondRow),
    h("div", { class: "aw-run-tools" }, cut, pair, other, past, run),
  );
  const popover = createPopover(root);

  function field(label: string, part: string): Field {
    const input = h("textarea", {
      class: "aw-run-input",
      rows: 1,
      spellcheck: "false",
      autocomplete: "off",
      placeholder: "Type a text",
      "aria-label": label,
      "data-aw-part": part,
    });
    const box = h("div", { class: "aw-run-field" }, input);
    /** Open, it lies over what is below it: nothing moves. */
    const open = (is: boolean): void => {
      box.classList.toggle("aw-open", is);
      input.style.height = "";
      if (is) input.style.height = `${input.scrollHeight + 2}px`;
      else input.scrollTop = 0;
    };
    const direct = (): void => {
      input.dir = directionOf(input.value);
      box.dir = input.dir;
    };
    input.addEventListener("focus", () => open(true), { signal });
    input.addEventListener("pointerdown", () => open(true), { signal });
    input.addEventListener("blur", () => open(false), { signal });
    input.addEventListener(
      "input",
      () => {
        direct();
        open(true);
        mark();
      },
      { signal },
    );
    input.addEventListener(
      "keydown",
      (event) => {
        if (event.isComposing) return;
        const enter = event.key === "Enter";
        const runs =
          enter && (event.ctrlKey || event.metaKey || !(event.shiftKey || /\n/.test(input.value)));
        if (runs) {
          open(false);
          start();
        } else if (event.key === "Escape" && changed()) fill(shown);
        else if (event.key === "Escape") open(false);
        else return;
        consume(event);
      },
      { signal },
    );
    return {
      element: box,
      input,
      set(text) {
        input.value = text;
        direct();
        if (input.ownerDocument.activeElement === input && box.classList.contains("aw-open")) {
          open(true);
        }
      },
    };
  }

  /** A checkbox that says whether a long text may be cut; all of them say the same. */
  function truncate(label: string): HTMLElement {
    const box = h("input", { type: "checkbox" });
    box.checked = truncation === true;
    boxes.push(box);
    box.addEventListener("change", () => setTruncation(box.checked), { signal });
    return h("label", { class: "aw-check", "data-aw-part": "truncate" }, box, label);
  }
  function setTruncation(is: boolean): void {
    truncation = is;
    for (const box of boxes) box.checked = is;
  }

  const typed = (): PastRun => ({
    text: first.input.value,
    text_pair: paired ? second.input.value : null,
  });
  const same = (a: PastRun, b: PastRun): boolean =>
    a.text === b.text && (a.text_pair || null) === (b.text_pair || null);
  const changed = (): boolean => !same(typed(), shown);

  function mark(): void {
    element.classList.toggle("aw-changed", changed());
    secondRow.hidden = !paired;
    pair.hidden = paired;
    past.hidden = history.length < 2;
  }

  function fill({ text, text_pair }: PastRun): void {
    paired = Boolean(text_pair);
    first.set(text);
    second.set(text_pair ?? "");
    mark();
  }

  function start(): void {
    if (act === null) return;
    const { text, text_pair } = typed();
    sent = { text, text_pair: text_pair || null };
    clearReport();
    const asked: Action = { kind: "run", text, text_pair: text_pair || null };
    act(truncation === null ? asked : { ...asked, truncation }).catch((error: unknown) => {
      const { message, hint } = explain(error);
      report(message, hint);
    });
  }

  run.addEventListener("click", start, { signal });
  other.addEventListener("click", () => compare?.(other), { signal });
  pair.addEventListener(
    "click",
    () => {
      paired = true;
      mark();
      second.input.focus();
    },
    { signal },
  );
  unpair.addEventListener(
    "click",
    () => {
      paired = false;
      mark();
      first.input.focus();
    },
    { signal },
  );
  past.addEventListener(
    "click",
    () => {
      const list = historyList(
        history,
        (entry) => same(entry, shown),
        (entry) => {
          popover.close();
          past.focus({ preventScroll: true });
          fill(entry);
          start();
        },
      );
      popover.toggle(past, "Earlier texts", list);
      list.querySelector("button")?.focus({ preventScroll: true });
    },
    { signal },
  );

  return {
    element,
    show(meta, next, ask = null) {
      act = next;
      compare = ask;
      other.hidden = ask === null;
      element.hidden = act === null;
      // Keep what was typed since the last run was sent.
      const untouched = !changed() || (sent !== null && same(typed(), sent));
      shown = { text: meta.text, text_pair: meta.text_pair };
      sent = null;
      if (untouched) fill(shown);
      if (meta.truncated !== null && truncation === null) setTruncation(true);
      cut.hidden = meta.truncated === null;
      mark();
    },
    activity(activity) {
      history = activity.history;
      mark();
    },
    remedy(hint) {
      if (act === null || !TOO_LONG.test(hint)) return null;
      const again = h("button", { class: "aw-plain aw-primary", "data-aw-part": "run-cut" }, "Run");
      again.addEventListener("click", start, { signal });
      return h("div", { class: "aw-remedy" }, offer, again);
    },
    dispose() {
      stop.abort();
      popover.dispose();
    },
  };
}
