/** A square matrix on canvas that is panned and zoomed: two layers, the window on it, cells by pointer. */

import { type Palette, palette } from "../color/theme";
import { h } from "../dom";
import { tapTwice } from "../touch";
import { constrain, IDENTITY, panZoom, type Transform } from "./panzoom";
import { type Cell, type Geometry, type Highlights, NO_HIGHLIGHTS } from "./types";

export interface PointerEvents {
  hover(cell: Cell | null): void;
  /** A click; `gather` where Ctrl or Cmd was held. */
  pick(cell: Cell, gather: boolean): void;
}

/** Where the plot lies in the element, and what stands below it (px). */
interface Frame {
  readonly left: number;
  readonly top: number;
  readonly side: number;
  readonly below: number;
}

const MAX_ZOOM_CELL = 40;

export abstract class ZoomableMap<Data extends { readonly size: number }> {
  readonly element: HTMLElement;
  protected readonly base = h("canvas", { class: "aw-map-base", "aria-hidden": "true" });
  protected readonly over = h("canvas", { class: "aw-map-over", "aria-hidden": "true" });
  /** The plot alone, for pan and zoom. */
  #pane = h("div", { class: "aw-map-pane" });
  #frame = 0;
  #colors: Palette | null = null;
  #geometry: Geometry | null = null;
  protected data: Data | null = null;
  protected width = 0;
  protected height = 0;
  protected transform = IDENTITY;
  protected highlights = NO_HIGHLIGHTS;

  constructor(classes: string, events: PointerEvents, signal: AbortSignal) {
    this.element = h(
      "div",
      {
        class: classes,
        tabindex: 0,
        role: "application",
        "aria-roledescription": "attention matrix",
        "data-aw-part": "heatmap",
      },
      this.base,
      this.over,
      this.#pane,
    );
    this.#listen(events, signal);
  }

  get geometry(): Geometry | null {
    return this.#geometry;
  }

  abstract draw(): void;

  /** Draw the layer of the highlights. */
  protected abstract drawOver(): void;

  /** Show `data`; the window of a zoomed map stays while its size does. */
  show(data: Data): void {
    if (data.size !== this.data?.size) this.transform = IDENTITY;
    this.data = data;
    this.draw();
  }

  highlight(change: Partial<Highlights>): void {
    this.highlights = { ...this.highlights, ...change };
    this.drawOver();
  }

  /** Room for the map (CSS pixels). */
  resize(width: number, height: number): void {
    this.width = width;
    this.height = height;
    this.draw();
  }

  /** Read the colors anew at the next drawing. */
  recolor(): void {
    this.#colors = null;
  }

  resetZoom(): void {
    this.move(IDENTITY);
  }

  redraw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.draw());
  }

  /** The cell under a point of the viewport. */
  cellAt(clientX: number, clientY: number): Cell | null {
    const g = this.#geometry;
    if (g === null || this.data === null) return null;
    const box = this.element.getBoundingClientRect();
    const [x, y] = [clientX - box.left, clientY - box.top];
    if (y < 0 || y >= g.top + g.side || x >= g.left + g.side || x < 0) return null;
    const row = y < g.top ? -1 : Math.floor((y - g.rows.start) / g.rows.size);
    const column = x < g.left ? -1 : Math.floor((x - g.columns.start) / g.columns.size);
    const { size } = this.data;
    return row < size && column < size && (row >= 0 || column >= 0) ? { row, column } : null;
  }

  /** The box of a cell in the element. */
  boxOf({ row, column }: Cell): { x: number; y: number; size: number } | null {
    const g = this.#geometry;
    if (g === null) return null;
    const { size } = g.rows;
    return { x: g.columns.start + Math.max(column, 0) * size, y: g.rows.start + row * size, size };
  }

  /** The name of a place that a finger taps twice; null where one tap clicks. */
  protected tapPlace({ row, column }: Cell): string | null {
    return row < 0 || column < 0 ? null : `${row} ${column}`;
  }

  protected get colors(): Palette {
    this.#colors ??= palette(this.element);
    return this.#colors;
  }

  protected move(transform: Transform): void {
    this.transform = transform;
    this.redraw();
  }

  /** The zoom at which a cell has `MAX_ZOOM_CELL` pixels. */
  protected most(side = this.#geometry?.side ?? 1): number {
    return Math.max(1, (MAX_ZOOM_CELL * (this.data?.size ?? 1)) / side);
  }

  /** The middle of a cell in the plot; that of the plot for a row or column of -1. */
  protected middleOf({ row, column }: Cell, g: Geometry): [x: number, y: number] {
    const middle = (track: Geometry["rows"], from: number, i: number): number =>
      i < 0 ? g.side / 2 : track.start - from + (i + 0.5) * track.size;
    return [middle(g.columns, g.left, column), middle(g.rows, g.top, row)];
  }

  /** Lay the plot out; the window keeps its cells when the side changes. */
  protected place(size: number, { left, top, side, below }: Frame): Geometry {
    const before = this.#geometry?.side ?? side;
    if (side !== before) {
      const { k, x, y } = this.transform;
      const ratio = side / before;
      this.transform = constrain({ k, x: x * ratio, y: y * ratio }, side, this.most(side));
    }
    const { k, x, y } = this.transform;
    const cell = (side * k) / size;
    const zoomed = k > 1;
    const [width, height] = [left + side + 1, top + side + below];
    Object.assign(this.element.style, { width: `${width}px`, height: `${height}px` });
    Object.assign(this.#pane.style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${side}px`,
      height: `${side}px`,
      cursor: zoomed ? "grab" : "crosshair",
    });
    this.#geometry = {
      left,
      top,
      side,
      rows: { start: top + y, size: cell, count: size },
      columns: { start: left + x, size: cell, count: size },
      zoomed,
    };
    return this.#geometry;
  }

  #listen(events: PointerEvents, signal: AbortSignal): void {
    const { element } = this;
    const under = ({ clientX, clientY }: MouseEvent) => this.cellAt(clientX, clientY);
    tapTwice(
      element,
      (event) => {
        const cell = under(event);
        return cell && this.tapPlace(cell);
      },
      signal,
    );
    panZoom(
      this.#pane,
      {
        get: () => this.transform,
        set: (transform) => this.move(transform),
        side: () => this.#geometry?.side ?? 1,
        most: () => this.most(),
      },
      signal,
    );
    element.addEventListener("pointermove", (event) => events.hover(under(event)), { signal });
    element.addEventListener("pointerleave", () => events.hover(null), { signal });
    element.addEventListener(
      "click",
      (event) => {
        const cell = under(event);
        if (cell !== null) events.pick(cell, event.ctrlKey || event.metaKey);
      },
      { signal },
    );
    signal.addEventListener("abort", () => cancelAnimationFrame(this.#frame), { once: true });
  }
}
