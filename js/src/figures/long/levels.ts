/** Which level of detail a window of a long matrix is drawn from, and which of its tiles: numbers alone. */

/** Cells a side of a tile (attn_widget/figures/long/pyramid.py). */
export const TILE = 256;

/** Tokens `[from, to)`, fractions included. */
export type Range = readonly [from: number, to: number];

export interface TilePlace {
  readonly level: number;
  readonly row: number;
  readonly col: number;
}

/**
 * The level whose cells have at least one device pixel each, so that no cell is left out: the finest one such.
 * `pixels`: device pixels of one token.
 */
export function levelFor(pixels: number, coarsest: number): number {
  if (!(pixels > 0)) return coarsest;
  // A hair of slack: 1023.9 pixels for 1024 cells still draw nearly every one, and the next level would halve them.
  const wanted = Math.ceil(Math.log2(1 / pixels) - 1e-3);
  return Math.max(0, Math.min(coarsest, wanted));
}

/** First and one past the last tile that has tokens of a range, on a level of `n` tokens. */
export function tileRange([from, to]: Range, level: number, n: number): readonly [number, number] {
  const side = TILE * 2 ** level;
  const last = Math.ceil(n / side);
  const first = Math.max(0, Math.min(last - 1, Math.floor(from / side)));
  return [first, Math.max(first + 1, Math.min(last, Math.ceil(to / side)))];
}

/** The tiles under a window of a matrix of that many rows and columns, those nearest to its middle first. */
export function tilesIn(
  rows: Range,
  columns: Range,
  level: number,
  count: { readonly rows: number; readonly columns: number },
): TilePlace[] {
  const [top, bottom] = tileRange(rows, level, count.rows);
  const [left, right] = tileRange(columns, level, count.columns);
  const places: (TilePlace & { readonly far: number })[] = [];
  const side = TILE * 2 ** level;
  const middle = [(rows[0] + rows[1]) / 2 / side, (columns[0] + columns[1]) / 2 / side] as const;
  for (let row = top; row < bottom; row++) {
    for (let col = left; col < right; col++) {
      const far = Math.hypot(row + 0.5 - middle[0], col + 0.5 - middle[1]);
      places.push({ level, row, col, far });
    }
  }
  return places.sort((a, b) => a.far - b.far).map(({ far: _, ...place }) => place);
}

/** `values` pooled into `size` bins by their maximum: nothing that stands out is lost. */
export function binned(values: ArrayLike<number>, size: number): Float32Array {
  const bins = new Float32Array(size);
  const { length } = values;
  for (let i = 0; i < length; i++) {
    const bin = Math.min(size - 1, Math.floor((i * size) / length));
    const value = values[i] as number;
    if (value > (bins[bin] as number)) bins[bin] = value;
  }
  return bins;
}

/** A window that a reader drew, at least `least` tokens wide and inside the text. */
export function brushed(a: number, b: number, n: number, least: number): Range {
  const [low, high] = [Math.max(0, Math.min(a, b)), Math.min(n, Math.max(a, b))];
  const width = Math.min(n, Math.max(high - low, least));
  const from = Math.max(0, Math.min(n - width, (low + high) / 2 - width / 2));
  return [from, from + width];
}
