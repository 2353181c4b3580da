/** Layout of heatmap and flow: numbers alone. */

import type { Extent, Geometry } from "../../draw/heatmap/types";

/** Heatmap and flow stand side by side from this width on (px). */
export const WIDE = 640;
export const FLOW = { least: 220, most: 340, gap: 24, top: 24 } as const;
const HEIGHT = { least: 240, most: 520 } as const;
/** From so many rows or columns on the matrix takes the width, and this height at most (px). */
const NARROW_FROM = 40;
const TALL = 800;

const within = (value: number, { least, most }: { least: number; most: number }): number =>
  Math.max(least, Math.min(most, value));

interface Pictures {
  /** True if the two stand side by side. */
  readonly wide: boolean;
  /** Room of the heatmap (px). */
  readonly width: number;
  readonly height: number;
}

/** True if a matrix has so many cells that few of their labels can be written. */
export const isNarrow = ({ rows, columns }: Extent): boolean =>
  Math.max(rows, columns) >= NARROW_FROM;

/** `height`: as the reader chose it, null for none. The flow of narrow cells stands next to the matrix only if that keeps its full size. */
export function layoutPictures(available: number, height: number | null, narrow = false): Pictures {
  const wide = available >= (narrow ? TALL + FLOW.least + FLOW.gap : WIDE);
  const most = narrow ? TALL : HEIGHT.most;
  return {
    wide,
    width: wide ? available - FLOW.least - FLOW.gap : available,
    height:
      height ?? within(wide && !narrow ? available * 0.75 : available * 1.1, { ...HEIGHT, most }),
  };
}

/** Next to the heatmap its rows are the flow's; alone it needs no room for column labels. */
export function layoutFlow(heatmap: Geometry, wide: boolean): Geometry {
  if (wide) return heatmap;
  const shift = FLOW.top - heatmap.top;
  return {
    ...heatmap,
    top: FLOW.top,
    left: heatmap.left + shift,
    rows: { ...heatmap.rows, start: heatmap.rows.start + shift },
    columns: { ...heatmap.columns, start: heatmap.columns.start + shift },
  };
}

/** Width of the flow in `available` px for both pictures. */
export const flowWidth = (
  { left, width, beside = 0 }: Pick<Geometry, "left" | "width" | "beside">,
  available: number,
  wide: boolean,
): number => (wide ? within(available - left - width - beside - FLOW.gap, FLOW) : available);

export interface Point {
  readonly x: number;
  readonly y: number;
}
