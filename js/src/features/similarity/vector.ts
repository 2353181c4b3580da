/** The two texts with their threads as a drawing that stands alone: every style inline. */

import { svg } from "../../draw/dom";

const MARGIN = 8;

/** The drawing of the texts in `root`; null while there are none. */
export function standaloneTexts(root: Element): SVGSVGElement | null {
  const box = root.querySelector(".aw-sim-texts");
  const threads = box?.querySelector<SVGSVGElement>(".aw-sim-threads");
  if (box == null || threads == null) return null;
  const outer = box.getBoundingClientRect();
  const [width, height] = [outer.width + 2 * MARGIN, outer.height + 2 * MARGIN];
  const drawing = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  /** Place of an element on the drawing. */
  const placed = (element: Element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return { x: left - outer.left + MARGIN, y: top - outer.top + MARGIN, width, height };
  };
  /** The text of an element where it stands, in its own font and color. */
  const written = (element: Element): SVGElement => {
    const { x, y, width, height } = placed(element);
    const { color, fontSize, fontFamily, fontWeight } = getComputedStyle(element);
    return svg(
      "text",
      {
        x: x + width / 2,
        y: y + height / 2,
        fill: color,
        "font-size": fontSize,
        "font-family": fontFamily,
        "font-weight": fontWeight,
        "text-anchor": "middle",
        "dominant-baseline": "central",
        "unicode-bidi": "plaintext",
      },
      element.textContent ?? "",
    );
  };
  const lines = svg("g", { transform: `translate(${MARGIN} ${MARGIN})`, fill: "none" });
  for (const thread of threads.querySelectorAll("path")) {
    const { stroke, strokeDasharray } = getComputedStyle(thread);
    const path = thread.cloneNode() as SVGPathElement;
    path.removeAttribute("class");
    path.setAttribute("stroke", stroke);
    path.setAttribute("stroke-opacity", getComputedStyle(threads).opacity);
    if (strokeDasharray !== "none") path.setAttribute("stroke-dasharray", strokeDasharray);
    lines.append(path);
  }
  drawing.append(lines);
  for (const name of box.querySelectorAll(".aw-sim-name")) drawing.append(written(name));
  for (const face of box.querySelectorAll(".aw-sim-face")) {
    const { x, y, width, height } = placed(face);
    const { backgroundColor, borderBottomColor, borderBottomStyle, borderBottomWidth } =
      getComputedStyle(face);
    const line = Number.parseFloat(borderBottomWidth);
    drawing.append(
      svg("rect", { x, y, width, height: height - line, rx: 3, fill: backgroundColor }),
      svg("path", {
        d: `M${x} ${y + height - line / 2}h${width}`,
        stroke: borderBottomColor,
        "stroke-width": line,
        // Dashed: it takes from the score.
        ...(borderBottomStyle === "dashed" ? { "stroke-dasharray": "4 3" } : {}),
      }),
      written(face),
    );
  }
  for (const number of box.querySelectorAll(".aw-sim-number"))
    if (number.textContent !== "") drawing.append(written(number));
  return drawing;
}
