/** The list of keys, by part, and the keys that work everywhere in the widget. */

import { consume } from "../draw/dom";

const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Everywhere: {
    Tab: "next part",
    arrows: "move inside a part",
    "1 … 8": "the views",
    c: "next part of an encoder-decoder: encoder, decoder, cross-attention",
    Esc: "clear a cell, a pair, a token; close this list",
    "?": "these keys",
  },
  "Text field": {
    Enter: "run a text of one line",
    "Ctrl Enter": "run",
    "Shift Enter": "a new line",
    Esc: "discard changes",
  },
  Tokens: {
    "← →": "focus token",
    Enter: "choose, clear",
    "Ctrl Enter": "add to the sum (also Shift Space)",
    x: "mask, unmask",
  },
  "Heads beside the view": {
    arrows: "layer, head",
    "3 . 5": "layer 3, head 5",
    "Home End": "first, last of the row",
    "PgUp PgDn": "first, last of the column",
    o: "switch the head off, on again",
    "Shift O": "all heads on",
  },
  Attention: {
    arrows: "cells",
    Enter: "pin a pair",
    m: "strongest key of the row; in a long text, then the next one",
    "/": "find, in a long text",
    "+  −  0": "zoom in, out, show all",
    "Ctrl wheel": "zoom at the pointer",
    "Shift arrows": "move the window of a long text",
  },
  Tree: {
    "↑ ↓": "nodes",
    "→ ←": "open, close; child, parent",
    Enter: "make it the root",
    Space: "open, close",
    Backspace: "previous root",
  },
  "Sentences, Task": {
    arrows: "cells",
    Enter: "open, choose",
    m: "strongest of the row",
  },
  Predictions: {
    arrows: "guesses, positions",
    Enter: "open its softmax",
    Esc: "close it",
  },
  Why: { Tab: "methods, predictions to explain" },
  Inside: {
    arrows: "stages of the map",
    "n p": "next, previous stage",
    "[ ]": "previous, next layer",
  },
};

/** The list below the bar, closed at first. */
export const KeyList = ({ hidden }: { readonly hidden: boolean }) => (
  <div class="aw-keylist" role="region" aria-label="Keys" data-aw-part="keys" hidden={hidden}>
    {!hidden &&
      Object.entries(GROUPS).map(([part, keys]) => (
        <section class="aw-keygroup" key={part}>
          <h3 class="aw-title">{part}</h3>
          <dl class="aw-stack">
            {Object.entries(keys).map(([key, does]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
  </div>
);

/** True for a target that takes letters as text. */
const isField = (target: EventTarget | null): boolean =>
  target instanceof Element && target.matches("input:not([type=range]), textarea, select");

interface GlobalKeys {
  toggleKeys(): void;
  /** Close the list; false if it is not open. */
  closeKeys(): boolean;
  /** Open the view at this place among the tabs, if there is one. */
  openView(index: number): void;
  /** False where a run has one part. */
  nextPart(): boolean;
}

/**
 * `?`, `c` and the digits, after the parts that have another use for a key; Escape before them, as it clears what they
 * show also where the list hides it.
 */
export function listenForKeys(
  root: HTMLElement,
  { toggleKeys, closeKeys, openView, nextPart }: GlobalKeys,
  signal: AbortSignal,
): void {
  const press = (event: KeyboardEvent): void => {
    if (isField(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "?") toggleKeys();
    else if (/^[1-9]$/.test(event.key)) openView(Number(event.key) - 1);
    else if (event.key !== "c" || !nextPart()) return;
    consume(event);
  };
  const close = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && !isField(event.target) && closeKeys()) consume(event);
  };
  root.addEventListener("keydown", press, { signal });
  root.addEventListener("keydown", close, { capture: true, signal });
}
