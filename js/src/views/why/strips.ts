/** A strip a method over the tokens or words, all aligned: color and sign of each contribution, one below the other. */

import { inkOn, type Mode, ramp } from "../../draw/color/ramp";
import { largestOf, signedIndex } from "../../draw/color/scale";
import { svg } from "../../draw/strip";
import type { Unit } from "../../figures/derive/units";
import { itemAt } from "../../protocol/required";
import { sumOfUnit } from "./sum";

export const ROW = 20;
/** A cell at least so wide has its token above it, written along the row or, where it is narrow, upwards. */
const ACROSS = 34;
const UPWARDS = 10;
const LABEL_ROOM = { across: 18, upwards: 64, none: 0 } as const;
/** Characters of a label. */
const ACROSS_CHARACTER = 7;
const LONGEST_UPWARDS = 9;

export type Labels = keyof typeof LABEL_ROOM;

/** How tokens are labeled where `n` of them share `width` px; across only if all of them fit. */
export function labelsOf(labels: readonly string[], width: number): Labels {
  const cell = width / labels.length;
  const longest = Math.max(...labels.map((label) => [...label].length));
  if (cell >= ACROSS && longest * ACROSS_CHARACTER <= cell) return "across";
  return cell >= UPWARDS ? "upwards" : "none";
}

const shorten = (label: string): string => {
  const characters = [...label];
  return characters.length <= LONGEST_UPWARDS
    ? label
    : `${characters.slice(0, LONGEST_UPWARDS - 1).join("")}…`;
};

/** The tokens above the strips. */
export function header(labels: readonly string[], width: number): SVGElement {
  const way = labelsOf(labels, width);
  const height = LABEL_ROOM[way];
  const made = svg("svg", { class: "aw-why-labels", width, height, "aria-hidden": "true" });
  if (way === "none") return made;
  const cell = width / labels.length;
  labels.forEach((label, i) => {
    const x = (i + 0.5) * cell;
    const text = svg(
      "text",
      way === "across"
        ? { x, y: height - 6, "text-anchor": "middle" }
        : { transform: `translate(${x + 3.5} ${height - 5}) rotate(-90)` },
    );
    text.textContent = way === "across" ? label : shorten(label);
    made.append(text);
  });
  return made;
}

/** Mark of a cell that passes the end of the ramp: hatched, as in the ribbon. */
function beyond(x: number, width: number): SVGElement {
  const lines = Array.from({ length: Math.floor((width + ROW) / 5) }, (_, k) => {
    const from = k * 5 - ROW;
    const [a, b] = [Math.max(from, 0), Math.min(from + ROW, width)];
    return `M${(x + a).toFixed(1)} ${(ROW - (a - from)).toFixed(1)}L${(x + b).toFixed(1)} ${(ROW - (b - from)).toFixed(1)}`;
  });
  return svg("path", { class: "aw-why-beyond", d: lines.join("") });
}

/** One method's row: a cell a unit with its `data-token`, each sign with its own mark where there is room. */
export function strip(
  values: ArrayLike<number>,
  units: readonly Unit[],
  width: number,
  mode: Mode,
): SVGElement {
  const all = units.map((unit) => sumOfUnit(values, unit));
  const most = largestOf(
    all,
    units.map(({ special }) => special),
  );
  const cell = width / all.length;
  const gap = cell > 6 ? 1 : 0;
  const { css, rgb } = ramp("signed", mode);
  const made = svg("svg", { class: "aw-why-cells", width, height: ROW, "aria-hidden": "true" });
  all.forEach((value, i) => {
    const index = signedIndex(value, most);
    const rect = svg("rect", {
      x: +(i * cell).toFixed(2),
      y: 0,
      width: +Math.max(cell - gap, 0.5).toFixed(2),
      height: ROW - 1,
      "data-token": itemAt(units, i).token,
      class: Number.isNaN(value) ? "is-absent" : "",
    });
    if (!Number.isNaN(value)) rect.setAttribute("fill", itemAt(css, index));
    made.append(rect);
    if (Math.abs(value) > most) made.append(beyond(i * cell, cell - gap));
    // A sign is shown without color too, where it matters.
    if (value < 0 && cell >= UPWARDS && Math.abs(value) > most / 8) {
      const mark = svg("text", { x: (i + 0.5) * cell, y: ROW / 2 + 4, "text-anchor": "middle" });
      mark.setAttribute("fill", inkOn(itemAt(rgb, index)));
      mark.textContent = "−";
      made.append(mark);
    }
  });
  return made;
}
