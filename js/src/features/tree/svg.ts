/** The tree as a drawing that stands alone, its legend below. */

import { svg } from "../../draw/dom";
import { standalone } from "../../draw/vector";

const LEFT_OUT = ".aw-tree-hit, title, [data-aw-part=tree-node]:not(.is-closed) > .aw-tree-toggle";
const MARGIN = 16;

/** `picture` above `legend` on `ground`, titled for screen readers. */
export function standaloneTree(
  picture: SVGSVGElement,
  legend: SVGSVGElement,
  { ground, name }: { ground: string; name: string },
): SVGSVGElement {
  const size = (element: Element, side: string) => Number(element.getAttribute(side));
  const below = size(picture, "height") + MARGIN;
  const width = Math.max(size(picture, "width"), size(legend, "width"));
  const height = below + size(legend, "height");
  const parts = [standalone(picture, LEFT_OUT), standalone(legend)];
  for (const part of parts) part.removeAttribute("role");
  parts[1]?.setAttribute("y", String(below));
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height },
    svg("title", {}, name),
    svg("rect", { width, height, fill: ground }),
    ...parts,
  );
}
