/** The ribbon's corner: what a click does, and what stands under the words. */

import { h } from "../../draw/dom";

/** State of the ribbon that outlives a run. */
export interface RibbonMemory {
  /** The reader's own wish; null while there is none. */
  tags: boolean | null;
  /** Whether the last run had tags, so that space is reserved for the next tags; null: not asked yet. */
  tagged: boolean | null;
  /** A click masks instead of choosing. */
  masking: boolean;
  /** Tokens to mask, as last chosen; null: as in the run that is shown. */
  wanted: readonly number[] | null;
}

export const newMemory = (): RibbonMemory => ({
  tags: null,
  tagged: null,
  masking: false,
  wanted: null,
});

/** A small button that is on or off. */
export function cornerToggle(
  part: string,
  label: string,
  title: string,
  pressed: boolean,
  set: (on: boolean) => void,
): HTMLButtonElement {
  const button = h(
    "button",
    {
      class: "aw-corner",
      "data-aw-part": part,
      title,
      "aria-pressed": String(pressed),
    },
    label,
  );
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    set(on);
  });
  return button;
}
