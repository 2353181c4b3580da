/** A long matrix on canvas: tiles of the level that fits, labels that fit, pan and zoom. */

import { levelFor, type Range, TILE, tilesIn } from "../../figures/long/levels";
import type { Pooling, TileData } from "../../figures/long/store";
import { onAbort } from "../../protocol/abort";
import type { Scale } from "../../state/selection";
import { fitCanvas, hatching, pixelRatio } from "../canvas";
import type { Palette } from "../color/theme";
import type { Track } from "../heatmap/axis";
import { paintRest } from "../heatmap/cells";
import { paintMarks } from "../heatmap/marks";
import { constrain, zoomAt } from "../heatmap/panzoom";
import { type Cell, type Extent, type Geometry, REST } from "../heatmap/types";
import { type PointerEvents, ZoomableMap } from "../heatmap/zoomable";
import { FOOT, paintFoot } from "./foot";
import type { TileImages } from "./tile-images";
import { type ColorsAt, tileImage } from "./tile-images";

const GUTTER = { least: 84, most: 148, share: 0.24, top: 104 } as const;
/** Size of a cell (px) at which it is looked at. */
const NEAR_CELL = 14;
/** Least side of a plot (px). */
const LEAST = 96;
/** From this size of a cell on (px) cells are set apart by lines. */
const GRID_FROM = 10;

interface LongMapData extends Extent {
  readonly coarsest: number;
  /** The level that is one tile. */
  readonly top: TileData;
  readonly colors: ColorsAt;
  readonly received: Float32Array;
  /** Share of a learned sink in each row, how rows are pooled, and the ramp of single cells; null where rows sum to 1. */
  readonly rest: {
    readonly values: Float32Array;
    readonly pooling: Pooling;
    readonly max: number;
    readonly scale: Scale;
  } | null;
  /** Tokens at which paragraphs begin. */
  readonly breaks: readonly number[];
}

/** Tokens in view, and the level that they are drawn from. */
export interface View {
  readonly rows: Range;
  readonly columns: Range;
  readonly level: number;
  /** Size of a token, px. */
  readonly pixels: number;
}

interface LongMapEvents extends PointerEvents {
  /** After every drawing. */
  drawn(view: View, geometry: Geometry): void;
  labels(context: CanvasRenderingContext2D, geometry: Geometry, colors: Palette, view: View): void;
}

const BELOW = FOOT.gap + FOOT.height + FOOT.below;

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

export class LongMap extends ZoomableMap<LongMapData> {
  #top: HTMLCanvasElement | null = null;

  constructor(
    readonly events: LongMapEvents,
    readonly tiles: TileImages,
    signal: AbortSignal,
  ) {
    super("aw-map aw-long-map", events, signal);
    onAbort(signal, () => tiles.stop());
  }

  get view(): View | null {
    const g = this.geometry;
    if (g === null || this.data === null) return null;
    const range = ({ start, size }: Track, from: number, extent: number): Range => [
      (from - start) / size,
      (from + extent - start) / size,
    ];
    const pixels = Math.min(g.rows.size, g.columns.size);
    return {
      rows: range(g.rows, g.top, g.height),
      columns: range(g.columns, g.left, g.width),
      level: levelFor(pixels * pixelRatio(), this.data.coarsest),
      pixels,
    };
  }

  override show(data: LongMapData): void {
    if (data.top !== this.data?.top || data.colors !== this.data.colors) {
      this.#top = tileImage(data.top, data.colors(data.coarsest));
    }
    super.show(data);
  }

  zoomBy(factor: number, around: Cell | null = null): void {
    const g = this.geometry;
    if (g === null) return;
    const [x, y] = this.middleOf(around ?? { row: -1, column: -1 }, g);
    const inside = (at: number, extent: number): number => Math.max(0, Math.min(extent, at));
    const center = [inside(x, g.width), inside(y, g.height)] as const;
    this.move(zoomAt(this.transform, factor, center, g, this.most()));
  }

  /** Show these queries and keys, at one zoom for both: of a square, both windows have the width of the wider one. */
  look(rows: Range, columns: Range): void {
    const g = this.geometry;
    if (g === null || this.data === null) return;
    const share = ([from, to]: Range, count: number): number => Math.max(to - from, 1) / count;
    const wide = Math.max(share(rows, this.data.rows), share(columns, this.data.columns));
    const k = Math.min(1 / wide, this.most());
    const start = ([from, to]: Range, extent: number, count: number): number =>
      extent / 2 - ((from + to) / 2) * ((extent * k) / count);
    const x = start(columns, g.width, this.data.columns);
    const y = start(rows, g.height, this.data.rows);
    this.move(constrain({ k, x, y }, g, this.most()));
  }

  /** Bring a cell into view, at a zoom where it can be seen if `near`. */
  reveal({ row, column }: Cell, near = false): void {
    const view = this.view;
    const g = this.geometry;
    if (view === null || g === null) return;
    const inside = (i: number, [from, to]: Range): boolean => i < 0 || (i >= from && i + 1 <= to);
    const closeEnough = !near || view.pixels >= NEAR_CELL / 3;
    if (closeEnough && inside(row, view.rows) && inside(column, view.columns)) return;
    const middle = (i: number, [from, to]: Range, extent: number): Range => {
      const center = i < 0 ? (from + to) / 2 : i + 0.5;
      // Near enough that tokens have their labels.
      const most = near ? Math.floor(extent / NEAR_CELL) : to - from;
      const half = Math.min(most, to - from) / 2;
      return [center - half, center + half];
    };
    this.look(middle(row, view.rows, g.height), middle(column, view.columns, g.width));
  }

  /** Move the window by a share of itself. */
  pan(across: number, down: number): void {
    const g = this.geometry;
    if (g === null) return;
    const { k, x, y } = this.transform;
    const to = { k, x: x - across * g.width, y: y - down * g.height };
    this.move(constrain(to, g, this.most()));
  }

  draw(): void {
    const { data } = this;
    if (data === null || this.width === 0) return;
    const { colors } = this;
    const left = Math.round(
      Math.max(GUTTER.least, Math.min(GUTTER.most, this.width * GUTTER.share)),
    );
    const { top } = GUTTER;
    const beside = data.rest === null ? 0 : REST.gap + REST.width;
    const [across, down] = [this.width - left - beside - 1, this.height - top - BELOW];
    const pixels = Math.min(across / data.columns, down / data.rows);
    // A hair of slack: a room that was divided by the count is whole again.
    const extent = (count: number): number => Math.max(LEAST, Math.floor(count * pixels + 1e-6));
    const [width, height] = [extent(data.columns), extent(data.rows)];
    const g = this.place(data, { left, top, width, height, below: BELOW, beside });
    const context = fitCanvas(this.base, left + width + beside + 1, top + height + BELOW);
    const view = this.view as View;
    this.#paint(context, g, view, data, colors);
    this.#paintRest(context, g, view, data, colors);
    paintFoot(context, g, view.columns, data.received, colors);
    this.events.labels(context, g, colors, view);
    this.drawOver();
    this.events.drawn(view, g);
  }

  #paint(
    context: CanvasRenderingContext2D,
    g: Geometry,
    view: View,
    data: LongMapData,
    colors: Palette,
  ): void {
    const ratio = pixelRatio();
    const whole = (value: number): number => Math.round(value * ratio) / ratio;
    const pattern = hatching(context, colors.muted);
    context.save();
    context.beginPath();
    context.rect(g.left, g.top, g.width, g.height);
    context.clip();
    context.imageSmoothingEnabled = false;
    const image = (
      tile: { canvas: HTMLCanvasElement },
      level: number,
      row: number,
      col: number,
    ) => {
      const tokens = TILE * 2 ** level;
      const [left, top] = [
        whole(g.columns.start + col * tokens * g.columns.size),
        whole(g.rows.start + row * tokens * g.rows.size),
      ];
      const { width, height } = tile.canvas;
      const right = whole(g.columns.start + (col * tokens + width * 2 ** level) * g.columns.size);
      const bottom = whole(g.rows.start + (row * tokens + height * 2 ** level) * g.rows.size);
      // Behind clear pixels: what the mask forbids.
      context.fillStyle = colors.ground;
      context.fillRect(left, top, right - left, bottom - top);
      context.fillStyle = pattern;
      context.fillRect(left, top, right - left, bottom - top);
      context.drawImage(tile.canvas, left, top, right - left, bottom - top);
    };
    if (this.#top !== null) image({ canvas: this.#top }, data.coarsest, 0, 0);
    const places = tilesIn(view.rows, view.columns, view.level, data);
    if (view.level < data.coarsest) {
      for (const place of places) {
        const tile = this.tiles.get(place);
        if (tile !== null) image(tile, place.level, place.row, place.col);
      }
      this.tiles.want(places);
    } else this.tiles.want([]);
    context.fillStyle = colors.ground;
    const lines = ([from, to]: Range, { start, size }: Track, line: (at: number) => void): void => {
      if (size < GRID_FROM) return;
      for (let i = Math.ceil(from); i <= to; i++) line(Math.round(start + i * size));
    };
    lines(view.rows, g.rows, (y) => context.fillRect(g.left, y, g.width, 1));
    lines(view.columns, g.columns, (x) => context.fillRect(x, g.top, 1, g.height));
    context.restore();
  }

  /** The rests of the rows in view, in blocks of the level that is drawn. */
  #paintRest(
    context: CanvasRenderingContext2D,
    g: Geometry,
    { level }: View,
    { rest }: LongMapData,
    colors: Palette,
  ): void {
    if (rest === null) return;
    const values = pooledRows(rest.values, level, rest.pooling);
    const rows = { ...g.rows, size: g.rows.size * 2 ** level, count: values.length };
    paintRest(context, { ...g, rows }, { ...rest, rest: values }, colors);
  }

  protected override tapPlace({ row, column }: Cell): string {
    return `${row} ${column}`;
  }

  protected drawOver(): void {
    const { geometry: g } = this;
    if (g === null) return;
    const context = fitCanvas(this.over, g.left + g.width + 1, g.top + g.height + BELOW);
    paintMarks(context, g, this.highlights, this.colors);
  }
}
