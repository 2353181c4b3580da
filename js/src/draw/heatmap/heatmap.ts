/** A heat map on canvas: a matrix, labels and marginals on two layers, panned and zoomed, cells by pointer or key. */

import { onAbort } from "../../protocol/abort";
import { fitCanvas, penOf, sizeCanvas } from "../canvas";
import { type Palette, palette } from "../color/theme";
import { h } from "../dom";
import { isSecondClick, tapTwice } from "../touch";
import { type Range, windowsOf } from "./axis";
import { paintBoundaries, paintGrid, paintMarginal, paintRest } from "./cells";
import { paintLabels } from "./labels";
import { paintAxisNames, paintMarks } from "./marks";
import { constrain, IDENTITY, panZoom, type Size, type Transform, zoomAt } from "./panzoom";
import type { HeatmapLayout } from "./types";
import { type Cell, type Geometry, type Highlights, type MapData, NO_HIGHLIGHTS } from "./types";

interface HeatmapEvents {
  /** `at`: the pointer of a row's or a column's label, in the element (px). */
  hover(cell: Cell | null, at: { readonly x: number; readonly y: number } | null): void;
  /** A click; `gather` where Ctrl or Cmd was held. */
  pick(cell: Cell, add: boolean): void;
  /** Before every drawing, for the sizes of other canvases. */
  placed?(geometry: Geometry): void;
  /** After every drawing: size, pan or zoom may have changed. */
  drawn(geometry: Geometry): void;
  /** Marks of the owner, next to the cells. */
  marks?(context: CanvasRenderingContext2D, geometry: Geometry, colors: Palette): void;
}

const MAX_ZOOM_CELL = 40;
/** Size of a cell (px) at which it is looked at. */
const NEAR_CELL = 14;

export class Heatmap {
  readonly element: HTMLElement;
  #base = h("canvas", { class: "aw-map-base", "aria-hidden": "true" });
  #over = h("canvas", { class: "aw-map-over", "aria-hidden": "true" });
  /** The plot alone, for pan and zoom. */
  #pane = h("div", { class: "aw-map-pane" });
  #frame = 0;
  #colors: Palette | null = null;
  #geometry: Geometry | null = null;
  #data: MapData | null = null;
  #layout: HeatmapLayout | null = null;
  #room: Size = { width: 0, height: 0 };
  #transform = IDENTITY;
  #highlights = NO_HIGHLIGHTS;

  constructor(
    readonly events: HeatmapEvents,
    signal: AbortSignal,
    classes = "aw-map",
  ) {
    this.element = h(
      "div",
      {
        class: classes,
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

  /** Show `data`; the window of a zoomed map stays while its shape does. */
  show(data: MapData): void {
    const { rows, columns } = this.#data ?? {};
    if (data.rows !== rows || data.columns !== columns) this.#transform = IDENTITY;
    this.#data = data;
    this.draw();
    this.#align();
  }

  /** Change the highlights without drawing: `show` is about to. */
  setHighlights(change: Partial<Highlights>): void {
    this.#highlights = { ...this.#highlights, ...change };
  }

  highlight(change: Partial<Highlights>): void {
    this.setHighlights(change);
    this.#drawOver();
  }

  /** Room for the map (CSS pixels). */
  resize(width: number, height: number): void {
    this.#room = { width, height };
    this.draw();
    this.#align();
  }

  /** Move the layers to whole pixels of a screen of broken ratio: between them the browser would scale, and pale, cells. */
  #align(): void {
    const ratio = window.devicePixelRatio || 1;
    if (Number.isInteger(ratio)) return;
    const { left, top } = this.element.getBoundingClientRect();
    const off = (at: number): string => `${(Math.round(at * ratio) / ratio - at).toFixed(4)}px`;
    for (const layer of [this.#base, this.#over])
      layer.style.translate = `${off(left)} ${off(top)}`;
  }

  /** Colors changed. */
  recolor(): void {
    this.#colors = null;
    this.draw();
  }

  resetZoom(): void {
    this.#move(IDENTITY);
  }

  /** Zoom around the cell under the cursor, else around the focus row. */
  zoomBy(factor: number): void {
    const g = this.#geometry;
    if (g === null) return;
    const { hover, row } = this.#highlights;
    const [x, y] = this.#middleOf(hover ?? { row, column: -1 }, g);
    const inside = (at: number, extent: number): number => Math.max(0, Math.min(extent, at));
    const center = [inside(x, g.width), inside(y, g.height)] as const;
    this.#move(zoomAt(this.#transform, factor, center, g, this.#most()));
  }

  /** Bring a cell into the window of a zoomed map. */
  reveal(cell: Cell): void {
    const g = this.#geometry;
    if (g === null || !g.zoomed) return;
    const into = (at: number, size: number, extent: number): number =>
      at < 0 ? size - at : at > extent ? extent - at - size : 0;
    const [across, down] = this.#middleOf(cell, g);
    this.#pan(into(across, g.columns.size, g.width), into(down, g.rows.size, g.height));
  }

  /** Show these rows and columns, at one zoom for both: of a square, both windows have the width of the wider one. */
  look(rows: Range, columns: Range): void {
    const [g, data] = [this.#geometry, this.#data];
    if (g === null || data === null) return;
    const share = ([from, to]: Range, count: number): number => Math.max(to - from, 1) / count;
    const wide = Math.max(share(rows, data.rows), share(columns, data.columns));
    const k = Math.min(1 / wide, this.#most());
    const start = ([from, to]: Range, extent: number, count: number): number =>
      extent / 2 - ((from + to) / 2) * ((extent * k) / count);
    const x = start(columns, g.width, data.columns);
    const y = start(rows, g.height, data.rows);
    this.#move(constrain({ k, x, y }, g, this.#most()));
  }

  /** Bring a cell into the middle, so near that places have their labels. */
  visit({ row, column }: Cell): void {
    const g = this.#geometry;
    if (g === null) return;
    const window = windowsOf(g);
    const inside = (i: number, [from, to]: Range): boolean => i >= from && i + 1 <= to;
    const near = Math.min(g.rows.size, g.columns.size) >= NEAR_CELL / 3;
    if (near && inside(row, window.rows) && inside(column, window.columns)) return;
    const around = (i: number, [from, to]: Range, extent: number): Range => {
      const half = Math.min(Math.floor(extent / NEAR_CELL), to - from) / 2;
      return [i + 0.5 - half, i + 0.5 + half];
    };
    this.look(around(row, window.rows, g.height), around(column, window.columns, g.width));
  }

  /** Move the window by a share of itself. */
  panBy(across: number, down: number): void {
    const g = this.#geometry;
    if (g !== null) this.#pan(-across * g.width, -down * g.height);
  }

  draw(): void {
    const data = this.#data;
    if (data === null || this.#room.width === 0 || data.rows * data.columns === 0) return;
    this.#colors ??= palette(this.element);
    const colors = this.#colors;
    const layout = data.layout(penOf(this.#base), this.#room, colors.font);
    const g = this.#place(data, layout);
    const { beside, below } = layout;
    const [right, foot] = [g.left + g.width, g.top + g.height + below];
    sizeCanvas(this.#over, right + 1, foot);
    this.events.placed?.(g);
    const context = fitCanvas(this.#base, right + beside + 1, foot);
    context.save();
    context.beginPath();
    context.rect(g.left, g.top, g.width, g.height);
    context.clip();
    data.paint(context, g, colors);
    paintGrid(context, g, colors);
    context.restore();
    paintBoundaries(context, g, data.boundaries, colors);
    paintMarginal(context, g, data, colors);
    if (data.rest !== null) paintRest(context, g, data.rest(g), colors);
    if (data.axes !== null) paintAxisNames(context, g, data.axes, colors);
    this.events.marks?.(context, g, colors);
    this.#drawOver();
    this.events.drawn(g);
  }

  /** The layer of the highlights. */
  #drawOver(): void {
    const [g, data, layout, colors] = [this.#geometry, this.#data, this.#layout, this.#colors];
    if (g === null || data === null || layout === null || colors === null) return;
    const context = fitCanvas(this.#over, g.left + g.width + 1, g.top + g.height + layout.below);
    paintMarks(context, g, this.#highlights, colors);
    paintLabels(context, g, data.text, this.#highlights, colors, layout.upright);
  }

  redraw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.draw());
  }

  /** The cell under a point of the viewport. */
  cellAt(clientX: number, clientY: number): Cell | null {
    const g = this.#geometry;
    if (g === null || this.#data === null) return null;
    const box = this.element.getBoundingClientRect();
    const [x, y] = [clientX - box.left, clientY - box.top];
    const foot = g.top + g.height;
    if (y < 0 || y >= foot + (this.#layout?.below ?? 0) || x >= g.left + g.width || x < 0)
      return null;
    // A bar below the plot is of its column.
    const row = y < g.top || y >= foot ? -1 : Math.floor((y - g.rows.start) / g.rows.size);
    const column = x < g.left ? -1 : Math.floor((x - g.columns.start) / g.columns.size);
    const { rows, columns } = this.#data;
    return row < rows && column < columns && (row >= 0 || column >= 0) ? { row, column } : null;
  }

  /** The box of a cell in the element. */
  boxOf({ row, column }: Cell): { x: number; y: number; width: number; height: number } | null {
    const g = this.#geometry;
    if (g === null) return null;
    const [width, height] = [g.columns.size, g.rows.size];
    const x = g.columns.start + Math.max(column, 0) * width;
    return { x, y: g.rows.start + row * height, width, height };
  }

  #move(transform: Transform): void {
    this.#transform = transform;
    this.redraw();
  }

  #pan(dx: number, dy: number): void {
    const g = this.#geometry;
    if (g === null || (dx === 0 && dy === 0)) return;
    const { k, x, y } = this.#transform;
    this.#move(constrain({ k, x: x + dx, y: y + dy }, g, this.#most()));
  }

  /** The zoom at which the shorter side of a cell has `MAX_ZOOM_CELL` pixels. */
  #most({ width, height }: Size = this.#geometry ?? { width: 1, height: 1 }): number {
    const { rows, columns } = this.#data ?? { rows: 1, columns: 1 };
    return Math.max(1, MAX_ZOOM_CELL * Math.max(columns / width, rows / height));
  }

  /** The middle of a cell in the plot; that of the plot for a row or column of -1. */
  #middleOf({ row, column }: Cell, g: Geometry): [x: number, y: number] {
    const middle = (track: Geometry["rows"], from: number, extent: number, i: number): number =>
      i < 0 ? extent / 2 : track.start - from + (i + 0.5) * track.size;
    return [middle(g.columns, g.left, g.width, column), middle(g.rows, g.top, g.height, row)];
  }

  /** Lay the plot out; the window keeps its cells when its size changes. */
  #place({ rows, columns }: MapData, layout: HeatmapLayout): Geometry {
    const { left, top, width, height, below, beside } = layout;
    this.#layout = layout;
    const before = this.#geometry ?? { width, height };
    if (width !== before.width || height !== before.height) {
      const { k, x, y } = this.#transform;
      const moved = { k, x: x * (width / before.width), y: y * (height / before.height) };
      const size = { width, height };
      this.#transform = constrain(moved, size, this.#most(size));
    }
    const { k, x, y } = this.#transform;
    const zoomed = k > 1;
    Object.assign(this.element.style, {
      width: `${left + width + beside + 1}px`,
      height: `${top + height + below}px`,
    });
    Object.assign(this.#pane.style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${width}px`,
      height: `${height}px`,
      cursor: zoomed ? "grab" : "crosshair",
    });
    this.#geometry = {
      left,
      top,
      width,
      height,
      rows: { start: top + y, size: (height * k) / rows, count: rows },
      columns: { start: left + x, size: (width * k) / columns, count: columns },
      zoomed,
      beside,
    };
    return this.#geometry;
  }

  #listen(signal: AbortSignal): void {
    const { element, events } = this;
    const under = ({ clientX, clientY }: MouseEvent) => this.cellAt(clientX, clientY);
    tapTwice(
      element,
      (event) => {
        const cell = under(event);
        // A label takes one tap.
        return cell && cell.row >= 0 && cell.column >= 0 ? `${cell.row} ${cell.column}` : null;
      },
      signal,
    );
    panZoom(
      this.#pane,
      {
        get: () => this.#transform,
        set: (transform) => this.#move(transform),
        size: () => this.#geometry ?? { width: 1, height: 1 },
        most: () => this.#most(),
      },
      signal,
    );
    element.addEventListener(
      "pointermove",
      (event) => {
        const cell = under(event);
        const box = element.getBoundingClientRect();
        const at = { x: event.clientX - box.left, y: event.clientY - box.top };
        events.hover(cell, cell === null || (cell.row >= 0 && cell.column >= 0) ? null : at);
      },
      { signal },
    );
    element.addEventListener("pointerleave", () => events.hover(null, null), { signal });
    element.addEventListener(
      "click",
      (event) => {
        const cell = under(event);
        if (cell !== null && !isSecondClick(event))
          events.pick(cell, event.ctrlKey || event.metaKey);
      },
      { signal },
    );
    onAbort(signal, () => cancelAnimationFrame(this.#frame));
  }
}
