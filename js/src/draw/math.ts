/** MathML from a small typed tree, built node by node: text never becomes markup. */

const MATHML = "http://www.w3.org/1998/Math/MathML";

/** Elements with a fixed number of children; `mrow` takes any. */
type Layout = "mrow" | "mfrac" | "msub" | "msup" | "msubsup" | "munder" | "munderover" | "msqrt";
type Leaf = "mi" | "mn" | "mo" | "mtext";

export type MathNode =
  | {
      readonly tag: Leaf;
      readonly text: string;
      readonly attributes?: Readonly<Record<string, string>>;
    }
  | {
      readonly tag: Layout;
      readonly children: readonly MathNode[];
      readonly attributes?: Readonly<Record<string, string>>;
    };

/** A variable or a function's name. */
export const mi = (text: string): MathNode => ({ tag: "mi", text });
/** A number; `value` keeps all its digits for tests and for copying. */
export const mn = (text: string, value?: number): MathNode =>
  value === undefined
    ? { tag: "mn", text }
    : { tag: "mn", text, attributes: { "data-aw-value": String(value) } };
/** An operator or a fence. */
export const mo = (text: string): MathNode => ({ tag: "mo", text });
/** Words. */
export const mtext = (text: string): MathNode => ({ tag: "mtext", text });

export const row = (...children: MathNode[]): MathNode => ({ tag: "mrow", children });
export const frac = (above: MathNode, below: MathNode): MathNode => ({
  tag: "mfrac",
  children: [above, below],
});
export const sub = (base: MathNode, below: MathNode): MathNode => ({
  tag: "msub",
  children: [base, below],
});
export const sup = (base: MathNode, above: MathNode): MathNode => ({
  tag: "msup",
  children: [base, above],
});
export const under = (base: MathNode, below: MathNode): MathNode => ({
  tag: "munder",
  children: [base, below],
});
export const sqrt = (inner: MathNode): MathNode => ({ tag: "msqrt", children: [inner] });
export const parens = (...children: MathNode[]): MathNode => row(mo("("), ...children, mo(")"));
/** A function applied to something, with the space that a reader expects. */
export const apply = (name: MathNode, ...children: MathNode[]): MathNode =>
  row(name, mo("\u2061"), parens(...children));

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
  const lines: MathNode[][] = [[]];
  for (const term of terms) {
    if ("text" in term && term.tag === "mo" && term.text === "=") lines.push([]);
    lines.at(-1)!.push(term);
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
