/** A square heatmap on canvas: labels that fit, marginals, pan and zoom, cells by pointer or key. */

import { fitCanvas, penOf } from "../canvas";
import { CellPainter, paintBoundaries, paintMarginal } from "./cells";
import { paintAxisNames, paintLabels, paintMarks } from "./marks";
import { constrain, zoomAt } from "./panzoom";
import {
  type Cell,
  type Geometry,
  GUTTER_PAD,
  type HeatmapData,
  type Highlights,
  MARGINAL,
} from "./types";
import { type PointerEvents, ZoomableMap } from "./zoomable";

export type { Cell, Geometry, HeatmapData, Highlights } from "./types";

export interface HeatmapEvents extends PointerEvents {
  /** After every drawing: size, pan or zoom may have changed. */
  drawn(geometry: Geometry): void;
}

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

export class Heatmap extends ZoomableMap<HeatmapData> {
  #cells = new CellPainter();
  /** Width of the longest label (px); null when labels or colors have changed. */
  #longest: number | null = null;
  /** Column labels stand on end. */
  #upright = false;

  constructor(
    readonly events: HeatmapEvents,
    signal: AbortSignal,
  ) {
    super("aw-map", events, signal);
  }

  /** Change the highlights without drawing: `show` is about to. */
  light(highlights: Highlights): void {
    this.highlights = highlights;
  }

  override show(data: HeatmapData): void {
    const before = this.data;
    const sameColors = (["values", "scale", "ramp", "max"] as const).every(
      (key) => data[key] === before?.[key],
    );
    if (!sameColors) this.#cells.forgetCells();
    if (data.allowed !== before?.allowed) this.#cells.forgetMask();
    if (data.labels !== before?.labels) this.#longest = null;
    super.show(data);
  }

  /** Colors changed. */
  override recolor(): void {
    super.recolor();
    this.#cells.forgetCells();
    this.draw();
  }

  zoomBy(factor: number): void {
    const g = this.geometry;
    if (g === null) return;
    const around = this.highlights.hover ?? { row: this.highlights.row, column: -1 };
    const center = this.middleOf(around, g);
    this.move(zoomAt(this.transform, factor, center, g.side, this.most()));
  }

  /** Bring a cell into the window of a zoomed map. */
  reveal(cell: Cell): void {
    const g = this.geometry;
    if (g === null || !g.zoomed) return;
    const size = g.rows.size;
    const [dx, dy] = this.middleOf(cell, g).map((at) =>
      at < 0 ? size - at : at > g.side ? g.side - at - size : 0,
    ) as [number, number];
    if (dx !== 0 || dy !== 0) {
      const { k, x, y } = this.transform;
      this.move(constrain({ k, x: x + dx, y: y + dy }, g.side, this.most()));
    }
  }

  draw(): void {
    const { data } = this;
    if (data === null || this.width === 0 || data.size === 0) return;
    const { colors } = this;
    const { size } = data;
    this.#longest ??= longestLabel(penOf(this.base), data.labels, colors.font);
    const longest = this.#longest;
    const widest = Math.min(GUTTER.rows, Math.max(longest, GUTTER.least));
    const left = Math.ceil(widest) + GUTTER_PAD;
    const below = MARGINAL.gap + MARGINAL.height + MARGINAL.foot;
    const roomAcross = this.width - left - 1;
    const guess = Math.min(roomAcross, this.height - below - 24, CELL_MOST * size);
    const upright = longest > guess / size - 6;
    const top = Math.ceil(upright ? Math.min(longest, GUTTER.columns) : 14) + GUTTER_PAD;
    const side = Math.max(
      64,
      Math.floor(Math.min(roomAcross, this.height - below - top, CELL_MOST * size)),
    );
    const g = this.place(size, { left, top, side, below });
    const context = fitCanvas(this.base, left + side + 1, top + side + below);
    this.#cells.paint(context, g, data, colors);
    paintBoundaries(context, g, data, colors);
    this.#upright = upright;
    paintMarginal(context, g, data, colors, left - GUTTER_PAD);
    paintAxisNames(context, g, colors);
    this.drawOver();
    this.events.drawn(g);
  }

  protected drawOver(): void {
    const { geometry: g, data, colors, highlights } = this;
    if (g === null || data === null) return;
    const height = Number.parseFloat(this.element.style.height);
    const context = fitCanvas(this.over, g.left + g.side + 1, height);
    paintMarks(context, g, highlights, colors);
    paintLabels(context, g, data, highlights, colors, this.#upright);
  }
}
