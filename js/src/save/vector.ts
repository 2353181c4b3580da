/** A view's own SVG on the widget's ground, with the caption as text: a file that opens by itself. */

import type { Palette } from "../draw/theme";
import { markup } from "./markup";

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = 16;
const LINE = 18;
const SIZE = 12;
const FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

function make<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string | number>>,
  text = "",
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== "") element.textContent = text;
  return element;
}

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

function sizeOf(svg: SVGSVGElement): { width: number; height: number } {
  const box = svg
    .getAttribute("viewBox")
    ?.trim()
    .split(/[\s,]+/)
    .map(Number);
  const side = (name: "width" | "height", boxed: number | undefined): number => {
    const given = Number.parseFloat(svg.getAttribute(name) ?? "");
    return Number.isFinite(given) && !svg.getAttribute(name)?.endsWith("%") ? given : (boxed ?? 0);
  };
  return { width: side("width", box?.[2]), height: side("height", box?.[3]) };
}

/** SVG markup of `drawing` with its caption below. */
export function vectorOf(
  drawing: SVGSVGElement,
  lines: readonly string[],
  { ground, ink, muted }: Pick<Palette, "ground" | "ink" | "muted">,
): string {
  const { width, height } = sizeOf(drawing);
  const measure = ruler();
  const wrapped = lines.flatMap((line, i) =>
    wrap(line, width, measure).map((text) => ({ text, first: i === 0 })),
  );
  const [outerWidth, outerHeight] = [
    width + 2 * MARGIN,
    height + 3 * MARGIN + wrapped.length * LINE,
  ];
  const outer = make("svg", {
    width: outerWidth,
    height: outerHeight,
    viewBox: `0 0 ${outerWidth} ${outerHeight}`,
    "font-family": FAMILY,
    "font-size": SIZE,
  });
  const inner = drawing.cloneNode(true) as SVGSVGElement;
  const place = { x: MARGIN, y: MARGIN, width, height };
  for (const [name, value] of Object.entries(place)) inner.setAttribute(name, String(value));
  const base = height + 2 * MARGIN + SIZE;
  outer.append(
    make("title", {}, lines[0] ?? ""),
    make("desc", {}, lines.join("\n")),
    make("rect", { width: outerWidth, height: outerHeight, fill: ground }),
    inner,
    ...wrapped.map(({ text, first }, i) =>
      make(
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
