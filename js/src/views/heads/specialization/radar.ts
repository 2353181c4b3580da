/** The radar: one axis a specialization, one outline a head. */

import { setAttributes } from "../../../draw/dom";
import { svg } from "../../../draw/strip";
import type { Aim } from "../../../figures/catalog/types";
import { formatNumber } from "../../../figures/format";
import { headName } from "../../../figures/names";
import {
  axisPoint,
  nearestOutline,
  type Outline,
  outline,
  type RadarScale,
  shareOf,
} from "./radar-geometry";

/** px; the labels stand outside of the radius. */
const LABEL = { side: 100, top: 38, bottom: 30, gap: 10 } as const;
const RADIUS = { least: 56, most: 132 } as const;
const WIDEST = 2 * (LABEL.side + RADIUS.most);
/** How near the pointer must come to an outline, px. */
const REACH = 14;
const CHANCE_MARK = 7;

export interface RadarFigures {
  readonly aims: readonly Aim[];
  readonly scale: RadarScale;
  readonly layer: number;
  /** One row a head of the layer, one figure an axis; NaN = N/A. */
  readonly heads: readonly (readonly number[])[];
  /** The strong outline: a head's, or the mean of all. */
  readonly chosen: readonly number[];
  /** Index of the chosen head; -1 for the mean. */
  readonly chosenHead: number;
  /** Whether the other heads are drawn too. */
  readonly all: boolean;
  /** Chance level of each axis, where one is drawn; NaN = none. */
  readonly chance: readonly number[];
  /** Why an axis is N/A; null where it is not. */
  readonly absent: readonly (string | null)[];
  readonly spoken: string;
}

export interface RadarEvents {
  select(head: number): void;
  point(head: number | null): void;
  explain(key: string): void;
}

export interface Radar {
  readonly element: SVGElement;
  draw(figures: RadarFigures, width: number): void;
  /** Point at one head, wherever the pointer is. */
  point(head: number | null): void;
}

export function createRadar(events: RadarEvents): Radar {
  const element = svg("svg", { class: "aw-radar", role: "img", "data-aw-part": "radar" });
  let shapes: SVGElement[] = [];
  let outlines: Outline[] = [];
  let shown: RadarFigures | null = null;
  let center: readonly [number, number] = [0, 0];

  function draw(figures: RadarFigures, available: number): void {
    shown = figures;
    const { aims, scale, heads, chosen, chosenHead, all, chance, absent } = figures;
    const width = Math.min(available, WIDEST);
    const radius = Math.max(RADIUS.least, Math.min(RADIUS.most, width / 2 - LABEL.side));
    const height = 2 * radius + LABEL.top + LABEL.bottom;
    center = [width / 2, LABEL.top + radius];
    setAttributes(element, {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "aria-label": figures.spoken,
    });
    const stage = svg("g", { transform: `translate(${center.join(" ")})` });
    const shape = (row: readonly number[]): Outline =>
      outline(
        row.map((value) => shareOf(value, scale)),
        radius,
      );
    outlines = all ? heads.map(shape) : [];
    const strong = shape(chosen);
    stage.append(...rings(scale, aims.length, radius));
    aims.forEach((_, axis) => {
      const [x, y] = axisPoint(axis, aims.length, radius);
      const line = svg("line", { class: "aw-radar-axis", x2: x, y2: y });
      line.classList.toggle("is-absent", absent[axis] != null);
      stage.append(line);
    });
    shapes = outlines.map(({ line, points }, head) => {
      const group = svg("g", { class: "aw-radar-head", "data-head": head });
      group.append(svg("path", { d: line }));
      points.forEach((point, axis) => {
        if (point !== null && isAlone(points, axis)) group.append(dot(point, 2));
      });
      if (head === chosenHead) group.classList.add("is-chosen");
      return group;
    });
    stage.append(...shapes);
    const front = svg("g", { class: "aw-radar-chosen" });
    front.append(
      svg("path", { class: "aw-radar-area", d: strong.area }),
      svg("path", { class: "aw-radar-line", d: strong.line }),
      ...strong.points.flatMap((point) => (point === null ? [] : [dot(point, 3)])),
    );
    stage.append(front);
    chance.forEach((value, axis) => {
      if (!Number.isFinite(value)) return;
      const [x, y] = axisPoint(axis, aims.length, shareOf(value, scale) * radius);
      const [dx, dy] = axisPoint(axis + aims.length / 4, aims.length, CHANCE_MARK);
      stage.append(
        svg("line", { class: "aw-radar-chance", x1: x - dx, y1: y - dy, x2: x + dx, y2: y + dy }),
      );
    });
    stage.append(...ringLabels(scale, radius));
    aims.forEach((aim, axis) => {
      stage.append(label(aim, axis, aims.length, radius, absent[axis] ?? null));
    });
    element.replaceChildren(stage);
  }

  function label(
    aim: Aim,
    axis: number,
    axes: number,
    radius: number,
    absent: string | null,
  ): SVGElement {
    const [x, y] = axisPoint(axis, axes, radius + LABEL.gap);
    const up = axis === 0;
    const anchor = up ? "middle" : x > 0 ? "start" : "end";
    const group = svg("g", {
      class: "aw-radar-label",
      "data-key": aim.key,
      "text-anchor": anchor,
      transform: `translate(${x.toFixed(1)} ${(up ? y - 16 : y + (y > radius / 2 ? 6 : -2)).toFixed(1)})`,
    });
    group.classList.toggle("is-absent", absent !== null);
    const title = svg("title", {});
    title.textContent =
      absent === null ? `${aim.name}: ${aim.meaning}` : `${aim.name} is N/A: ${absent}`;
    const name = svg("text", { class: "aw-radar-name" });
    name.textContent = absent === null ? aim.name : `${aim.name} –`;
    const meaning = svg("text", { class: "aw-radar-meaning", y: 14 });
    meaning.textContent = absent === null ? aim.meaning : "N/A";
    group.append(title, name, meaning);
    return group;
  }

  function headAt(event: PointerEvent | MouseEvent): number | null {
    if (shown === null || outlines.length === 0) return null;
    const box = element.getBoundingClientRect();
    const place = [
      event.clientX - box.left - center[0],
      event.clientY - box.top - center[1],
    ] as const;
    return nearestOutline(outlines, place, REACH);
  }

  element.addEventListener("pointermove", (event) => {
    const head = headAt(event);
    element.classList.toggle("is-over", head !== null);
    events.point(head);
  });
  element.addEventListener("pointerleave", () => events.point(null));
  element.addEventListener("click", (event) => {
    const named = (event.target as Element).closest<SVGElement>(".aw-radar-label");
    if (named?.dataset.key !== undefined) return events.explain(named.dataset.key);
    const head = headAt(event);
    if (head !== null) events.select(head);
  });

  return {
    element,
    draw,
    point(head) {
      shapes.forEach((shape, index) => {
        shape.classList.toggle("is-pointed", index === head);
      });
      const pointed = head === null ? undefined : shapes[head];
      // In front of its layer, behind the chosen one.
      if (pointed !== undefined) pointed.parentElement?.insertBefore(pointed, last());
    },
  };

  function last(): Element | null {
    return element.querySelector(".aw-radar-chosen");
  }
}

const isAlone = (points: Outline["points"], axis: number): boolean =>
  points[(axis + 1) % points.length] === null &&
  points[(axis + points.length - 1) % points.length] === null;

const dot = ([x, y]: readonly [number, number], r: number): SVGElement =>
  svg("circle", { cx: +x.toFixed(2), cy: +y.toFixed(2), r });

function rings(scale: RadarScale, axes: number, radius: number): SVGElement[] {
  return scale.rings.map((ring) => {
    const points = Array.from({ length: axes }, (_, axis) =>
      axisPoint(axis, axes, shareOf(ring, scale) * radius)
        .map((place) => place.toFixed(2))
        .join(","),
    );
    const shape = svg("polygon", { class: "aw-radar-ring", points: points.join(" ") });
    shape.classList.toggle("is-zero", scale.low < 0 && ring === 0);
    return shape;
  });
}

/** Beside the first axis: every second ring, and the center. */
function ringLabels(scale: RadarScale, radius: number): SVGElement[] {
  const at = [scale.low, scale.rings[1] as number, scale.high];
  return at.map((value) => {
    const label = svg("text", {
      class: "aw-radar-tick",
      x: 5,
      y: +(4 - shareOf(value, scale) * radius).toFixed(2),
    });
    label.textContent = formatNumber(value, 2);
    return label;
  });
}

/** `L3 · H5: syntax 0.31, semantics 0.42 …; entities not available`, for screen readers. */
export function spokenRadar(
  layer: number,
  head: number,
  aims: readonly Aim[],
  values: readonly number[],
): string {
  const name = headName(layer, head < 0 ? "mean" : head);
  const figures = aims.map((aim, axis) => {
    const value = values[axis] ?? Number.NaN;
    return `${aim.name} ${Number.isNaN(value) ? "not available" : formatNumber(value)}`;
  });
  return `Radar of ${name}: ${figures.join(", ")}`;
}
