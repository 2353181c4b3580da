/** Layout of a heatmap: numbers alone. */

import {
  type Extent,
  GUTTER_PAD,
  type HeatmapData,
  type HeatmapLayout,
  LABEL_GAP,
  LABEL_LEAST,
  MARGINAL,
  REST,
} from "./types";

/** Widths of the longest labels, and of the names of the axes (px). */
export interface Longest {
  readonly rows: number;
  readonly columns: number;
  readonly names: number;
}

const CELL_MAX = 52;
const GUTTER = { rows: 116, columns: 96, least: 52 } as const;
/** Labels of narrow cells: first words are cut to this share of the width, and to these px above. */
const NARROW = { rows: 0.2, columns: 60 } as const;
/** Least length of the longer side of a plot (px). */
const LEAST = 64;
/** The shorter side of a plot is at least this share of the longer one, if there is room. */
const SHARE = 1 / 3;
/** Room that a flat label needs besides its text (px). */
const FLAT = { height: 14, apart: 6 } as const;

/** True if labels of columns this wide (px) must stand on end. */
export const isUpright = (longest: number, column: number): boolean =>
  longest > column - FLAT.apart;

/**
 * Lay `rows` by `columns` cells out in a room. Cells are squares, as large as both axes allow. Where the axes are of
 * different lengths, the cells of the shorter one grow until each has its label, where that is possible, and the links next to
 * the plot are legible.
 */
export function layoutHeatmap(
  { rows, columns, rest, starts }: Extent & Pick<HeatmapData, "rest" | "starts">,
  longest: Longest,
  room: { readonly width: number; readonly height: number },
): HeatmapLayout {
  const widest = Math.max(longest.rows, longest.names, GUTTER.least);
  const isNarrow = starts !== undefined && (room.width - widest) / columns < LABEL_LEAST;
  const gutter = isNarrow ? NARROW.rows * room.width : widest;
  const left = Math.ceil(Math.min(GUTTER.rows, gutter)) + GUTTER_PAD;
  const below = MARGINAL.gap + MARGINAL.height + MARGINAL.foot;
  const beside = rest ? REST.gap + REST.width : 0;
  const across = room.width - left - beside - 1;
  const cellIn = (down: number): number => Math.min(across / columns, down / rows, CELL_MAX);
  const upright = isUpright(longest.columns, cellIn(room.height - below - 24));
  const above = starts === undefined ? GUTTER.columns : NARROW.columns;
  const named = isNarrow ? above : Math.min(longest.columns, above);
  const top = Math.ceil(upright ? named : FLAT.height) + GUTTER_PAD;
  const down = room.height - below - top;
  const cell = cellIn(down);
  const extent = (count: number, other: number, most: number): number => {
    const labels = count * LABEL_GAP <= Math.min(most, cell * other) ? LABEL_GAP : 0;
    const wanted = Math.max(labels, (SHARE * cell * other) / count);
    const grown = Math.max(cell, Math.min(wanted, most / count, CELL_MAX));
    const size = count < other ? grown : cell;
    // A hair of slack: a room that was divided by the count is whole again.
    return Math.floor(Math.max((LEAST * count) / Math.max(count, other), size * count) + 1e-6);
  };
  return {
    left,
    top,
    width: extent(columns, rows, across),
    height: extent(rows, columns, down),
    below,
    beside,
    upright,
  };
}
