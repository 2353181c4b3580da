/** Layout of heatmap, flow and the card of a cell: numbers alone. */

import type { Geometry } from "../../draw/heatmap/types";

/** Heatmap and flow stand side by side from this width on (px). */
const WIDE = 640;
export const FLOW = { least: 220, most: 340, gap: 24, top: 24 } as const;
const HEIGHT = { least: 240, most: 520 } as const;
/** Between a cell and its card (px). */
const CARD = { beside: 12, above: 20, up: 8 } as const;

const within = (value: number, { least, most }: { least: number; most: number }): number =>
  Math.max(least, Math.min(most, value));

export interface Pictures {
  /** True if the two stand side by side. */
  readonly wide: boolean;
  /** Room of the heatmap (px). */
  readonly width: number;
  readonly height: number;
}

/** `height`: as the reader chose it, null for none. */
export function layoutPictures(available: number, height: number | null): Pictures {
  const wide = available >= WIDE;
  return {
    wide,
    width: wide ? available - FLOW.least - FLOW.gap : available,
    height: height ?? within(wide ? available * 0.75 : available * 1.1, HEIGHT),
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

/** The upper left corner of a card of `width` by `height` px for a cell of the heatmap. */
export function placeCard(
  cell: {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  },
  { width, height }: { readonly width: number; readonly height: number },
  room: { readonly width: number; readonly height: number },
): { readonly x: number; readonly y: number } {
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
