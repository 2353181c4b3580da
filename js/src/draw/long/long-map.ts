/** A long matrix on canvas: tiles of the level that fits, labels that fit, pan and zoom. */

import { levelFor, type Range, TILE, tilesIn } from "../../figures/long/levels";
import type { TileData } from "../../figures/long/store";
import { fitCanvas, hatching, pixelRatio } from "../canvas";
import { type Palette, palette } from "../color/theme";
import { h } from "../dom";
import { paintMarks } from "../heatmap/marks";
import { constrain, IDENTITY, panZoom, type Transform, zoomAt } from "../heatmap/panzoom";
import { type Cell, type Geometry, type Highlights, NO_HIGHLIGHTS } from "../heatmap/types";
import { tapTwice } from "../touch";
import { FOOT, paintFoot } from "./foot";
import type { TileImages } from "./tile-images";
import { type ColorsAt, tileImage } from "./tile-images";

const MAX_ZOOM_CELL = 40;
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

export interface LongMapEvents {
  hover(cell: Cell | null): void;
  pick(cell: Cell): void;
  /** After every drawing. */
  drawn(view: View, geometry: Geometry): void;
  labels(context: CanvasRenderingContext2D, geometry: Geometry, colors: Palette, view: View): void;
}

export class LongMap {
  readonly element: HTMLElement;
  #base = h("canvas", { class: "aw-map-base", "aria-hidden": "true" });
  #over = h("canvas", { class: "aw-map-over", "aria-hidden": "true" });
  #pane = h("div", { class: "aw-map-pane" });
  #data: LongMapData | null = null;
  #top: HTMLCanvasElement | null = null;
  #colors: Palette | null = null;
  #width = 0;
  #height = 0;
  #transform: Transform = IDENTITY;
  #highlights: Highlights = NO_HIGHLIGHTS;
  #geometry: Geometry | null = null;
  #frame = 0;

  constructor(
    readonly events: LongMapEvents,
    readonly tiles: TileImages,
    signal: AbortSignal,
  ) {
    this.element = h(
      "div",
      {
        class: "aw-map aw-long-map",
        tabindex: 0,
        role: "application",
        "aria-roledescription": "attention matrix",
        "data-aw-part": "heatmap",
      },
      this.#base,
      this.#over,
      this.#pane,
    );
    this.#listen(signal);
  }

  get geometry(): Geometry | null {
    return this.#geometry;
  }

  get view(): View | null {
    const g = this.#geometry;
    if (g === null || this.#data === null) return null;
    const range = (start: number, from: number, size: number): Range => [
      (from - start) / size,
      (from + g.side - start) / size,
    ];
    return {
      rows: range(g.rows.start, g.top, g.rows.size),
      columns: range(g.columns.start, g.left, g.columns.size),
      level: levelFor(g.rows.size * pixelRatio(), this.#data.coarsest),
      pixels: g.rows.size,
    };
  }

  show(data: LongMapData): void {
    if (data.size !== this.#data?.size) this.#transform = IDENTITY;
    if (data.top !== this.#data?.top || data.colors !== this.#data.colors) {
      this.#top = tileImage(data.top, data.colors(data.coarsest));
    }
    this.#data = data;
    this.draw();
  }

  highlight(change: Partial<Highlights>): void {
    this.#highlights = { ...this.#highlights, ...change };
    this.#drawOver();
  }

  resize(width: number, height: number): void {
    this.#width = width;
    this.#height = height;
    this.draw();
  }

  recolor(): void {
    this.#colors = null;
  }

  zoomBy(factor: number, around: Cell | null = null): void {
    const g = this.#geometry;
    if (g === null) return;
    const at = (track: Geometry["rows"], from: number, i: number | undefined): number =>
      i === undefined || i < 0
        ? g.side / 2
        : Math.max(0, Math.min(g.side, track.start - from + (i + 0.5) * track.size));
    const center = [at(g.columns, g.left, around?.column), at(g.rows, g.top, around?.row)] as const;
    this.#move(zoomAt(this.#transform, factor, center, g.side, this.#most()));
  }

  resetZoom(): void {
    this.#move(IDENTITY);
  }

  /** Show these queries and keys; both windows have one width, that of the wider one. */
  look(rows: Range, columns: Range): void {
    const g = this.#geometry;
    const size = this.#data?.size;
    if (g === null || size === undefined) return;
    const wide = Math.max(rows[1] - rows[0], columns[1] - columns[0], 1);
    const k = Math.min(size / wide, this.#most());
    const pixels = (g.side * k) / size;
    const start = ([from, to]: Range): number => g.side / 2 - ((from + to) / 2) * pixels;
    this.#move(constrain({ k, x: start(columns), y: start(rows) }, g.side, this.#most()));
  }

  /** Bring a cell into view, at a zoom where it can be seen if `near`. */
  reveal({ row, column }: Cell, near = false): void {
    const view = this.view;
    const size = this.#data?.size;
    if (view === null || size === undefined) return;
    // Near enough that tokens have their labels.
    const most = Math.floor((this.#geometry?.side ?? 0) / NEAR_CELL);
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
    const g = this.#geometry;
    if (g === null) return;
    const { k, x, y } = this.#transform;
    const to = { k, x: x - across * g.side, y: y - down * g.side };
    this.#move(constrain(to, g.side, this.#most()));
  }

  cellAt(clientX: number, clientY: number): Cell | null {
    const g = this.#geometry;
    if (g === null || this.#data === null) return null;
    const box = this.element.getBoundingClientRect();
    const [x, y] = [clientX - box.left, clientY - box.top];
    if (x < 0 || y < 0 || x >= g.left + g.side || y >= g.top + g.side) return null;
    const row = y < g.top ? -1 : Math.floor((y - g.rows.start) / g.rows.size);
    const column = x < g.left ? -1 : Math.floor((x - g.columns.start) / g.columns.size);
    const { size } = this.#data;
    return row < size && column < size && (row >= 0 || column >= 0) ? { row, column } : null;
  }

  boxOf({ row, column }: Cell): { x: number; y: number; size: number } | null {
    const g = this.#geometry;
    if (g === null) return null;
    const { size } = g.rows;
    return { x: g.columns.start + column * size, y: g.rows.start + row * size, size };
  }

  redraw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.draw());
  }

  draw(): void {
    const data = this.#data;
    if (data === null || this.#width === 0) return;
    this.#colors ??= palette(this.element);
    const left = Math.round(
      Math.max(GUTTER.least, Math.min(GUTTER.most, this.#width * GUTTER.share)),
    );
    const { top } = GUTTER;
    const below = FOOT.gap + FOOT.height + FOOT.below;
    const side = Math.max(
      96,
      Math.floor(Math.min(this.#width - left - 1, this.#height - top - below)),
    );
    const before = this.#geometry?.side ?? side;
    const { k, x, y } = this.#transform;
    if (side !== before) {
      const ratio = side / before;
      this.#transform = constrain({ k, x: x * ratio, y: y * ratio }, side, this.#most(side));
    }
    const cell = (side * this.#transform.k) / data.size;
    const g: Geometry = {
      left,
      top,
      side,
      rows: { start: top + this.#transform.y, size: cell, count: data.size },
      columns: { start: left + this.#transform.x, size: cell, count: data.size },
      zoomed: this.#transform.k > 1,
    };
    this.#geometry = g;
    const height = top + side + below;
    Object.assign(this.element.style, { width: `${left + side + 1}px`, height: `${height}px` });
    Object.assign(this.#pane.style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${side}px`,
      height: `${side}px`,
      cursor: g.zoomed ? "grab" : "crosshair",
    });
    const context = fitCanvas(this.#base, left + side + 1, height);
    const view = this.view as View;
    this.#paint(context, g, view, data, this.#colors);
    paintFoot(context, g, view.columns, data.received, this.#colors);
    this.events.labels(context, g, this.#colors, view);
    this.#drawOver();
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

  #drawOver(): void {
    const g = this.#geometry;
    if (g === null || this.#colors === null) return;
    const height = g.top + g.side + FOOT.gap + FOOT.height + FOOT.below;
    const context = fitCanvas(this.#over, g.left + g.side + 1, height);
    paintMarks(context, g, this.#highlights, this.#colors);
  }

  #most(side = this.#geometry?.side ?? 1): number {
    return Math.max(1, (MAX_ZOOM_CELL * (this.#data?.size ?? 1)) / side);
  }

  #move(transform: Transform): void {
    this.#transform = transform;
    this.redraw();
  }

  #listen(signal: AbortSignal): void {
    tapTwice(
      this.element,
      ({ clientX, clientY }) => {
        const cell = this.cellAt(clientX, clientY);
        return cell === null ? null : `${cell.row} ${cell.column}`;
      },
      signal,
    );
    panZoom(
      this.#pane,
      {
        get: () => this.#transform,
        set: (transform) => this.#move(transform),
        side: () => this.#geometry?.side ?? 1,
        most: () => this.#most(),
      },
      signal,
    );
    const hover = (event: PointerEvent) =>
      this.events.hover(this.cellAt(event.clientX, event.clientY));
    this.element.addEventListener("pointermove", hover, { signal });
    this.element.addEventListener("pointerleave", () => this.events.hover(null), { signal });
    this.element.addEventListener(
      "click",
      (event) => {
        const cell = this.cellAt(event.clientX, event.clientY);
        if (cell !== null) this.events.pick(cell);
      },
      { signal },
    );
    signal.addEventListener(
      "abort",
      () => {
        cancelAnimationFrame(this.#frame);
        this.tiles.stop();
      },
      { once: true },
    );
  }
}
