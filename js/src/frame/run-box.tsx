/** Input for another text, which runs in the kernel; unobtrusive until it is used. */

import { batch, computed, type ReadonlySignal, signal } from "@preact/signals-core";
import { type ComponentChildren, render } from "preact";
import { consume, h } from "../draw/dom";
import { createPopover } from "../draw/popover";
import { directionOf } from "../draw/text-line";
import { required } from "../protocol/required";
import type { Action, Activity, Meta, PastRun } from "../protocol/types";
import { Button, Icon } from "../ui/controls";
import { lazyCode } from "../views/contract";
import type { RunButton } from "../views/feature";

/** The error for a text that is too long names this option of Python. */
const TOO_LONG = /truncation=True/;

type Act = (action: Action) => Promise<void>;

interface Shown {
  readonly act: Act | null;
  readonly buttons: readonly RunButton[];
  /** True if the text was cut. */
  readonly cut: boolean;
}

export const sameTexts = (a: PastRun, b: PastRun): boolean =>
  a.text === b.text && (a.text_pair || null) === (b.text_pair || null);

/** Open, a field lies over what is below it: nothing moves. */
function open(input: HTMLTextAreaElement, is = true): void {
  input.parentElement?.classList.toggle("aw-open", is);
  input.style.height = "";
  if (is) input.style.height = `${input.scrollHeight + 2}px`;
  else input.scrollTop = 0;
}

function write(input: HTMLTextAreaElement, text: string): void {
  input.value = text;
  direct(input);
  const isOpen = input.parentElement?.classList.contains("aw-open") === true;
  if (isOpen && input.ownerDocument.activeElement === input) open(input);
}

function direct(input: HTMLTextAreaElement): void {
  input.dir = directionOf(input.value);
  if (input.parentElement !== null) input.parentElement.dir = input.dir;
}

const field = (
  label: string,
  part: string,
  read: () => void,
  press: (event: KeyboardEvent) => void,
  ref: (input: HTMLTextAreaElement) => void,
) => (
  <div class="aw-run-field">
    <textarea
      class="aw-run-input"
      rows={1}
      spellcheck={false}
      autocomplete="off"
      placeholder="Type a text"
      aria-label={label}
      data-aw-part={part}
      ref={(input) => {
        if (input !== null) ref(input);
      }}
      onFocus={({ currentTarget }) => open(currentTarget)}
      onPointerDown={({ currentTarget }) => open(currentTarget)}
      onBlur={({ currentTarget }) => open(currentTarget, false)}
      onInput={({ currentTarget }) => {
        direct(currentTarget);
        open(currentTarget);
        read();
      }}
      onKeyDown={press}
    />
  </div>
);

/** `fields`: of the text and of a second one. */
function View({
  run,
  paired,
  changed,
  history,
  fields,
  cutBox,
  setPaired,
  openHistory,
  start,
}: {
  readonly run: ReadonlySignal<Shown | null>;
  readonly paired: ReadonlySignal<boolean>;
  readonly changed: ReadonlySignal<boolean>;
  readonly history: ReadonlySignal<readonly PastRun[]>;
  readonly fields: readonly ComponentChildren[];
  readonly cutBox: (label: string, hidden: boolean) => ComponentChildren;
  readonly setPaired: (is: boolean) => void;
  readonly openHistory: (anchor: HTMLElement) => void;
  readonly start: () => void;
}) {
  const { act = null, buttons = [], cut = false } = run.value ?? {};
  const two = paired.value;
  return (
    <div
      class={`aw-run${changed.value ? " aw-changed" : ""}`}
      role="group"
      aria-label="Run a text"
      data-aw-part="run"
      hidden={act === null}
    >
      <div class="aw-run-fields">
        {fields[0]}
        <div class="aw-run-row" hidden={!two}>
          {fields[1]}
          <Button
            class="aw-plain"
            part="unpair-button"
            label="Remove the second text"
            title="One text only"
            onClick={() => setPaired(false)}
          >
            ×
          </Button>
        </div>
      </div>
      <div class="aw-run-tools">
        {cutBox("truncate", !cut)}
        <Button
          class="aw-plain aw-wanted"
          part="pair-button"
          title="Add a second text to make a sentence pair"
          hidden={two}
          onClick={() => setPaired(true)}
        >
          + pair
        </Button>
        {buttons.map(({ label, title, part, press }) => (
          <Button
            key={part}
            class="aw-plain aw-wanted"
            part={part}
            title={title}
            onClick={({ currentTarget }) => press(currentTarget)}
          >
            {label}
          </Button>
        ))}
        <Button
          class="aw-plain aw-wanted"
          part="history-button"
          label="Earlier texts"
          title="Earlier texts"
          hidden={history.value.length < 2 || lazyCode.value === null}
          onClick={({ currentTarget }) => openHistory(currentTarget)}
        >
          <Icon name="history" />
        </Button>
        <Button
          class="aw-plain"
          part="run-button"
          title="Run this text (Ctrl + Enter)"
          onClick={start}
        >
          Run
        </Button>
      </div>
    </div>
  );
}

/** `root` is where the history opens. */
export function createRunBox(
  root: HTMLElement,
  report: (error: unknown) => void,
  clearReport: () => void,
) {
  const run = signal<Shown | null>(null);
  /** The text on screen, the text last sent, and what stands in the fields. */
  const shown = signal<PastRun>({ text: "", text_pair: null });
  let sent: PastRun | null = null;
  const typed = signal<PastRun>(shown.peek());
  const paired = signal(false);
  const history = signal<readonly PastRun[]>([]);
  /** Null until the reader chooses: then the option of `show()` holds. */
  const truncation = signal<boolean | null>(null);
  const changed = computed(() => !sameTexts(typed.value, shown.value));
  let first!: HTMLTextAreaElement;
  let second!: HTMLTextAreaElement;
  const popover = createPopover(root);

  /** Fields are read when they are needed: a reader or a script may have written into them. */
  function read(): PastRun {
    typed.value = { text: first.value, text_pair: paired.peek() ? second.value : null };
    return typed.peek();
  }

  function fill({ text, text_pair }: PastRun): void {
    paired.value = Boolean(text_pair);
    write(first, text);
    write(second, text_pair ?? "");
    read();
  }

  function start(): void {
    const act = run.peek()?.act;
    if (act == null) return;
    const { text, text_pair } = read();
    sent = { text, text_pair: text_pair || null };
    clearReport();
    const cut = truncation.peek();
    act({ kind: "run", ...sent, ...(cut === null ? {} : { truncation: cut }) }).catch(report);
  }

  function openHistory(anchor: HTMLElement): void {
    const { History } = required(lazyCode.peek(), "The code of earlier texts");
    const again = (entry: PastRun): void => {
      popover.close();
      anchor.focus({ preventScroll: true });
      fill(entry);
      start();
    };
    const list = h("div");
    render(<History runs={history.peek()} current={shown.peek()} again={again} />, list);
    popover.toggle(anchor, "Earlier texts", list);
    list.querySelector("button")?.focus({ preventScroll: true });
  }

  function press(event: KeyboardEvent): void {
    const input = event.currentTarget as HTMLTextAreaElement;
    if (event.isComposing) return;
    const enter = event.key === "Enter";
    if (enter && (event.ctrlKey || event.metaKey || !(event.shiftKey || /\n/.test(input.value)))) {
      open(input, false);
      start();
    } else if (event.key !== "Escape") return;
    else if (changed.peek()) fill(shown.peek());
    else open(input, false);
    consume(event);
  }

  const fields = [
    field("Text", "run-text", read, press, (input) => {
      first = input;
    }),
    field("Second text", "run-pair", read, press, (input) => {
      second = input;
    }),
  ];

  /** Checkbox that allows a long text to be cut; all of them have the same state. */
  const cutBox = (label: string, hidden = false) => (
    <label class="aw-check" data-aw-part="truncate" hidden={hidden}>
      <input
        type="checkbox"
        checked={truncation.value === true}
        onChange={({ currentTarget: { checked } }) => {
          truncation.value = checked;
        }}
      />
      {label}
    </label>
  );

  const setPaired = (is: boolean): void => {
    paired.value = is;
    read();
    (is ? second : first).focus();
  };

  return {
    /** A run is shown; without `act` there is nothing to type. */
    show(meta: Meta, act: Act | null, buttons: readonly RunButton[] = []) {
      const { text_pair, truncated, source_text } = meta;
      // An encoder-decoder is given the source, whatever part is shown.
      const text = source_text ?? meta.text;
      const now = read();
      // Keep text that was typed after the last run was sent.
      const untouched = !changed.peek() || (sent !== null && sameTexts(now, sent));
      sent = null;
      batch(() => {
        shown.value = { text, text_pair };
        if (untouched) fill(shown.peek());
        if (truncated !== null) truncation.value ??= true;
        run.value = { act, buttons, cut: truncated !== null };
      });
    },
    activity(activity: Activity): void {
      history.value = activity.history;
    },
    /** Remedy for an error: the offer to cut a text that is too long. */
    remedy(hint: string): (() => ComponentChildren) | null {
      if (run.peek()?.act == null || !TOO_LONG.test(hint)) return null;
      return () => (
        <div class="aw-remedy">
          {cutBox("truncate: read only the beginning")}
          <Button class="aw-plain aw-primary" part="run-cut" onClick={start}>
            Run
          </Button>
        </div>
      );
    },
    dispose: popover.dispose,
    View: () =>
      View({ run, paired, changed, history, fields, cutBox, setPaired, openHistory, start }),
  };
}
