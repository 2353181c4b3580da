/** A square heatmap on canvas: labels that fit, marginals, pan and zoom, cells by pointer or key. */

import { fitCanvas, penOf } from "../canvas";
import { type Palette, palette } from "../color/theme";
import { h } from "../dom";
import { tapTwice } from "../touch";
import { CellPainter, paintBoundaries, paintMarginal } from "./cells";
import { paintAxisNames, paintLabels, paintMarks } from "./marks";
import { constrain, IDENTITY, panZoom, type Transform, zoomAt } from "./panzoom";
import {
  type Cell,
  type Geometry,
  GUTTER_PAD,
  type HeatmapData,
  type Highlights,
  MARGINAL,
  NO_HIGHLIGHTS,
} from "./types";

export type { Cell, Geometry, HeatmapData, Highlights } from "./types";

export interface HeatmapEvents {
  hover(cell: Cell | null): void;
  /** A click; `gather` where Ctrl or Cmd was held. */
  pick(cell: Cell, gather: boolean): void;
  /** After every drawing: size, pan or zoom may have changed. */
  drawn(geometry: Geometry): void;
}

const MAX_ZOOM_CELL = 40;
const CELL_MOST = 52;
const GUTTER = { rows: 116, columns: 96, least: 52 } as const;

/** Width of the longest label when highlighted, in bold. */
export function longestLabel(
  context: CanvasRenderingContext2D,
  labels: readonly string[],
  font: string,
): number {
  context.font = `600 12px ${font}`;
  return labels.reduce((most, label) => Math.max(most, context.measureText(label).width), 0);
}

export class Heatmap {
  readonly element: HTMLElement;
  #base = h("canvas", { class: "aw-map-base", "aria-hidden": "true" });
  #over = h("canvas", { class: "aw-map-over", "aria-hidden": "true" });
  /** The plot alone, for pan and zoom. */
  #pane = h("div", { class: "aw-map-pane" });
  #data: HeatmapData | null = null;
  #cells = new CellPainter();
  #colors: Palette | null = null;
  #width = 0;
  #height = 0;
  #transform: Transform = IDENTITY;
  #highlights = NO_HIGHLIGHTS;
  #geometry: Geometry | null = null;
  #frame = 0;
  /** Width of the longest label (px); null when labels or colors have changed. */
  #longest: number | null = null;
  /** Column labels stand on end. */
  #upright = false;

  constructor(
    readonly events: HeatmapEvents,
    signal: AbortSignal,
  ) {
    this.element = h(
      "div",
      {
        class: "aw-map",
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

  /** Change the highlights without drawing: `show` is about to. */
  light(highlights: Highlights): void {
    this.#highlights = highlights;
  }

  /** Show `data`; the window of a zoomed map stays while its size does. */
  show(data: HeatmapData): void {
    if (data.size !== this.#data?.size) this.#transform = IDENTITY;
    const before = this.#data;
    const sameColors = (["values", "scale", "ramp", "max"] as const).every(
      (key) => data[key] === before?.[key],
    );
    if (!sameColors) this.#cells.forgetCells();
    if (data.allowed !== before?.allowed) this.#cells.forgetMask();
    if (data.labels !== this.#data?.labels) this.#longest = null;
    this.#data = data;
    this.draw();
  }

  highlight(change: Partial<Highlights>): void {
    this.#highlights = { ...this.#highlights, ...change };
    this.#drawOver();
  }

  /** Room for the map (CSS pixels). */
  resize(width: number, height: number): void {
    this.#width = width;
    this.#height = height;
    this.draw();
  }

  /** Colors changed. */
  recolor(): void {
    this.#colors = null;
    this.#cells.forgetCells();
    this.draw();
  }

  zoomBy(factor: number): void {
    const { row, column } = this.#highlights.hover ?? { row: this.#highlights.row, column: -1 };
    const geometry = this.#geometry;
    if (geometry === null) return;
    const center: [number, number] = [
      column >= 0
        ? geometry.columns.start - geometry.left + (column + 0.5) * geometry.columns.size
        : geometry.side / 2,
      row >= 0
        ? geometry.rows.start - geometry.top + (row + 0.5) * geometry.rows.size
        : geometry.side / 2,
    ];
    this.#move(zoomAt(this.#transform, factor, center, geometry.side, this.#most()));
  }

  resetZoom(): void {
    this.#move(IDENTITY);
  }

  /** Bring a cell into the window of a zoomed map. */
  reveal({ row, column }: Cell): void {
    const g = this.#geometry;
    if (g === null || !g.zoomed) return;
    const x = g.columns.start - g.left + (column + 0.5) * g.columns.size;
    const y = g.rows.start - g.top + (row + 0.5) * g.rows.size;
    const shift = (value: number): number =>
      value < 0 ? -value + g.rows.size : value > g.side ? g.side - value - g.rows.size : 0;
    const [dx, dy] = [column < 0 ? 0 : shift(x), shift(y)];
    if (dx !== 0 || dy !== 0) {
      const { k, x: left, y: top } = this.#transform;
      this.#move(constrain({ k, x: left + dx, y: top + dy }, g.side, this.#most()));
    }
  }

  /** The cell under a point of the viewport. */
  cellAt(clientX: number, clientY: number): Cell | null {
    const g = this.#geometry;
    if (g === null || this.#data === null) return null;
    const box = this.element.getBoundingClientRect();
    const [x, y] = [clientX - box.left, clientY - box.top];
    if (y < 0 || y >= g.top + g.side || x >= g.left + g.side || x < 0) return null;
    const row = y < g.top ? -1 : Math.floor((y - g.rows.start) / g.rows.size);
    const column = x < g.left ? -1 : Math.floor((x - g.columns.start) / g.columns.size);
    const { size } = this.#data;
    return row < size && column < size && (row >= 0 || column >= 0) ? { row, column } : null;
  }

  /** The box of a cell in the element. */
  boxOf({ row, column }: Cell): { x: number; y: number; size: number } | null {
    const g = this.#geometry;
    if (g === null) return null;
    return {
      x: g.columns.start + Math.max(column, 0) * g.columns.size,
      y: g.rows.start + row * g.rows.size,
      size: g.rows.size,
    };
  }

  draw(): void {
    const data = this.#data;
    if (data === null || this.#width === 0 || data.size === 0) return;
    this.#colors ??= palette(this.element);
    const colors = this.#colors;
    const { size } = data;
    this.#longest ??= longestLabel(penOf(this.#base), data.labels, colors.font);
    const longest = this.#longest;
    const widest = Math.min(GUTTER.rows, Math.max(longest, GUTTER.least));
    const left = Math.ceil(widest) + GUTTER_PAD;
    const below = MARGINAL.gap + MARGINAL.height + MARGINAL.foot;
    const roomAcross = this.#width - left - 1;
    const guess = Math.min(roomAcross, this.#height - below - 24, CELL_MOST * size);
    const upright = longest > guess / size - 6;
    const top = Math.ceil(upright ? Math.min(longest, GUTTER.columns) : 14) + GUTTER_PAD;
    const side = Math.max(
      64,
      Math.floor(Math.min(roomAcross, this.#height - below - top, CELL_MOST * size)),
    );
    const before = this.#geometry?.side ?? side;
    if (side !== before) {
      const { k, x, y } = this.#transform;
      const ratio = side / before;
      const most = (MAX_ZOOM_CELL * size) / side;
      this.#transform = constrain({ k, x: x * ratio, y: y * ratio }, side, most);
    }
    const { k, x, y } = this.#transform;
    const cell = (side * k) / size;
    this.#geometry = {
      left,
      top,
      side,
      rows: { start: top + y, size: cell, count: size },
      columns: { start: left + x, size: cell, count: size },
      zoomed: k > 1,
    };
    const height = top + side + below;
    this.element.style.height = `${height}px`;
    this.element.style.width = `${left + side + 1}px`;
    Object.assign(this.#pane.style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${side}px`,
      height: `${side}px`,
      cursor: k > 1 ? "grab" : "crosshair",
    });
    const context = fitCanvas(this.#base, left + side + 1, height);
    fitCanvas(this.#over, left + side + 1, height);
    this.#cells.paint(context, this.#geometry, data, colors);
    paintBoundaries(context, this.#geometry, data, colors);
    this.#upright = upright;
    paintMarginal(context, this.#geometry, data, colors, left - GUTTER_PAD);
    paintAxisNames(context, this.#geometry, colors);
    this.#drawOver();
    this.events.drawn(this.#geometry);
  }

  #drawOver(): void {
    const g = this.#geometry;
    const data = this.#data;
    if (g === null || data === null || this.#colors === null) return;
    const colors = this.#colors;
    const width = g.left + g.side + 1;
    const context = fitCanvas(this.#over, width, Number.parseFloat(this.element.style.height));
    paintMarks(context, g, this.#highlights, colors);
    paintLabels(context, g, data, this.#highlights, colors, this.#upright);
  }

  /** The zoom at which a cell has `MAX_ZOOM_CELL` pixels. */
  #most(): number {
    return (MAX_ZOOM_CELL * (this.#data?.size ?? 1)) / (this.#geometry?.side ?? 1);
  }

  #move(transform: Transform): void {
    this.#transform = transform;
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.draw());
  }

  #listen(signal: AbortSignal): void {
    tapTwice(
      this.element,
      ({ clientX, clientY }) => {
        const cell = this.cellAt(clientX, clientY);
        return cell === null || cell.row < 0 || cell.column < 0
          ? null
          : `${cell.row} ${cell.column}`;
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
    this.element.addEventListener(
      "pointermove",
      (event) => this.events.hover(this.cellAt(event.clientX, event.clientY)),
      { signal },
    );
    this.element.addEventListener("pointerleave", () => this.events.hover(null), { signal });
    this.element.addEventListener(
      "click",
      (event) => {
        const cell = this.cellAt(event.clientX, event.clientY);
        if (cell !== null) this.events.pick(cell, event.ctrlKey || event.metaKey);
      },
      { signal },
    );
    signal.addEventListener("abort", () => cancelAnimationFrame(this.#frame), { once: true });
  }
}
