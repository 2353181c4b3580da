/** A heatmap on canvas: labels that fit, marginals, pan and zoom, cells by pointer or key. */

import { fitCanvas, penOf } from "../canvas";
import { CellPainter, paintBoundaries, paintMarginal, paintRest, sameMask } from "./cells";
import { type Longest, layoutHeatmap } from "./layout";
import { nameFont, paintAxisNames, paintLabels, paintMarks, rowsName } from "./marks";
import { constrain, zoomAt } from "./panzoom";
import { type Cell, type Geometry, GUTTER_PAD, type HeatmapData, type Highlights } from "./types";
import { type PointerEvents, ZoomableMap } from "./zoomable";

export type { Cell, Geometry, HeatmapData, Highlights } from "./types";

interface HeatmapEvents extends PointerEvents {
  /** After every drawing: size, pan or zoom may have changed. */
  drawn(geometry: Geometry): void;
}

/** Width of the longest label when highlighted, in bold. */
export function longestLabel(
  context: CanvasRenderingContext2D,
  labels: readonly string[],
  font: string,
): number {
  context.font = `600 12px ${font}`;
  return labels.reduce((most, label) => Math.max(most, context.measureText(label).width), 0);
}

/** The same of both axes. */
export function longestOf(
  context: CanvasRenderingContext2D,
  { rowLabels, columnLabels, axes }: Pick<HeatmapData, "rowLabels" | "columnLabels" | "axes">,
  font: string,
): Longest {
  context.font = nameFont(font);
  const names = context.measureText(rowsName(axes)).width;
  const rows = longestLabel(context, rowLabels, font);
  const columns = rowLabels === columnLabels ? rows : longestLabel(context, columnLabels, font);
  return { rows, columns, names };
}

export class Heatmap extends ZoomableMap<HeatmapData> {
  #cells = new CellPainter();
  /** Widths of the longest labels (px); null when labels or colors have changed. */
  #longest: Longest | null = null;
  /** Column labels stand on end. */
  #upright = false;

  constructor(
    readonly events: HeatmapEvents,
    signal: AbortSignal,
  ) {
    super("aw-map", events, signal);
  }

  /** Change the highlights without drawing: `show` is about to. */
  setHighlights(highlights: Highlights): void {
    this.highlights = highlights;
  }

  override show(data: HeatmapData): void {
    const before = this.data;
    const sameColors = (["values", "scale", "ramp", "max"] as const).every(
      (key) => data[key] === before?.[key],
    );
    if (!sameColors) this.#cells.forgetCells();
    if (!sameMask(data.allowed, before?.allowed ?? null)) this.#cells.forgetMask();
    if (data.rowLabels !== before?.rowLabels || data.columnLabels !== before.columnLabels)
      this.#longest = null;
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
    this.move(zoomAt(this.transform, factor, center, g, this.most()));
  }

  /** Bring a cell into the window of a zoomed map. */
  reveal(cell: Cell): void {
    const g = this.geometry;
    if (g === null || !g.zoomed) return;
    const into = (at: number, size: number, extent: number): number =>
      at < 0 ? size - at : at > extent ? extent - at - size : 0;
    const [across, down] = this.middleOf(cell, g);
    const [dx, dy] = [into(across, g.columns.size, g.width), into(down, g.rows.size, g.height)];
    if (dx !== 0 || dy !== 0) {
      const { k, x, y } = this.transform;
      this.move(constrain({ k, x: x + dx, y: y + dy }, g, this.most()));
    }
  }

  draw(): void {
    const { data } = this;
    if (data === null || this.width === 0 || data.rows * data.columns === 0) return;
    const { colors } = this;
    this.#longest ??= longestOf(penOf(this.base), data, colors.font);
    const layout = layoutHeatmap(data, this.#longest, { width: this.width, height: this.height });
    const { left, upright, beside } = layout;
    const g = this.place(data, layout);
    const wide = left + g.width + beside + 1;
    const context = fitCanvas(this.base, wide, g.top + g.height + layout.below);
    this.#cells.paint(context, g, data, colors);
    paintBoundaries(context, g, data, colors);
    this.#upright = upright;
    paintMarginal(context, g, data, colors, left - GUTTER_PAD);
    paintRest(context, g, data, colors);
    paintAxisNames(context, g, data.axes, colors);
    this.drawOver();
    this.events.drawn(g);
  }

  protected drawOver(): void {
    const { geometry: g, data, colors, highlights } = this;
    if (g === null || data === null) return;
    const height = Number.parseFloat(this.element.style.height);
    const context = fitCanvas(this.over, g.left + g.width + 1, height);
    paintMarks(context, g, highlights, colors);
    paintLabels(context, g, data, highlights, colors, this.#upright);
  }
}
