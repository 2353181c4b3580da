/** Buttons that zoom the matrix. */

import { h } from "../../draw/dom";
import { icon } from "../../draw/icon";

const FACTOR = 1.6;

/** `zoom` gets the factor; null shows all. */
export function zoomButtons(
  zoom: (factor: number | null) => void,
  signal: AbortSignal,
): HTMLElement {
  const button = (label: string, face: string | SVGElement, factor: number | null): HTMLElement => {
    const made = h("button", { class: "aw-button", "aria-label": label, title: label }, face);
    made.addEventListener("click", () => zoom(factor), { signal });
    return made;
  };
  return h(
    "div",
    { class: "aw-zoom", role: "group", "aria-label": "Zoom" },
    button("Zoom out", "−", 1 / FACTOR),
    button("Zoom in", "+", FACTOR),
    button("Show all", icon("fit"), null),
  );
}
