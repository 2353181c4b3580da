/** A drawing of the page as one that stands alone: its styles inline, nothing to press or to focus. */

import { itemAt } from "../protocol/required";

const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-opacity",
  "stroke-width",
  "paint-order",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "visibility",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
] as const;
const INTERACTIVE = ["role", "tabindex", "class", "aria-pressed", "aria-describedby"] as const;

/** A copy of `drawing`, which must stand in the page. */
export function standalone(drawing: SVGSVGElement): SVGSVGElement {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const originals = [drawing, ...drawing.querySelectorAll<SVGElement>("*")];
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  originals.forEach((original, i) => {
    const element = itemAt(copies, i);
    const seen = getComputedStyle(original);
    for (const name of STYLES) {
      const value = seen.getPropertyValue(name);
      if (value !== "") element.style.setProperty(name, value);
    }
    for (const name of INTERACTIVE) element.removeAttribute(name);
  });
  copy.setAttribute("role", "img");
  return copy;
}
