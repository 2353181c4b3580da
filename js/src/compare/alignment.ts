/** Both texts one above the other, with a line between matched tokens. */

import { consume } from "../draw/dom";
import { visible } from "../figures/format";
import { itemAt } from "../protocol/required";
import { type Compared, carried, type Sources } from "./data";

const SVG = "http://www.w3.org/2000/svg";
/** Width of a character of 13 px monospace (px); scripts of East Asia take two. */
const CHARACTER = 8;
const GAP = 6;
const PADDING = 5;
const LINE = 24;
/** Height between both texts, px. */
const BETWEEN = 44;
const LEFT = 20;
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u;

function svg(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

const widthOf = (text: string): number =>
  [...text].reduce((sum, one) => sum + (WIDE.test(one) ? 2 : 1), 0) * CHARACTER + 2 * PADDING;

export interface Ribbons {
  readonly element: HTMLElement;
  /** Light a token of each run, and the line between them. */
  mark(a: number | null, b: number | null): void;
}

/** `choose` gets a position of A. */
export function alignment(
  compared: Compared,
  sources: Sources,
  choose: (token: number) => void,
): Ribbons {
  const matched = { a: new Set<number>(), b: new Set<number>() };
  for (const [a, b] of compared.tokens) {
    matched.a.add(a);
    matched.b.add(b);
  }
  const drawing = svg("svg", { role: "group", "aria-label": "Matched tokens" });
  const centers = { a: [] as number[], b: [] as number[] };
  let right = 0;
  const row = (side: "a" | "b", top: number) => {
    let x = LEFT;
    const name = svg("text", { x: 2, y: top + 16, class: "aw-compare-side" });
    name.textContent = side.toUpperCase();
    drawing.append(name);
    for (const [i, token] of sources[side].meta.tokens.text.entries()) {
      const text = visible(token);
      const width = widthOf(text);
      const known = matched[side].has(i);
      const group = svg("g", {
        role: "button",
        tabindex: 0,
        class: `aw-compare-token${known ? "" : " aw-alone"}`,
        "data-side": side,
        "data-token": i,
        "aria-label": known ? text : `${text}: no partner`,
      });
      const label = svg("text", { x: x + width / 2, y: top + 16, "text-anchor": "middle" });
      label.textContent = text;
      group.append(svg("rect", { x, y: top, width, height: LINE, rx: 4 }), label);
      const act = () => {
        const chosen = side === "a" ? i : carried(compared, i, "a");
        if (chosen !== null) choose(chosen);
      };
      group.addEventListener("click", act);
      group.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        consume(event);
        act();
      });
      drawing.append(group);
      centers[side].push(x + width / 2);
      x += width + GAP;
    }
    right = Math.max(right, x);
  };
  row("a", 2);
  row("b", 2 + LINE + BETWEEN);
  for (const [a, b] of compared.tokens) {
    drawing.append(
      svg("line", {
        "data-a": a,
        "data-b": b,
        x1: itemAt(centers.a, a),
        y1: 2 + LINE,
        x2: itemAt(centers.b, b),
        y2: 2 + LINE + BETWEEN,
      }),
    );
  }
  const height = 2 * LINE + BETWEEN + 4;
  drawing.setAttribute("width", String(right));
  drawing.setAttribute("height", String(height));
  const place = document.createElement("div");
  place.className = "aw-compare-scroll";
  place.append(drawing);
  return {
    element: place,
    mark(a, b) {
      for (const old of drawing.querySelectorAll(".aw-chosen")) old.classList.remove("aw-chosen");
      const wanted = [
        `line[data-a="${a}"]`,
        `[data-side="a"][data-token="${a}"]`,
        `[data-side="b"][data-token="${b}"]`,
      ];
      for (const one of wanted) drawing.querySelector(one)?.classList.add("aw-chosen");
    },
  };
}
