/** Tiles as images: requested when they come into view; a cache that evicts the least recently used. */

import type { TilePlace } from "../../figures/long/levels";
import type { TileData } from "../../figures/long/store";
import { isAbort } from "../../protocol/failure";
import { penOf } from "../canvas";
import { RAMP_SIZE } from "../color/ramp";
import { signedIndex } from "../color/scale";

/** Images that are kept: a quarter of a MB each, and their numbers as much again. */
const MOST = 64;
/** Concurrent requests: more would delay the tiles needed next. */
const AT_ONCE = 4;

interface TileColors {
  readonly words: Uint32Array;
  /** The end of the ramp. */
  readonly top: number;
  readonly root: boolean;
  readonly signed: boolean;
}

/** The colors of each level. */
export type ColorsAt = (level: number) => TileColors;

interface TileImage extends TileData {
  readonly canvas: HTMLCanvasElement;
}

/** One pixel a cell; NaN is clear. */
export function tileImage(tile: TileData, colors: TileColors): HTMLCanvasElement {
  const { data, rows, columns } = tile;
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = penOf(canvas);
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const { words, top, root, signed } = colors;
  const last = RAMP_SIZE - 1;
  const factor = top > 0 ? 1 / top : 0;
  for (let i = 0; i < pixels.length; i++) {
    const value = data[i] as number;
    if (Number.isNaN(value)) continue;
    const share = Math.min(value * factor, 1);
    const index = signed
      ? signedIndex(value, top)
      : ((root ? Math.sqrt(share) : share) * last + 0.5) | 0;
    pixels[i] = words[index] as number;
  }
  context.putImageData(image, 0, 0);
  return canvas;
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

  /** Another matrix or pooling: nothing of the former is of use. */
  reset(source: TileSource, colors: ColorsAt): void {
    this.stop();
    this.#images.clear();
    this.#source = source;
    this.#colors = colors;
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
      this.#images.set(key, { ...tile, canvas: tileImage(tile, this.#colors(place.level)) });
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
