/** Place of a cell's card: numbers alone. */

import type { Size } from "../../../draw/heatmap/panzoom";
import type { Point } from "../layout";

/** Between a cell and its card (px). */
const CARD = { beside: 12, above: 20, up: 8 } as const;

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
