/** Both texts one above the other, with a line between matched tokens. */

import { consume, h } from "../draw/dom";
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

/** Mark in the middle of a line that was set by hand. */
const knot = (x: number, y: number): SVGElement =>
  svg("path", { class: "aw-compare-knot", d: `M${x} ${y - 5}l5 5l-5 5l-5 -5Z` });

/** Key of the lines and borders; null where all of them are the usual ones. */
function keyOf(hand: boolean, alone: boolean): HTMLElement | null {
  if (!hand && !alone) return null;
  const sample = (...marks: SVGElement[]): SVGElement => {
    const picture = svg("svg", { width: 30, height: 12, "aria-hidden": "true" });
    picture.append(...marks);
    return picture;
  };
  const line = (attributes: object): SVGElement =>
    svg("line", { x1: 1, x2: 29, y1: 6, y2: 6, ...attributes });
  const box = svg("g", { class: "aw-compare-token aw-alone" });
  box.append(svg("rect", { x: 4, y: 1, width: 22, height: 10, rx: 3 }));
  const entry = (picture: SVGElement, name: string) => h("span", {}, picture, name);
  return h(
    "p",
    { class: "aw-compare-lines aw-hint", "data-aw-part": "alignment-legend" },
    entry(sample(line({})), "matched by the words"),
    hand ? entry(sample(line({ class: "aw-by-hand" }), knot(15, 6)), "matched by hand") : null,
    alone ? entry(sample(box), "no partner") : null,
  );
}

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
  const hand = new Set((compared.hand ?? []).map(([a, b]) => `${a} ${b}`));
  for (const [a, b] of compared.tokens) {
    const given = hand.has(`${a} ${b}`);
    const [from, to] = [itemAt(centers.a, a), itemAt(centers.b, b)];
    const line = svg("line", {
      "data-a": a,
      "data-b": b,
      x1: from,
      y1: 2 + LINE,
      x2: to,
      y2: 2 + LINE + BETWEEN,
      ...(given ? { class: "aw-by-hand" } : {}),
    });
    drawing.append(line);
    if (given) drawing.append(knot((from + to) / 2, 2 + LINE + BETWEEN / 2));
  }
  const height = 2 * LINE + BETWEEN + 4;
  drawing.setAttribute("width", String(right));
  drawing.setAttribute("height", String(height));
  const place = document.createElement("div");
  place.className = "aw-compare-scroll";
  place.append(drawing);
  const alone = matched.a.size + matched.b.size < centers.a.length + centers.b.length;
  return {
    element: h("div", {}, place, keyOf(hand.size > 0, alone)),
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
