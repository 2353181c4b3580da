/** The line between two groups of patches. */

import type { PatchGrid } from "./geometry";

/** From and to a corner of the grid, in patches. */
export type Edge = readonly [x0: number, y0: number, x1: number, y1: number];

/** Edges between neighbors of different groups; `groups`: one a token. */
export function edgesBetween(
  { rows, columns, first }: PatchGrid,
  groups: ArrayLike<number>,
): readonly Edge[] {
  const at = (row: number, column: number) => groups[first + row * columns + column];
  const edges: Edge[] = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const own = at(row, column);
      if (column + 1 < columns && at(row, column + 1) !== own)
        edges.push([column + 1, row, column + 1, row + 1]);
      if (row + 1 < rows && at(row + 1, column) !== own)
        edges.push([column, row + 1, column + 1, row + 1]);
    }
  }
  return edges;
}
