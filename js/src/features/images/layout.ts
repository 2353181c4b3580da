/** Sizes of the thumbnails: as large as the width allows, layers along the longer way. */

import type { ThumbLayout } from "./paint";

/** Room for the numbers of heads and layers, px. */
export const AXIS = 30;
const GAP = 3;
/** Longest side of a thumbnail, px: below the least the grid scrolls. */
const SIDE = { least: 34, most: 96 } as const;
/** Height of the whole, px. */
const TALL = 620;

/** `ratio`: width over height of the picture. */
export function thumbLayout(
  width: number,
  {
    layers,
    heads,
    ratio,
  }: { readonly layers: number; readonly heads: number; readonly ratio: number },
): ThumbLayout {
  const sized = (side: boolean): ThumbLayout => {
    const [columns, rows] = side ? [layers, heads] : [heads, layers];
    const across = (width - AXIS) / columns - GAP;
    const down = (TALL - AXIS) / rows - GAP;
    const most = Math.min(across, down * ratio, SIDE.most * Math.min(1, ratio));
    const least = SIDE.least * Math.min(1, ratio);
    const wide = Math.max(least, Math.floor(most));
    return {
      layers,
      heads,
      width: wide,
      height: Math.max(1, Math.round(wide / ratio)),
      gap: GAP,
      side,
    };
  };
  const [upright, side] = [sized(false), sized(true)];
  return side.width >= upright.width ? side : upright;
}

/** Size of all thumbnails, px. */
export function thumbsSize({ layers, heads, width, height, gap, side }: ThumbLayout): {
  readonly columns: number;
  readonly rows: number;
  readonly width: number;
  readonly height: number;
} {
  const [columns, rows] = side ? [layers, heads] : [heads, layers];
  return {
    columns,
    rows,
    width: columns * (width + gap) - gap,
    height: rows * (height + gap) - gap,
  };
}
