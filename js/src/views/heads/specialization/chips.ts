/** The heads of the layer as a row of radio buttons: names for the radar's outlines, and their keyboard. */

import { consume, h, setAttributes, step } from "../../../draw/dom";
import { spokenHead } from "../../../figures/names";
import type { HeadsStage } from "../parts";

export interface HeadChips {
  readonly element: HTMLElement;
  /** Follow the selection. */
  follow(): void;
  point(head: number | null): void;
}

export function headChips(stage: HeadsStage, pointed: (head: number | null) => void): HeadChips {
  const { state, nHeads } = stage;
  const chips = Array.from({ length: nHeads }, (_, head) =>
    h("button", { role: "radio", class: "aw-chip", "data-head": head, tabindex: -1 }, `H${head}`),
  );
  const element = h(
    "div",
    {
      class: "aw-chips",
      role: "radiogroup",
      "aria-label": "Head of the layer",
      "data-aw-part": "radar-heads",
    },
    ...chips,
  );
  const headOf = (event: Event): number =>
    chips.indexOf((event.target as Element).closest("button") as HTMLButtonElement);
  element.addEventListener("click", (event) => {
    const head = headOf(event);
    if (head >= 0) stage.select(state.get().layer, head);
  });
  element.addEventListener("keydown", (event) => {
    const head = headOf(event);
    const next = head < 0 ? null : step(event.key, head, nHeads);
    if (next === null) return;
    consume(event);
    stage.select(state.get().layer, next);
    chips[next]?.focus({ preventScroll: true });
  });
  const pointAt = (event: Event): void => {
    const head = headOf(event);
    pointed(head < 0 ? null : head);
  };
  element.addEventListener("pointerover", pointAt);
  element.addEventListener("pointerleave", () => pointed(null));
  element.addEventListener("focusin", pointAt);
  element.addEventListener("focusout", () => pointed(null));
  return {
    element,
    follow(): void {
      const { layer, head } = state.get();
      chips.forEach((chip, index) => {
        const chosen = index === head;
        setAttributes(chip, {
          "aria-checked": String(chosen),
          "aria-label": `H${index}, ${spokenHead(layer, index)}`,
          tabindex: chosen || (head === "mean" && index === 0) ? 0 : -1,
        });
      });
    },
    point(head: number | null): void {
      chips.forEach((chip, index) => {
        chip.classList.toggle("is-pointed", index === head);
      });
    },
  };
}
