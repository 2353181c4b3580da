/** The list of keys, by part. */

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

export const KeyGroups = () =>
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
  ));

declare module "../../views/contract" {
  interface LazyCode {
    readonly KeyGroups: typeof KeyGroups;
  }
}
