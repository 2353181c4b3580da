/** A long matrix on canvas: tiles of the level that fits, labels that fit, pan and zoom. */

import { levelFor, type Range, TILE, tilesIn } from "../../figures/long/levels";
import type { TileData } from "../../figures/long/store";
import { fitCanvas, hatching, pixelRatio } from "../canvas";
import type { Palette } from "../color/theme";
import { paintMarks } from "../heatmap/marks";
import { constrain, zoomAt } from "../heatmap/panzoom";
import type { Cell, Geometry } from "../heatmap/types";
import { type PointerEvents, ZoomableMap } from "../heatmap/zoomable";
import { FOOT, paintFoot } from "./foot";
import type { TileImages } from "./tile-images";
import { type ColorsAt, tileImage } from "./tile-images";

const GUTTER = { least: 84, most: 148, share: 0.24, top: 104 } as const;
/** Size of a cell (px) at which it is looked at. */
const NEAR_CELL = 14;
/** From this size of a cell on (px) cells are set apart by lines. */
const GRID_FROM = 10;

export interface LongMapData {
  readonly size: number;
  readonly coarsest: number;
  /** The level that is one tile. */
  readonly top: TileData;
  readonly colors: ColorsAt;
  readonly received: Float32Array;
  /** Where paragraphs begin. */
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

export interface LongMapEvents extends PointerEvents {
  /** After every drawing. */
  drawn(view: View, geometry: Geometry): void;
  labels(context: CanvasRenderingContext2D, geometry: Geometry, colors: Palette, view: View): void;
}

const BELOW = FOOT.gap + FOOT.height + FOOT.below;

export class LongMap extends ZoomableMap<LongMapData> {
  #top: HTMLCanvasElement | null = null;

  constructor(
    readonly events: LongMapEvents,
    readonly tiles: TileImages,
    signal: AbortSignal,
  ) {
    super("aw-map aw-long-map", events, signal);
    signal.addEventListener("abort", () => tiles.stop(), { once: true });
  }

  get view(): View | null {
    const g = this.geometry;
    if (g === null || this.data === null) return null;
    const range = (start: number, from: number, size: number): Range => [
      (from - start) / size,
      (from + g.side - start) / size,
    ];
    return {
      rows: range(g.rows.start, g.top, g.rows.size),
      columns: range(g.columns.start, g.left, g.columns.size),
      level: levelFor(g.rows.size * pixelRatio(), this.data.coarsest),
      pixels: g.rows.size,
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
    const inside = (at: number): number => Math.max(0, Math.min(g.side, at));
    const center = [inside(x), inside(y)] as const;
    this.move(zoomAt(this.transform, factor, center, g.side, this.most()));
  }

  /** Show these queries and keys; both windows have one width, that of the wider one. */
  look(rows: Range, columns: Range): void {
    const g = this.geometry;
    const size = this.data?.size;
    if (g === null || size === undefined) return;
    const wide = Math.max(rows[1] - rows[0], columns[1] - columns[0], 1);
    const k = Math.min(size / wide, this.most());
    const pixels = (g.side * k) / size;
    const start = ([from, to]: Range): number => g.side / 2 - ((from + to) / 2) * pixels;
    this.move(constrain({ k, x: start(columns), y: start(rows) }, g.side, this.most()));
  }

  /** Bring a cell into view, at a zoom where it can be seen if `near`. */
  reveal({ row, column }: Cell, near = false): void {
    const view = this.view;
    const size = this.data?.size;
    if (view === null || size === undefined) return;
    // Near enough that tokens have their labels.
    const most = Math.floor((this.geometry?.side ?? 0) / NEAR_CELL);
    const least = near ? Math.min(size, most) : view.rows[1] - view.rows[0];
    const inside = (i: number, [from, to]: Range): boolean => i < 0 || (i >= from && i + 1 <= to);
    const closeEnough = !near || view.pixels >= NEAR_CELL / 3;
    if (closeEnough && inside(row, view.rows) && inside(column, view.columns)) return;
    const wide = Math.min(least, view.rows[1] - view.rows[0]);
    const middle = (i: number, [from, to]: Range): Range => {
      const center = i < 0 ? (from + to) / 2 : i + 0.5;
      return [center - wide / 2, center + wide / 2];
    };
    this.look(middle(row, view.rows), middle(column, view.columns));
  }

  /** Move the window by a share of itself. */
  pan(across: number, down: number): void {
    const g = this.geometry;
    if (g === null) return;
    const { k, x, y } = this.transform;
    const to = { k, x: x - across * g.side, y: y - down * g.side };
    this.move(constrain(to, g.side, this.most()));
  }

  draw(): void {
    const { data } = this;
    if (data === null || this.width === 0) return;
    const { colors } = this;
    const left = Math.round(
      Math.max(GUTTER.least, Math.min(GUTTER.most, this.width * GUTTER.share)),
    );
    const { top } = GUTTER;
    const room = Math.min(this.width - left - 1, this.height - top - BELOW);
    const side = Math.max(96, Math.floor(room));
    const g = this.place(data.size, { left, top, side, below: BELOW });
    const context = fitCanvas(this.base, left + side + 1, top + side + BELOW);
    const view = this.view as View;
    this.#paint(context, g, view, data, colors);
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
    context.rect(g.left, g.top, g.side, g.side);
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
    const places = tilesIn(view.rows, view.columns, view.level, data.size);
    if (view.level < data.coarsest) {
      for (const place of places) {
        const tile = this.tiles.get(place);
        if (tile !== null) image(tile, place.level, place.row, place.col);
      }
      this.tiles.want(places);
    } else this.tiles.want([]);
    if (g.rows.size >= GRID_FROM) {
      context.fillStyle = colors.ground;
      const lines = (from: number, to: number, start: number, across: boolean): void => {
        for (let i = Math.ceil(from); i <= to; i++) {
          const at = Math.round(start + i * g.rows.size);
          if (across) context.fillRect(g.left, at, g.side, 1);
          else context.fillRect(at, g.top, 1, g.side);
        }
      };
      lines(...view.rows, g.rows.start, true);
      lines(...view.columns, g.columns.start, false);
    }
    context.restore();
  }

  protected override tapPlace({ row, column }: Cell): string {
    return `${row} ${column}`;
  }

  protected drawOver(): void {
    const { geometry: g } = this;
    if (g === null) return;
    const context = fitCanvas(this.over, g.left + g.side + 1, g.top + g.side + BELOW);
    paintMarks(context, g, this.highlights, this.colors);
  }
}
