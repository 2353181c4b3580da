/** Layout of heatmap, flow and the card of a cell: numbers alone. */

import type { Size } from "../../draw/heatmap/panzoom";
import type { Extent, Geometry } from "../../draw/heatmap/types";

/** Heatmap and flow stand side by side from this width on (px). */
export const WIDE = 640;
export const FLOW = { least: 220, most: 340, gap: 24, top: 24 } as const;
const HEIGHT = { least: 240, most: 520 } as const;
/** From so many rows or columns on the matrix takes the width, and this height at most (px). */
const NARROW_FROM = 40;
const TALL = 800;
/** Between a cell and its card (px). */
const CARD = { beside: 12, above: 20, up: 8 } as const;

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

/** The upper left corner of a card of `width` by `height` px for a cell of the heatmap. */
export function placeCard(cell: Point & Size, { width, height }: Size, room: Size): Point {
  const right = cell.x + cell.width + CARD.beside;
  const before = cell.x - width - CARD.beside;
  const fits = right + width <= room.width;
  // Without room at its side the card is placed above or below the cell, never on it.
  const beside = fits || before >= 0;
  const above = cell.y - height - CARD.above;
  const x = fits ? right : Math.max(0, beside ? before : (room.width - width) / 2);
  const y = beside
    ? Math.max(0, Math.min(cell.y - CARD.up, room.height - height))
    : above >= 0
      ? above
      : cell.y + cell.height + CARD.above;
  return { x: Math.round(x), y: Math.round(y) };
}

/** The same at the pointer, for what has no place of its own: below it and on its right where that fits. */
export function placeAtPointer({ x, y }: Point, card: Size, room: Size): Point {
  const right = x + CARD.beside;
  const below = y + CARD.above;
  const left = right + card.width <= room.width ? right : x - card.width - CARD.beside;
  const top = below + card.height <= room.height ? below : y - card.height - CARD.beside;
  return { x: Math.round(Math.max(0, left)), y: Math.round(Math.max(0, top)) };
}
