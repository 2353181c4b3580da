/** A square heatmap on canvas: labels that fit, marginals, pan and zoom, cells by pointer or key. */

import { maxPool } from "../derive/matrix";
import type { Scale } from "../types";
import { giveWay, pickLabels, type Track } from "./axis";
import { fitCanvas, fitText, hatching, heatImage, pixelRatio } from "./canvas";
import { h } from "./dom";
import { constrain, IDENTITY, panZoom, type Transform, zoomAt } from "./panzoom";
import { ramp } from "./ramp";
import { type Palette, palette } from "./theme";

export interface HeatmapData {
  /** Rows and columns. */
  readonly size: number;
  readonly values: Float32Array;
  /** 0 = hatched; null = every cell is possible. */
  readonly allowed: Uint8Array | null;
  readonly max: number;
  readonly scale: Scale;
  readonly labels: readonly string[];
  /** A bar below each column, `[size]`. */
  readonly marginal: Float32Array;
  readonly marginalName: string;
}

export interface Cell {
  readonly row: number;
  /** -1 for a whole row. */
  readonly column: number;
}

/** Where the plot lies in the element and how its window is placed (CSS pixels). */
export interface Geometry {
  readonly left: number;
  readonly top: number;
  readonly side: number;
  readonly rows: Track;
  readonly columns: Track;
  readonly zoomed: boolean;
}

export interface Highlights {
  readonly row: number;
  readonly pair: Cell | null;
  readonly hover: Cell | null;
}

export interface HeatmapEvents {
  hover(cell: Cell | null): void;
  pick(cell: Cell): void;
  /** After every drawing: size, pan or zoom may have changed. */
  drawn(geometry: Geometry): void;
}

const MAX_ZOOM_CELL = 40;
const CELL_MOST = 52;
const LABEL_GAP = 13;
const GUTTER = { rows: 116, columns: 96, least: 44, pad: 8 } as const;
const MARGINAL = { gap: 6, height: 22, foot: 2 } as const;
const GRID_FROM = 10;
const NO_CELL: Highlights = { row: -1, pair: null, hover: null };

/** Width of the longest label when it is lit, in bold. */
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
  #image: { canvas: HTMLCanvasElement; pixels: number; mode: string } | null = null;
  #mask: HTMLCanvasElement | null = null;
  #colors: Palette | null = null;
  #width = 0;
  #height = 0;
  #transform: Transform = IDENTITY;
  #highlights = NO_CELL;
  #geometry: Geometry | null = null;
  #frame = 0;
  /** Width of the longest label (px); null when labels or colours have changed. */
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

  /** Change what is lit without drawing it: `show` is about to. */
  light(highlights: Highlights): void {
    this.#highlights = highlights;
  }

  /** Show `data`; the window of a zoomed map stays while its size does. */
  show(data: HeatmapData): void {
    if (data.size !== this.#data?.size) this.#transform = IDENTITY;
    if (data.values !== this.#data?.values || data.scale !== this.#data.scale) this.#image = null;
    if (data.allowed !== this.#data?.allowed) this.#mask = null;
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

  /** Colours changed. */
  recolor(): void {
    this.#colors = null;
    this.#image = null;
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
    if (y < g.top || y >= g.top + g.side || x >= g.left + g.side || x < 0) return null;
    const row = Math.floor((y - g.rows.start) / g.rows.size);
    const column = x < g.left ? -1 : Math.floor((x - g.columns.start) / g.columns.size);
    const { size } = this.#data;
    return row >= 0 && row < size && column < size ? { row, column } : null;
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
    this.#longest ??= longestLabel(this.#base.getContext("2d")!, data.labels, colors.font);
    const longest = this.#longest;
    const widest = Math.min(GUTTER.rows, Math.max(longest, GUTTER.least));
    const left = Math.ceil(widest) + GUTTER.pad;
    const below = MARGINAL.gap + MARGINAL.height + MARGINAL.foot;
    const roomAcross = this.#width - left - 1;
    const guess = Math.min(roomAcross, this.#height - below - 24, CELL_MOST * size);
    const upright = longest > guess / size - 6;
    const top = Math.ceil(upright ? Math.min(longest, GUTTER.columns) : 14) + GUTTER.pad;
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
    this.#drawCells(context, data, colors);
    this.#upright = upright;
    this.#drawMarginal(context, data, colors);
    this.#drawAxisNames(context, colors);
    this.#drawOver();
    this.events.drawn(this.#geometry);
  }

  #drawCells(context: CanvasRenderingContext2D, data: HeatmapData, colors: Palette): void {
    const g = this.#geometry!;
    const { size, max, scale } = data;
    const pixels = Math.min(size, Math.ceil(g.rows.size * size * pixelRatio()));
    if (this.#image?.pixels !== pixels || this.#image.mode !== colors.mode) {
      const pooled = maxPool(data.values, [size, size], [pixels, pixels]);
      const { words } = ramp("weight", colors.mode);
      this.#image = {
        canvas: heatImage(
          pooled.data,
          pooled.shape[0],
          pooled.shape[1],
          words,
          scale === "unit" ? 1 : max,
          scale === "sqrt",
        ),
        pixels,
        mode: colors.mode,
      };
    }
    context.save();
    context.beginPath();
    context.rect(g.left, g.top, g.side, g.side);
    context.clip();
    context.imageSmoothingEnabled = false;
    const extent = g.rows.size * size;
    context.drawImage(this.#image.canvas, g.columns.start, g.rows.start, extent, extent);
    if (data.allowed !== null) this.#drawMask(context, data, colors, extent);
    if (g.rows.size >= GRID_FROM) {
      context.fillStyle = colors.ground;
      for (let i = 1; i < size; i++) {
        context.fillRect(Math.round(g.columns.start + i * g.rows.size), g.top, 1, g.side);
        context.fillRect(g.left, Math.round(g.rows.start + i * g.rows.size), g.side, 1);
      }
    }
    context.restore();
  }

  #drawMask(
    context: CanvasRenderingContext2D,
    { allowed, size }: HeatmapData,
    colors: Palette,
    extent: number,
  ): void {
    const g = this.#geometry!;
    this.#mask ??= heatImage(
      Float32Array.from(allowed!, (value) => (value === 0 ? 1 : 0)),
      size,
      size,
      Uint32Array.from({ length: 256 }, (_, i) => (i > 0 ? 0xffffffff : 0)),
      1,
      false,
    );
    const ratio = pixelRatio();
    const sheet = document.createElement("canvas");
    sheet.width = Math.round(g.side * ratio);
    sheet.height = sheet.width;
    const pen = sheet.getContext("2d")!;
    pen.scale(ratio, ratio);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.#mask, g.columns.start - g.left, g.rows.start - g.top, extent, extent);
    pen.globalCompositeOperation = "source-in";
    pen.fillStyle = colors.ground;
    pen.fillRect(0, 0, g.side, g.side);
    pen.globalCompositeOperation = "source-atop";
    pen.fillStyle = hatching(pen, colors.muted);
    pen.fillRect(0, 0, g.side, g.side);
    context.drawImage(sheet, g.left, g.top, g.side, g.side);
  }

  /** Labels of both axes; the lit ones in bold, their crowded neighbours give way. */
  #drawLabels(context: CanvasRenderingContext2D, data: HeatmapData, colors: Palette): void {
    const g = this.#geometry!;
    const { row, hover, pair } = this.#highlights;
    const font = Math.max(10, Math.min(12, Math.floor(g.rows.size * 0.8)));
    context.textBaseline = "middle";
    context.direction = "ltr";
    const write = (track: Track, from: number, lit: readonly number[], across: boolean) => {
      const middle = (i: number): number => track.start + (i + 0.5) * track.size;
      const inside = (i: number): boolean =>
        i >= 0 && middle(i) >= from && middle(i) <= from + g.side;
      const strong = [...new Set(lit)].filter(inside);
      const chosen = pickLabels(track, [from, from + g.side], LABEL_GAP, data.marginal);
      for (const i of [...giveWay(chosen, strong, track, LABEL_GAP), ...strong]) {
        const bold = strong.includes(i);
        context.font = `${bold ? "600 " : ""}${font}px ${colors.font}`;
        context.fillStyle = bold ? colors.ink : colors.muted;
        this.#writeLabel(context, data.labels[i]!, middle(i), across);
      }
    };
    write(g.rows, g.top, [row, hover?.row ?? -1, pair?.row ?? -1], true);
    write(g.columns, g.left, [hover?.column ?? -1, pair?.column ?? -1], false);
  }

  #writeLabel(
    context: CanvasRenderingContext2D,
    label: string,
    middle: number,
    across: boolean,
  ): void {
    const g = this.#geometry!;
    const room = (across ? g.left : g.top) - GUTTER.pad;
    if (across) {
      context.textAlign = "right";
      context.fillText(fitText(context, label, room + 1), room + 2, middle);
    } else if (this.#upright) {
      context.save();
      context.translate(middle, room + 2);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(fitText(context, label, room + 1), 0, 0);
      context.restore();
    } else {
      context.textAlign = "center";
      context.fillText(label, middle, room - 4);
    }
  }

  #drawAxisNames(context: CanvasRenderingContext2D, colors: Palette): void {
    const g = this.#geometry!;
    if (g.top < 32) return;
    context.font = `10px ${colors.font}`;
    context.fillStyle = colors.muted;
    context.textAlign = "right";
    context.textBaseline = "alphabetic";
    context.fillText("key →", g.left - GUTTER.pad + 2, g.top - 20);
    context.fillText("query ↓", g.left - GUTTER.pad + 2, g.top - 8);
  }

  #drawMarginal(
    context: CanvasRenderingContext2D,
    { marginal, marginalName, size }: HeatmapData,
    colors: Palette,
  ): void {
    const g = this.#geometry!;
    const foot = g.top + g.side + MARGINAL.gap + MARGINAL.height;
    const most = marginal.reduce((a, b) => Math.max(a, b), 0);
    context.save();
    context.beginPath();
    context.rect(g.left, g.top + g.side, g.side, MARGINAL.gap + MARGINAL.height + 1);
    context.clip();
    context.fillStyle = colors.line;
    context.fillRect(g.left, foot, g.side, 1);
    context.fillStyle = colors.muted;
    const width = g.columns.size;
    for (let j = 0; j < size; j++) {
      const tall = most > 0 ? (marginal[j]! / most) * MARGINAL.height : 0;
      const x = g.columns.start + j * width;
      const inset = width >= GRID_FROM ? 1 : 0;
      context.fillRect(x + inset, foot - tall, Math.max(width - inset, 0.5), tall);
    }
    context.restore();
    context.font = `10px ${colors.font}`;
    context.fillStyle = colors.muted;
    context.textAlign = "right";
    context.textBaseline = "alphabetic";
    context.fillText(marginalName, g.left - GUTTER.pad + 2, foot);
  }

  #drawOver(): void {
    const g = this.#geometry;
    const data = this.#data;
    if (g === null || data === null || this.#colors === null) return;
    const colors = this.#colors;
    const width = g.left + g.side + 1;
    const context = fitCanvas(this.#over, width, Number.parseFloat(this.element.style.height));
    const { row, pair, hover } = this.#highlights;
    const y = (i: number): number => g.rows.start + i * g.rows.size;
    const x = (j: number): number => g.columns.start + j * g.columns.size;
    const size = g.rows.size;
    context.save();
    context.beginPath();
    context.rect(g.left - 1, g.top - 1, g.side + 2, g.side + 2);
    context.clip();
    const band = (at: number, across: boolean) => {
      const thick = Math.max(size, 2);
      if (across) context.strokeRect(g.left - 8, at - 0.5, g.side + 16, thick + 1);
      else context.strokeRect(at - 0.5, g.top - 8, thick + 1, g.side + 16);
    };
    context.lineWidth = 1.5;
    if (row >= 0) {
      context.strokeStyle = colors.ink;
      band(y(row), true);
    }
    if (hover !== null) {
      context.lineWidth = 1;
      context.strokeStyle = colors.muted;
      if (hover.row >= 0) band(y(hover.row), true);
      if (hover.column >= 0) band(x(hover.column), false);
    }
    const box = (cell: Cell, color: string, line: number) => {
      if (cell.column < 0 || cell.row < 0) return;
      const grow = Math.max(0, (6 - size) / 2);
      context.strokeStyle = color;
      context.lineWidth = line;
      context.strokeRect(
        x(cell.column) - grow,
        y(cell.row) - grow,
        size + 2 * grow,
        size + 2 * grow,
      );
    };
    if (hover !== null) box(hover, colors.ink, 1.5);
    if (pair !== null) {
      box(pair, colors.ground, 4);
      box(pair, colors.accent, 2);
    }
    context.restore();
    this.#drawLabels(context, data, colors);
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
        if (cell !== null) this.events.pick(cell);
      },
      { signal },
    );
    signal.addEventListener("abort", () => cancelAnimationFrame(this.#frame), { once: true });
  }
}
