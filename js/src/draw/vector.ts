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
  "font-variant-numeric",
  "text-anchor",
  "direction",
  "unicode-bidi",
] as const;
const INTERACTIVE = /^(role|tabindex|class|aria-.*)$/;

/** A copy of `drawing`, which must stand in the page; what matches `without` is left out. */
export function standalone(drawing: SVGSVGElement, without = "script"): SVGSVGElement {
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
    // Variables of the style sheet are resolved by now.
    for (const name of [...element.style])
      if (name.startsWith("--")) element.style.removeProperty(name);
    for (const { name } of [...original.attributes])
      if (INTERACTIVE.test(name)) element.removeAttribute(name);
    if (original.matches(without)) element.remove();
  });
  const label = drawing.getAttribute("aria-label");
  if (label !== null) copy.setAttribute("aria-label", label);
  copy.setAttribute("role", "img");
  return copy;
}
