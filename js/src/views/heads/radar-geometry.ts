/** A radar's shapes from shares of its radius; what is N/A leaves a gap, never a zero. */

import { largestAbsolute } from "../../protocol/ties";

type Point = readonly [x: number, y: number];

/** The scale that values are drawn on, from 0 at the center to the rim. */
export interface RadarScale {
  readonly high: number;
  /** Radius by the square root: shares of attention range over orders of magnitude. */
  readonly root: boolean;
  /** Values at which rings are drawn, the rim last. */
  readonly rings: readonly number[];
}

/** The first axis points up, the others follow clockwise. */
export function axisPoint(axis: number, axes: number, length: number): Point {
  const angle = (2 * Math.PI * axis) / axes - Math.PI / 2;
  return [length * Math.cos(angle), length * Math.sin(angle)];
}

const STEPS = [1, 2, 2.5, 5, 10];

/** The least round number that is not below `value`: 1, 2, 2.5 or 5 times a power of ten. */
export function roundUp(value: number): number {
  if (!(value > 0) || !Number.isFinite(value)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = STEPS.find((s) => s * power >= value * (1 - 1e-9)) ?? 10;
  return Number((step * power).toPrecision(3));
}

const RINGS = [1 / 4, 1 / 2, 3 / 4, 1];

/** Scales of the radar. */
export type RadarForm = "raw" | "scaled";

/** 0 to 1 for scaled figures; square root from 0 for raw ones. */
export function radarScale(form: RadarForm, values: ArrayLike<number>): RadarScale {
  if (form === "scaled") return { high: 1, root: false, rings: RINGS };
  const high = roundUp(largestAbsolute(values));
  return { high, root: true, rings: RINGS.map((share) => share * share * high) };
}

/** Share of the radius at which a value lies. */
export function shareOf(value: number, { high, root }: RadarScale): number {
  const share = value / high;
  return root ? Math.sqrt(share) : share;
}

interface Outline {
  /** One place an axis; null where the figure is N/A. */
  readonly points: readonly (Point | null)[];
  /** Lines between neighboring axes that both have a figure. */
  readonly line: string;
  /** The area that these lines span with the center. */
  readonly area: string;
}

const text = ([x, y]: Point): string => `${+x.toFixed(2)} ${+y.toFixed(2)}`;

export function outline(shares: readonly number[], radius: number): Outline {
  const count = shares.length;
  const points = shares.map((share, axis) =>
    Number.isFinite(share) ? axisPoint(axis, count, share * radius) : null,
  );
  let line = "";
  let area = "";
  points.forEach((from, axis) => {
    const to = points[(axis + 1) % count];
    if (from === null || to === null || to === undefined) return;
    line += `M${text(from)}L${text(to)}`;
    area += `M0 0L${text(from)}L${text(to)}Z`;
  });
  return { points, line, area };
}

function toSegment([px, py]: Point, [ax, ay]: Point, [bx, by]: Point): number {
  const [dx, dy] = [bx - ax, by - ay];
  const square = dx * dx + dy * dy;
  const along = square === 0 ? 0 : ((px - ax) * dx + (py - ay) * dy) / square;
  const t = Math.min(1, Math.max(0, along));
  return Math.hypot(px - ax - t * dx, py - ay - t * dy);
}

/** The outline nearest to a place, if it is within `reach`; null otherwise. */
export function nearestOutline(
  outlines: readonly Outline[],
  place: Point,
  reach: number,
): number | null {
  let best: number | null = null;
  let least = reach;
  outlines.forEach(({ points }, index) => {
    points.forEach((from, axis) => {
      const to = points[(axis + 1) % points.length];
      if (from === null) return;
      // An axis between two that are N/A is a dot alone.
      const distance = toSegment(place, from, to ?? from);
      if (distance < least) {
        least = distance;
        best = index;
      }
    });
  });
  return best;
}
