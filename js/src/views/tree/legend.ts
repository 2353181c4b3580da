/** Legend of the tree: colors and widths, as one small drawing. */

import { rampValue } from "../../draw/color/scale";
import { svg } from "../../draw/strip";
import { exact, formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import { EDGE } from "./draw";

const HEIGHT = 20;
const SAMPLE = 24;
const GAP = 6;
const GROUP_GAP = 20;
/** Shares of the widest edge that are shown. */
const WIDTHS = [0.1, 0.5, 1] as const;

export interface TreeLegend {
  readonly element: SVGSVGElement;
  show(
    what: { quantity: string; depth: number; max: number; scale: Scale; error: number },
    measure: (text: string) => number,
    room: number,
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
    show({ quantity, depth, max, scale, error }, measure, room) {
      const parts: SVGElement[] = [];
      const off = scale === "unit" ? 0 : error;
      const format = (value: number): string => formatNumber(value, undefined, off);
      let [x, y, width] = [0, HEIGHT / 2, 0];
      const write = (text: string, value?: number): void => {
        const made = svg("text", { class: "aw-tree-legend-text", x, y, dy: "0.35em" });
        made.textContent = text;
        if (value !== undefined) made.setAttribute("data-aw-value", exact(value, off));
        parts.push(made);
        x += Math.ceil(measure(text)) + GAP;
        width = Math.max(width, x);
      };
      const line = (thickness: number, level: number | null): void => {
        const made = svg("path", {
          class: level === null ? "aw-tree-sample" : "aw-tree-edge",
          d: `M${x},${y}h${SAMPLE}`,
          "stroke-width": thickness,
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
      const name = scale === "sqrt" ? `${quantity} (width by its root)` : quantity;
      const values = WIDTHS.map((share) => rampValue(share, max, scale));
      const next = [name, ...values.map(format)].reduce(
        (sum, text) => sum + Math.ceil(measure(text)) + GAP,
        WIDTHS.length * (SAMPLE + GAP),
      );
      if (x + GROUP_GAP + next > room) [x, y] = [0, y + HEIGHT];
      else x += GROUP_GAP - GAP;
      write(name);
      WIDTHS.forEach((share, i) => {
        line(Math.max(EDGE.least, EDGE.most * share), null);
        write(format(itemAt(values, i)), itemAt(values, i));
      });
      const height = y + HEIGHT / 2;
      element.setAttribute("width", String(width));
      element.setAttribute("height", String(height));
      element.setAttribute("viewBox", `0 0 ${width} ${height}`);
      element.setAttribute(
        "aria-label",
        `Color: level of the tree, 1 to ${depth}. Width of a line: ${quantity}, ` +
          `the widest ${format(rampValue(1, max, scale))}.`,
      );
      element.replaceChildren(...parts);
    },
  };
}
