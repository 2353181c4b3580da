/** A view's own SVG on the widget's ground, with the caption as text: a file that opens by itself. */

import type { Palette } from "../../draw/color/theme";
import { svg } from "../../draw/dom";
import { markup } from "./markup";

const MARGIN = 16;
const LINE = 18;
const SIZE = 12;
const FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

/** Width of a text in the caption's font, px; by the number of its characters where nothing can measure. */
function ruler(): (text: string) => number {
  const context = document.createElement("canvas").getContext("2d");
  if (context === null) return (text) => text.length * SIZE * 0.6;
  context.font = `${SIZE}px ${FAMILY}`;
  return (text) => context.measureText(text).width;
}

/** Lines no wider than `width`, broken at spaces, and inside a word that is wider. */
export function wrap(text: string, width: number, measure: (text: string) => number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (measure(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== "") lines.push(line);
    line = "";
    for (const character of word) {
      if (line !== "" && measure(line + character) > width) {
        lines.push(line);
        line = "";
      }
      line += character;
    }
  }
  return [...lines, line];
}

function sizeOf(drawing: SVGSVGElement): { width: number; height: number } {
  const box = drawing
    .getAttribute("viewBox")
    ?.trim()
    .split(/[\s,]+/)
    .map(Number);
  const side = (name: "width" | "height", boxed: number | undefined): number => {
    const given = Number.parseFloat(drawing.getAttribute(name) ?? "");
    return Number.isFinite(given) && !drawing.getAttribute(name)?.endsWith("%")
      ? given
      : (boxed ?? 0);
  };
  return { width: Math.ceil(side("width", box?.[2])), height: Math.ceil(side("height", box?.[3])) };
}

/** A ramp of colors and what stands at its ends. */
export interface VectorLegend {
  readonly colors: readonly string[];
  readonly low: string;
  readonly high: string;
}

const RAMP = { width: 120, height: 8, gap: 6, room: 24 } as const;

function legendNode({ colors, low, high }: VectorLegend, y: number, fill: string): SVGGElement {
  const id = `aw-ramp-${Math.random().toString(36).slice(2)}`;
  const gradient = svg("linearGradient", { id });
  colors.forEach((color, i) => {
    const offset = `${((i / (colors.length - 1)) * 100).toFixed(2)}%`;
    gradient.append(svg("stop", { offset, "stop-color": color }));
  });
  const start = MARGIN + ruler()(low) + RAMP.gap;
  const bar = { x: start, y: y - RAMP.height - 1, width: RAMP.width, height: RAMP.height };
  const group = svg("g", {});
  group.append(
    gradient,
    svg("text", { x: MARGIN, y, fill }, low),
    svg("rect", { ...bar, rx: 2, fill: `url(#${id})` }),
    svg("text", { x: start + RAMP.width + RAMP.gap, y, fill }, high),
  );
  return group;
}

/** SVG markup of `drawing` with its caption below. */
export function vectorOf(
  drawing: SVGSVGElement,
  lines: readonly string[],
  { ground, ink, muted }: Pick<Palette, "ground" | "ink" | "muted">,
  legend: VectorLegend | null = null,
): string {
  const { width, height } = sizeOf(drawing);
  const measure = ruler();
  const wrapped = lines.flatMap((line, i) =>
    wrap(line, width, measure).map((text) => ({ text, first: i === 0 })),
  );
  const [outerWidth, outerHeight] = [
    width + 2 * MARGIN,
    height + 3 * MARGIN + wrapped.length * LINE + (legend === null ? 0 : RAMP.room),
  ];
  const outer = svg("svg", {
    width: outerWidth,
    height: outerHeight,
    viewBox: `0 0 ${outerWidth} ${outerHeight}`,
    "font-family": FAMILY,
    "font-size": SIZE,
  });
  const inner = drawing.cloneNode(true) as SVGSVGElement;
  const place = { x: MARGIN, y: MARGIN, width, height };
  for (const [name, value] of Object.entries(place)) inner.setAttribute(name, String(value));
  const first = height + 2 * MARGIN + SIZE;
  const base = first + (legend === null ? 0 : RAMP.room);
  outer.append(
    svg("title", {}, lines[0] ?? ""),
    svg("desc", {}, lines.join("\n")),
    svg("rect", { width: outerWidth, height: outerHeight, fill: ground }),
    inner,
    ...(legend === null ? [] : [legendNode(legend, first, muted)]),
    ...wrapped.map(({ text, first }, i) =>
      svg(
        "text",
        {
          x: MARGIN,
          y: base + i * LINE,
          fill: first ? ink : muted,
          "font-weight": first ? 600 : 400,
          "data-aw-caption": i,
        },
        text,
      ),
    ),
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${markup(outer)}\n`;
}
