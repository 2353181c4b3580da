/** MathML from a formula's tree, built node by node: text never becomes markup. */

import { type MathNode, row } from "../figures/math";

const MATHML = "http://www.w3.org/1998/Math/MathML";

function build(node: MathNode): Element {
  const element = document.createElementNS(MATHML, node.tag);
  if ("text" in node) element.textContent = node.text;
  else element.append(...node.children.map(build));
  for (const [name, value] of Object.entries(node.attributes ?? {})) {
    element.setAttribute(name, value);
  }
  return element;
}

/**
 * A `<math>` element. `spoken` says the formula in words, for readers who hear it and for browsers
 * that do not lay out MathML.
 */
export function mathElement(
  node: MathNode,
  spoken: string,
  display: "block" | "inline" = "block",
): Element {
  const math = document.createElementNS(MATHML, "math");
  math.setAttribute("display", display);
  math.setAttribute("class", "aw-math");
  math.setAttribute("alttext", spoken);
  math.setAttribute("aria-label", spoken);
  math.setAttribute("role", "math");
  math.append(build(node));
  return math;
}

/** An equation that may go on in the next line before each of its outermost equals signs. */
export function wrappingEquation(node: MathNode, spoken: string): HTMLElement {
  const terms = "children" in node && node.tag === "mrow" ? node.children : [node];
  let line: MathNode[] = [];
  const lines = [line];
  for (const term of terms) {
    if ("text" in term && term.tag === "mo" && term.text === "=") {
      line = [];
      lines.push(line);
    }
    line.push(term);
  }
  const element = document.createElement("div");
  element.className = "aw-equation";
  element.setAttribute("role", "math");
  element.setAttribute("aria-label", spoken);
  for (const line of lines) {
    const part = mathElement(row(...line), "", "inline");
    // The whole is read from the frame; fractions are as tall as in a line of their own.
    for (const name of ["role", "aria-label", "alttext"]) part.removeAttribute(name);
    part.setAttribute("aria-hidden", "true");
    part.setAttribute("displaystyle", "true");
    element.append(part);
  }
  return element;
}
