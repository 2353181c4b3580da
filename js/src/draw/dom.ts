/** Building elements without markup strings: text is always text. */

type Child = Node | string | null;
type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** An element with attributes (`false`, `null` and `undefined` leave one out) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  // In a form of the host's page a button without a type would send it.
  if (tag === "button") element.setAttribute("type", "button");
  setAttributes(element, attributes);
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element; its numbers have two decimals. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string | number>>,
  ...children: readonly (SVGElement | string)[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    const rounded = typeof value === "number" ? Math.round(value * 100) / 100 : value;
    element.setAttribute(name, String(rounded));
  }
  element.append(...children);
  return element;
}

/** Set, change or remove attributes; what is right already is not touched, for the sake of the style engine. */
export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else {
      const text = value === true ? "" : String(value);
      // Through the object model: a saved page's security policy forbids style attributes.
      if (name === "style") (element as HTMLElement | SVGElement).style.cssText = text;
      else if (element.getAttribute(name) !== text) element.setAttribute(name, text);
    }
  }
}

/** Keep an event that was acted on from the host. */
export function consume(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}

/** Move along a list with arrows, Home and End; null for any other key. */
export function step(key: string, index: number, size: number): number | null {
  switch (key) {
    case "ArrowLeft":
    case "ArrowUp":
      return Math.max(index - 1, 0);
    case "ArrowRight":
    case "ArrowDown":
      return Math.min(index + 1, size - 1);
    case "Home":
      return 0;
    case "End":
      return size - 1;
    default:
      return null;
  }
}
