/** The widget's outline while there is nothing to show yet: the parts' places, and no movement. */

import { h } from "../draw/dom";

/** Widths of the ribbon's words, em: like a line of text. */
const WORDS = [2, 3.5, 2.5, 5, 2, 4, 3, 6, 2.5, 3];

export function skeleton(): HTMLElement {
  const word = (width: number): HTMLElement => {
    const box = h("i", { class: "aw-bone" });
    box.style.width = `${width}em`;
    return box;
  };
  return h(
    "div",
    { class: "aw-skeleton", "aria-hidden": "true", "data-aw-part": "skeleton" },
    h("div", { class: "aw-skeleton-line" }, ...WORDS.map(word)),
    h(
      "div",
      { class: "aw-skeleton-body" },
      h("i", { class: "aw-bone aw-skeleton-side" }),
      h("i", { class: "aw-bone aw-skeleton-main" }),
    ),
  );
}
