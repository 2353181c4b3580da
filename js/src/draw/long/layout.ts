/** Layout of a long matrix, whose labels are as long as sentences: numbers alone. */

import type { Size } from "../heatmap/panzoom";
import type { HeatmapLayout } from "../heatmap/types";
import { type Extent, MARGINAL, REST } from "../heatmap/types";

const GUTTER = { least: 84, most: 148, share: 0.24, top: 104 } as const;
/** Least side of a plot (px). */
const LEAST = 96;

export function layoutLong({ rows, columns }: Extent, rest: boolean, room: Size): HeatmapLayout {
  const left = Math.round(Math.max(GUTTER.least, Math.min(GUTTER.most, room.width * GUTTER.share)));
  const { top } = GUTTER;
  const beside = rest ? REST.gap + REST.width : 0;
  const below = MARGINAL.gap + MARGINAL.height + MARGINAL.foot;
  const [across, down] = [room.width - left - beside - 1, room.height - top - below];
  const pixels = Math.min(across / columns, down / rows);
  // A hair of slack: a room that was divided by the count is whole again.
  const extent = (count: number): number => Math.max(LEAST, Math.floor(count * pixels + 1e-6));
  return {
    ...{ left, top, below, beside, upright: true },
    width: extent(columns),
    height: extent(rows),
  };
}
