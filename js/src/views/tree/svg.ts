/** The tree as a drawing that stands alone: every style inline, its legend below, nothing to press. */

const STYLES = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-linecap",
  "stroke-linejoin",
  "stroke-opacity",
  "paint-order",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "font-variant-numeric",
  "direction",
  "unicode-bidi",
] as const;
const LEFT_OUT = ".aw-tree-hit, title, [data-aw-part=tree-node]:not(.is-closed) > .aw-tree-toggle";
const KEPT = new Set([
  ...["class", "d", "x", "y", "x1", "x2", "y1", "y2", "dy", "rx", "width", "height", "viewBox"],
  ...["transform", "stroke-width", "text-anchor", "style", "data-aw-value"],
]);
const MARGIN = 16;

function inlined(original: Element): Element {
  const copy = original.cloneNode(false) as SVGElement;
  for (const { name } of [...copy.attributes]) if (!KEPT.has(name)) copy.removeAttribute(name);
  copy.removeAttribute("class");
  copy.removeAttribute("style");
  const seen = getComputedStyle(original);
  for (const name of STYLES) {
    const value = seen.getPropertyValue(name);
    if (value !== "") copy.style.setProperty(name, value);
  }
  for (const child of original.childNodes) {
    if (!(child instanceof Element)) copy.append(child.cloneNode());
    else if (!child.matches(LEFT_OUT)) copy.append(inlined(child));
  }
  return copy;
}

/** `picture` above `legend` on `ground`, titled for screen readers. */
export function standaloneTree(
  picture: SVGSVGElement,
  legend: SVGSVGElement,
  { ground, name }: { ground: string; name: string },
): SVGSVGElement {
  const size = (element: SVGSVGElement) => ({
    width: Number(element.getAttribute("width")),
    height: Number(element.getAttribute("height")),
  });
  const [above, below] = [size(picture), size(legend)];
  const width = Math.max(above.width, below.width);
  const height = above.height + MARGIN + below.height;
  const make = (tag: string): SVGElement =>
    document.createElementNS("http://www.w3.org/2000/svg", tag);
  const root = make("svg") as SVGSVGElement;
  root.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  root.setAttribute("width", String(width));
  root.setAttribute("height", String(height));
  const title = make("title");
  title.textContent = name;
  const back = make("rect");
  back.setAttribute("width", String(width));
  back.setAttribute("height", String(height));
  back.setAttribute("fill", ground);
  const bottom = inlined(legend);
  bottom.setAttribute("y", String(above.height + MARGIN));
  root.append(title, back, inlined(picture), bottom);
  return root;
}
