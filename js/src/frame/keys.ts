/** The list of keys, by part, and the keys that work everywhere in the widget. */

import { consume, h } from "../draw/dom";

type Keys = readonly (readonly [keys: string, does: string])[];

const GROUPS: readonly (readonly [part: string, keys: Keys])[] = [
  [
    "Everywhere",
    [
      ["Tab", "next part"],
      ["arrows", "move inside a part"],
      ["1 … 8", "the views"],
      ["Esc", "clear a cell, a pair, a token"],
      ["?", "these keys"],
    ],
  ],
  [
    "Text field",
    [
      ["Enter", "run a text of one line"],
      ["Ctrl Enter", "run"],
      ["Shift Enter", "a new line"],
      ["Esc", "discard changes"],
    ],
  ],
  [
    "Tokens",
    [
      ["← →", "focus token"],
      ["Enter", "choose, clear"],
      ["Ctrl Enter", "add to the sum (also Shift Space)"],
      ["x", "mask, unmask"],
    ],
  ],
  [
    "Heads beside the view",
    [
      ["arrows", "layer, head"],
      ["3 . 5", "layer 3, head 5"],
      ["Home End", "first, last head"],
      ["PgUp PgDn", "first, last layer"],
      ["o", "switch the head off, on again"],
      ["Shift O", "all heads on"],
    ],
  ],
  [
    "Attention",
    [
      ["arrows", "cells"],
      ["Enter", "pin a pair"],
      ["m", "strongest key of the row; in a long text, then the next one"],
      ["/", "find, in a long text"],
      ["+  −  0", "zoom in, out, show all"],
      ["Ctrl wheel", "zoom at the pointer"],
      ["Shift arrows", "move the window of a long text"],
    ],
  ],
  [
    "Tree",
    [
      ["↑ ↓", "nodes"],
      ["→ ←", "open, close; child, parent"],
      ["Enter", "make it the root"],
      ["Space", "open, close"],
      ["Backspace", "previous root"],
    ],
  ],
  [
    "Sentences, Task",
    [
      ["arrows", "cells"],
      ["Enter", "open, choose"],
      ["m", "strongest of the row"],
    ],
  ],
  [
    "Predictions",
    [
      ["arrows", "guesses, positions"],
      ["Enter", "open its softmax"],
      ["Esc", "close it"],
    ],
  ],
  ["Why", [["Tab", "methods, predictions to explain"]]],
  [
    "Inside",
    [
      ["arrows", "stages of the map"],
      ["n p", "next, previous stage"],
      ["[ ]", "previous, next layer"],
    ],
  ],
];

/** The list as it stands below the bar, closed at first. */
export function keyList(): HTMLElement {
  return h(
    "div",
    {
      class: "aw-keylist",
      role: "region",
      "aria-label": "Keys",
      "data-aw-part": "keys",
      hidden: true,
    },
    ...GROUPS.map(([part, keys]) =>
      h(
        "section",
        { class: "aw-keygroup" },
        h("h3", { class: "aw-title" }, part),
        h(
          "dl",
          {},
          ...keys.map(([key, does]) =>
            h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)),
          ),
        ),
      ),
    ),
  );
}

/** Whether the reader is typing, so that letters are letters. */
const isField = (target: EventTarget | null): boolean =>
  target instanceof Element && target.matches("input:not([type=range]), textarea, select");

export interface GlobalKeys {
  toggleKeys(): void;
  /** Open the view at this place among the tabs, if there is one. */
  openView(index: number): void;
}

/** `?` and the digits; parts that have another use for a key stop it before it comes here. */
export function listenForKeys(
  root: HTMLElement,
  { toggleKeys, openView }: GlobalKeys,
  signal: AbortSignal,
): void {
  root.addEventListener(
    "keydown",
    (event) => {
      if (isField(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "?") toggleKeys();
      else if (/^[1-9]$/.test(event.key)) openView(Number(event.key) - 1);
      else return;
      consume(event);
    },
    { signal },
  );
}
