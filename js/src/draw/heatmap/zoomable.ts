/** A matrix on canvas that is panned and zoomed: two layers, the window on it, cells by pointer. */

import { onAbort } from "../../protocol/abort";
import { type Palette, palette } from "../color/theme";
import { h } from "../dom";
import { tapTwice } from "../touch";
import { constrain, IDENTITY, panZoom, type Size, type Transform } from "./panzoom";
import { type Cell, type Extent, type Geometry, type Highlights, NO_HIGHLIGHTS } from "./types";

export interface PointerEvents {
  hover(cell: Cell | null): void;
  /** A click; `gather` where Ctrl or Cmd was held. */
  pick(cell: Cell, add: boolean): void;
}

/** Position of the plot in the element, and what stands below it and to its right (px). */
interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly below: number;
  readonly beside?: number;
}

const MAX_ZOOM_CELL = 40;

export abstract class ZoomableMap<Data extends Extent> {
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

  /** Show `data`; the window of a zoomed map stays while its shape does. */
  show(data: Data): void {
    const { rows, columns } = this.data ?? {};
    if (data.rows !== rows || data.columns !== columns) this.transform = IDENTITY;
    this.data = data;
    this.draw();
    this.#align();
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
    this.#align();
  }

  /** Move the layers to whole pixels of a screen of broken ratio: between them the browser would scale, and pale, cells. */
  #align(): void {
    const ratio = window.devicePixelRatio || 1;
    if (Number.isInteger(ratio)) return;
    const { left, top } = this.element.getBoundingClientRect();
    const off = (at: number): string => `${(Math.round(at * ratio) / ratio - at).toFixed(4)}px`;
    for (const layer of [this.base, this.over]) layer.style.translate = `${off(left)} ${off(top)}`;
  }

  /** Read the colors again at the next drawing. */
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
    if (y < 0 || y >= g.top + g.height || x >= g.left + g.width || x < 0) return null;
    const row = y < g.top ? -1 : Math.floor((y - g.rows.start) / g.rows.size);
    const column = x < g.left ? -1 : Math.floor((x - g.columns.start) / g.columns.size);
    const { rows, columns } = this.data;
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

  /** The zoom at which the shorter side of a cell has `MAX_ZOOM_CELL` pixels. */
  protected most({ width, height }: Size = this.#geometry ?? { width: 1, height: 1 }): number {
    const { rows, columns } = this.data ?? { rows: 1, columns: 1 };
    return Math.max(1, MAX_ZOOM_CELL * Math.max(columns / width, rows / height));
  }

  /** The middle of a cell in the plot; that of the plot for a row or column of -1. */
  protected middleOf({ row, column }: Cell, g: Geometry): [x: number, y: number] {
    const middle = (track: Geometry["rows"], from: number, extent: number, i: number): number =>
      i < 0 ? extent / 2 : track.start - from + (i + 0.5) * track.size;
    return [middle(g.columns, g.left, g.width, column), middle(g.rows, g.top, g.height, row)];
  }

  /** Lay the plot out; the window keeps its cells when its size changes. */
  protected place(
    { rows, columns }: Extent,
    { left, top, width, height, below, beside = 0 }: Frame,
  ): Geometry {
    const before = this.#geometry ?? { width, height };
    if (width !== before.width || height !== before.height) {
      const { k, x, y } = this.transform;
      const moved = { k, x: x * (width / before.width), y: y * (height / before.height) };
      const size = { width, height };
      this.transform = constrain(moved, size, this.most(size));
    }
    const { k, x, y } = this.transform;
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
        size: () => this.#geometry ?? { width: 1, height: 1 },
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
    onAbort(signal, () => cancelAnimationFrame(this.#frame));
  }
}
