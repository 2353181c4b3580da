/** Changes of weights as lines from queries to keys: solid and orange for more in B, dashed and blue for less. */

import { linkHorizontal } from "d3-shape";
import { ramp } from "../../draw/color/ramp";
import { signedIndex } from "../../draw/color/scale";
import { modeOf } from "../../draw/color/theme";
import { svg } from "../../draw/strip";
import { itemAt } from "../../protocol/required";
import type { Weights } from "../data";
import { signed } from "../signs";

const WIDTH = 320;
const LABELS = 96;
/** Distance of two tokens, px. */
const STEP = { least: 0.1, most: 22, label: 11 } as const;
const HEIGHT = 560;
const TOP = 22;
/** Lines beyond this many, and changes below this share of the largest, are illegible. */
const LINES = { most: 60, share: 0.04 } as const;
const THICK = 5;
/** A line paler than this is lost on the ground. */
const PALEST = 0.35;
const DASHES = "5 3";

export interface Flow {
  readonly element: SVGElement;
  show(weights: Weights, root: Element): void;
  /** Light one query's lines; -1: all. */
  light(row: number): void;
}

/** The first of `places` and each later one that lies at least `least` from those taken. */
export function apart(places: readonly number[], least: number): Set<number> {
  const taken = new Set<number>();
  for (const place of places) {
    if ([...taken].every((other) => Math.abs(other - place) >= least)) taken.add(place);
  }
  return taken;
}

export function createFlow(names: readonly string[], choose: (row: number) => void): Flow {
  const step = Math.min(STEP.most, Math.max(STEP.least, HEIGHT / Math.max(names.length, 1)));
  const height = TOP + step * names.length + 4;
  const element = svg("svg", {
    class: "aw-compare-flow",
    width: WIDTH,
    height,
    role: "img",
    "data-aw-part": "difference-flow",
  });
  let row = -1;
  const y = (i: number): number => TOP + (i + 0.5) * step;
  const path = linkHorizontal<
    { source: [number, number]; target: [number, number] },
    [number, number]
  >();

  function light(chosen: number): void {
    row = chosen;
    for (const line of element.querySelectorAll<SVGElement>("[data-query]")) {
      line.classList.toggle("is-faint", row >= 0 && Number(line.dataset.query) !== row);
    }
    for (const label of element.querySelectorAll<SVGElement>("[data-row]")) {
      label.classList.toggle("is-chosen", Number(label.dataset.row) === row);
    }
  }

  return {
    element,
    light,
    show({ change, most, size }, root) {
      const { css } = ramp("signed", modeOf(root));
      const large: number[] = [];
      // No iterators here: this runs over every cell at every head.
      for (let at = 0; at < change.length && most > 0; at++) {
        if (Math.abs(change[at] as number) >= LINES.share * most) large.push(at);
      }
      const cells = large
        .sort((a, b) => Math.abs(itemAt(change, b)) - Math.abs(itemAt(change, a)))
        .slice(0, LINES.most)
        .reverse();
      const lines = cells.map((at) => {
        const value = itemAt(change, at);
        const [query, key] = [Math.floor(at / size), at % size];
        const part = Math.abs(value) / most;
        const shade = Math.sign(value) * (PALEST + (1 - PALEST) * part);
        const line = svg("path", {
          class: "aw-compare-link",
          d: path({ source: [LABELS, y(query)], target: [WIDTH - LABELS, y(key)] }) ?? "",
          fill: "none",
          stroke: itemAt(css, signedIndex(shade * 0.85, 1)),
          "stroke-width": Math.max(1, Math.min(THICK, step) * part),
          "data-query": query,
          ...(value < 0 ? { "stroke-dasharray": DASHES } : {}),
        });
        const title = svg("title", {});
        title.textContent = `${names[query]} → ${names[key]}: ${signed(value, 3)}`;
        line.append(title);
        return line;
      });
      const strongest = [...cells].reverse();
      const named = [
        apart(
          strongest.map((at) => Math.floor(at / size)),
          STEP.label / step,
        ),
        apart(
          strongest.map((at) => at % size),
          STEP.label / step,
        ),
      ] as const;
      const labels = names.flatMap((name, i) => {
        const sides = [false, true].filter(
          (right) => step >= STEP.label || named[right ? 1 : 0].has(i),
        );
        return sides.map((right) => {
          const label = svg("text", {
            x: right ? WIDTH - LABELS + 6 : LABELS - 6,
            y: y(i),
            "text-anchor": right ? "start" : "end",
            "dominant-baseline": "central",
            ...(right ? {} : { "data-row": i }),
          });
          label.textContent = [...name].length > 13 ? `${[...name].slice(0, 12).join("")}…` : name;
          if (!right) label.addEventListener("click", () => choose(i));
          return label;
        });
      });
      const heads = (["query", "key"] as const).map((name) => {
        const label = svg("text", {
          class: "aw-compare-axis",
          x: name === "key" ? WIDTH - LABELS + 6 : LABELS - 6,
          y: TOP - 12,
          "text-anchor": name === "key" ? "start" : "end",
        });
        label.textContent = name;
        return label;
      });
      element.setAttribute(
        "aria-label",
        `Flow of ${cells.length} changed weights: solid orange lines mean more in B, dashed blue ones less`,
      );
      element.replaceChildren(...lines, ...labels, ...heads);
      light(row);
    },
  };
}
