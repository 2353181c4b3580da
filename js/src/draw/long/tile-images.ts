/** Tiles as images: requested when they come into view; a cache that evicts the least recently used. */

import { levelFor, TILE, type TilePlace, tilesIn } from "../../figures/long/levels";
import type { Pooling, TileData } from "../../figures/long/store";
import { isAbort } from "../../protocol/failure";
import { type Coloring, heatImage, pixelRatio } from "../canvas";
import type { Palette } from "../color/theme";
import { windowsOf } from "../heatmap/axis";
import { paintImage } from "../heatmap/cells";
import type { Extent, Geometry, Track } from "../heatmap/types";

/** Images that are kept: a quarter of a MB each, and their numbers as much again. */
const MOST = 64;
/** Concurrent requests: more would delay the tiles needed next. */
const AT_ONCE = 4;

/** The colors of each level. */
export type ColorsAt = (level: number) => Coloring;

interface TileImage extends TileData {
  readonly canvas: HTMLCanvasElement;
}

/** A matrix of which one level is one tile. */
interface TiledMatrix extends Extent {
  readonly coarsest: number;
  /** The level that is one tile. */
  readonly top: TileData;
}

const imageOf = ({ data, rows, columns }: TileData, colors: Coloring): HTMLCanvasElement =>
  heatImage(data, rows, columns, colors, (cell) => Number.isNaN(data[cell]));

/** The level that a map is drawn from. */
export const levelOf = ({ rows, columns }: Geometry, coarsest: number): number =>
  levelFor(Math.min(rows.size, columns.size) * pixelRatio(), coarsest);

/** The largest or the mean of every `2 ** level` rows. */
export function pooledRows(values: Float32Array, level: number, pooling: Pooling): Float32Array {
  const size = 2 ** level;
  return Float32Array.from({ length: Math.ceil(values.length / size) }, (_, i) => {
    const block = values.subarray(i * size, (i + 1) * size);
    return pooling === "max"
      ? block.reduce((most, value) => Math.max(most, value), 0)
      : block.reduce((sum, value) => sum + value, 0) / block.length;
  });
}

interface TileSource {
  ask(place: TilePlace, signal: AbortSignal): Promise<TileData>;
  arrived(): void;
  failed(error: unknown): void;
}

const keyOf = ({ level, row, col }: TilePlace): string => `${level} ${row} ${col}`;

export class TileImages {
  readonly #images = new Map<string, TileImage>();
  readonly #asked = new Map<string, AbortController>();
  #queue: TilePlace[] = [];
  #colors: ColorsAt | null = null;
  #source: TileSource | null = null;
  #matrix: TiledMatrix | null = null;
  #top: HTMLCanvasElement | null = null;

  /** Another matrix or pooling: nothing of the former is of use. */
  reset(matrix: TiledMatrix, source: TileSource, colors: ColorsAt): void {
    this.stop();
    this.#images.clear();
    this.#source = source;
    this.#colors = colors;
    this.#matrix = matrix;
    this.#top = imageOf(matrix.top, colors(matrix.coarsest));
  }

  /** Paint the tiles in sight that are here, over the coarsest level, and ask for the others. */
  paint(context: CanvasRenderingContext2D, g: Geometry, colors: Palette): void {
    const matrix = this.#matrix;
    if (matrix === null || this.#top === null) return;
    const ratio = pixelRatio();
    const image = (canvas: HTMLCanvasElement, { level, row, col }: TilePlace): void => {
      const side = 2 ** level;
      const edge = ({ start, size }: Track, cell: number): number =>
        Math.round((start + cell * side * size) * ratio) / ratio;
      const [left, top] = [edge(g.columns, col * TILE), edge(g.rows, row * TILE)];
      const right = edge(g.columns, col * TILE + canvas.width);
      const bottom = edge(g.rows, row * TILE + canvas.height);
      paintImage(context, canvas, [left, top, right - left, bottom - top], true, colors);
    };
    image(this.#top, { level: matrix.coarsest, row: 0, col: 0 });
    const level = levelOf(g, matrix.coarsest);
    const { rows, columns } = windowsOf(g);
    const places = level < matrix.coarsest ? tilesIn(rows, columns, level, matrix) : [];
    for (const place of places) {
      const tile = this.get(place);
      if (tile !== null) image(tile.canvas, place);
    }
    this.want(places);
  }

  /** The image of a tile, if it is here. */
  get(place: TilePlace): TileImage | null {
    const key = keyOf(place);
    const image = this.#images.get(key);
    if (image === undefined) return null;
    this.#images.delete(key);
    this.#images.set(key, image);
    return image;
  }

  /** Ask for those of `places` that are not here, in this order; questions about others are dropped. */
  want(places: readonly TilePlace[]): void {
    const wanted = new Set(places.map(keyOf));
    for (const [key, asking] of this.#asked) {
      if (wanted.has(key)) continue;
      this.#asked.delete(key);
      asking.abort();
    }
    this.#queue = places.filter((place) => !this.#images.has(keyOf(place)));
    this.#next();
  }

  /** True if everything that was wanted is here. */
  get complete(): boolean {
    return this.#queue.length === 0 && this.#asked.size === 0;
  }

  stop(): void {
    for (const asking of this.#asked.values()) asking.abort();
    this.#asked.clear();
    this.#queue = [];
  }

  #next(): void {
    while (this.#asked.size < AT_ONCE) {
      const place = this.#queue.shift();
      if (place === undefined) return;
      if (!this.#asked.has(keyOf(place))) void this.#load(place);
    }
  }

  async #load(place: TilePlace): Promise<void> {
    const source = this.#source;
    const key = keyOf(place);
    const request = new AbortController();
    this.#asked.set(key, request);
    try {
      const tile = await source?.ask(place, request.signal);
      if (request.signal.aborted || tile === undefined || this.#colors === null) return;
      this.#images.set(key, { ...tile, canvas: imageOf(tile, this.#colors(place.level)) });
      for (const oldest of this.#images.keys()) {
        if (this.#images.size <= MOST) break;
        this.#images.delete(oldest);
      }
      source?.arrived();
    } catch (error) {
      if (!isAbort(error) && !request.signal.aborted) source?.failed(error);
    } finally {
      if (this.#asked.get(key) === request) this.#asked.delete(key);
      this.#next();
    }
  }
}
