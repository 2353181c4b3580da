/** Layout of the cells and labels of a heat map: numbers alone, no canvas. */

import type { Track } from "../heatmap/types";

export interface CellAt {
  readonly row: number;
  readonly column: number;
}

export interface CellsShape {
  /** Height of a row (px); null: cells are square. */
  readonly rowHeight: number | null;
  /** Largest side of a cell and of the whole map (px). */
  readonly cellMost: number;
  readonly heightMost: number;
}

/** Height of a label (px). */
const LABEL = 12;
const GUTTER = { row: 112, column: 92, least: 20 } as const;
/** Between a label and the cells (px). */
export const GUTTER_PAD = 8;

export interface Geometry {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Room beyond the last cells (px), for half a label where cells are small. */
  readonly edge: number;
  readonly rows: Track;
  readonly columns: Track;
  /** True if the names of the columns are turned. */
  readonly upright: boolean;
}

/** Lay out `rows` by `columns` cells in a room `width` px wide; `longest`: the widest label of a row, of a column. */
export function layoutCells(
  { rows, columns }: { readonly rows: number; readonly columns: number },
  { cellMost, heightMost, rowHeight }: CellsShape,
  width: number,
  longest: { readonly row: number; readonly column: number },
): Geometry {
  const left = Math.ceil(Math.min(GUTTER.row, longest.row) + GUTTER_PAD);
  const edge = columns * LABEL > width - left ? LABEL / 2 : 1;
  const room = Math.max(width - left - edge, 1);
  const side = rowHeight === null ? heightMost / Math.max(rows, 1) : Infinity;
  let size = Math.min(cellMost, room / Math.max(columns, 1), side);
  // Whole pixels while there are enough: cells of one size.
  if (size >= 4) size = Math.floor(size);
  const upright = longest.column > size - 2;
  const top = upright
    ? Math.ceil(Math.min(GUTTER.column, longest.column) + GUTTER_PAD)
    : GUTTER.least;
  const tall = rowHeight ?? size;
  return {
    left,
    top,
    width: size * columns,
    height: tall * rows,
    edge: Math.max(edge, tall < LABEL ? LABEL / 2 : 1),
    rows: { start: top, size: tall, count: rows },
    columns: { start: left, size, count: columns },
    upright,
  };
}

const indexAt = ({ start, size, count }: Track, at: number): number | null => {
  const index = Math.floor((at - start) / size);
  return index >= 0 && index < count ? index : null;
};

/** The cell at a point of the map; null outside the cells. */
export function cellAt({ rows, columns }: Geometry, x: number, y: number): CellAt | null {
  const [row, column] = [indexAt(rows, y), indexAt(columns, x)];
  return row === null || column === null ? null : { row, column };
}

/** The row whose label is at a point; null where there is none. */
export const labelAt = ({ rows, left }: Geometry, x: number, y: number): number | null =>
  x < left ? indexAt(rows, y) : null;
