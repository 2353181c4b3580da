/** The line of the flow under the pointer. */

import { type FlowData, flowGutters, linkEnds, linkWidth } from "../../../draw/heatmap/flow";
import type { Cell, Geometry } from "../../../draw/heatmap/types";

/** A link is under the pointer within so many px. */
const REACH = 3;

/** The strongest link under a point of the canvas. */
export function linkAt(
  data: FlowData,
  g: Geometry,
  width: number,
  x: number,
  y: number,
): Cell | null {
  const [before, after] = flowGutters(data, width);
  const share = (x - before) / (width - after - before);
  if (!(share > 0 && share < 1)) return null;
  // On the curve it is, across, 1.5 t (1 - t) + t^3 of the way; down, 3 t^2 - 2 t^3.
  let [low, high] = [0, 1];
  for (let step = 0; step < 20; step++) {
    const t = (low + high) / 2;
    if (1.5 * t * (1 - t) + t ** 3 < share) low = t;
    else high = t;
  }
  const down = 3 * low ** 2 - 2 * low ** 3;
  const ends = linkEnds(g, 0, 0);
  const under = data.links.findLast(({ query, key, weight }) => {
    const [, from, , to] = ends(query, key);
    const off = Math.abs(from + (to - from) * down - y);
    return off <= REACH + linkWidth(data, weight, g) / 2;
  });
  return under === undefined ? null : { row: under.query, column: under.key };
}

declare module "../../contract" {
  interface LazyCode {
    readonly linkAt: typeof linkAt;
  }
}
