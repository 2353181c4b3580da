/** What colours and widths of the tree mean, as one small drawing. */

import { exact, formatNumber } from "../draw/format";
import { rampValue } from "../draw/scale";
import { svg } from "../draw/strip";
import type { Scale } from "../types";
import { EDGE } from "./tree-draw";

const HEIGHT = 20;
const SAMPLE = 24;
const GAP = 6;
const GROUP_GAP = 20;
/** Shares of the widest edge that are shown. */
const WIDTHS = [0.1, 0.5, 1] as const;

export interface TreeLegend {
  readonly element: SVGSVGElement;
  show(
    what: { quantity: string; depth: number; max: number; scale: Scale },
    measure: (text: string) => number,
  ): void;
}

export function createTreeLegend(): TreeLegend {
  const element = svg("svg", {
    class: "aw-tree-legend",
    role: "img",
    height: HEIGHT,
    "data-aw-part": "tree-legend",
  }) as SVGSVGElement;
  return {
    element,
    show({ quantity, depth, max, scale }, measure) {
      const parts: SVGElement[] = [];
      let x = 0;
      const write = (text: string, value?: number): void => {
        const made = svg("text", { class: "aw-tree-legend-text", x, y: HEIGHT / 2, dy: "0.35em" });
        made.textContent = text;
        if (value !== undefined) made.setAttribute("data-aw-value", exact(value));
        parts.push(made);
        x += Math.ceil(measure(text)) + GAP;
      };
      const line = (width: number, level: number | null): void => {
        const made = svg("path", {
          class: level === null ? "aw-tree-sample" : "aw-tree-edge",
          d: `M${x},${HEIGHT / 2}h${SAMPLE}`,
          "stroke-width": width,
        });
        if (level !== null) made.style.setProperty("--aw-depth", `var(--aw-depth-${level})`);
        parts.push(made);
        x += SAMPLE + GAP;
      };
      write("level");
      for (let level = 1; level <= depth; level++) {
        line(4, level);
        write(String(level));
      }
      x += GROUP_GAP - GAP;
      write(scale === "sqrt" ? `${quantity} (width by its root)` : quantity);
      for (const share of WIDTHS) {
        const value = rampValue(share, max, scale);
        line(Math.max(EDGE.least, EDGE.most * share), null);
        write(formatNumber(value), value);
      }
      const width = x;
      element.setAttribute("width", String(width));
      element.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      element.setAttribute(
        "aria-label",
        `Colour: level of the tree, 1 to ${depth}. Width of a line: ${quantity}, ` +
          `the widest ${formatNumber(rampValue(1, max, scale))}.`,
      );
      element.replaceChildren(...parts);
    },
  };
}
