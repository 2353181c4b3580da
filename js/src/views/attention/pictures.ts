/** Heatmap and flow of the selected matrix, on canvas. */

import { createRef } from "preact";
import { penOf, sizeCanvas } from "../../draw/canvas";
import { type Palette, palette } from "../../draw/color/theme";
import { windowOf as inWindow, type Range } from "../../draw/heatmap/axis";
import { CellPainter } from "../../draw/heatmap/cells";
import {
  drawFlow,
  type FlowData,
  type FlowLink,
  flowAt,
  flowHeight,
  linksAbove,
} from "../../draw/heatmap/flow";
import { Heatmap } from "../../draw/heatmap/heatmap";
import { textOf } from "../../draw/heatmap/labels";
import type { Longest } from "../../draw/heatmap/layout";
import type { Cell, Geometry } from "../../draw/heatmap/types";
import { type Matrix, topOf } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";
import { lazyCode } from "../contract";
import { flowWidth, layoutFlow, layoutPictures, type Point, WIDE } from "./layout";
import { type AttentionModel, isEmpty } from "./model";

/** Room of first words next to the flow, and the thickness of its links as of rows so high (px). */
const SENTENCE_STARTS = { rows: 96, columns: 96 } as const;
const NARROW_ROW = 5;

/** Events of the pointer in either picture. */
interface Pointing {
  hover(cell: Cell | null, at?: Point | null): void;
  /** With Ctrl or Cmd a cell joins the group. */
  pick(cell: Cell, gathering?: boolean): void;
}

export class Pictures {
  readonly map: Heatmap;
  /** The box of both. */
  readonly box = createRef<HTMLDivElement>();
  readonly flow = createRef<HTMLCanvasElement>();
  width = 0;
  /** True if the two stand side by side. */
  wide = true;
  #painter = new CellPainter();
  #colors: Palette | null = null;
  #drawn: FlowData | null = null;
  /** The links of the map as they were last asked for: moving the pointer changes none. */
  #above: {
    readonly by: string;
    readonly of: Matrix;
    readonly links: FlowData["links"];
  } | null = null;

  constructor(
    readonly element: HTMLElement,
    readonly model: AttentionModel,
    { hover, pick }: Pointing,
  ) {
    this.map = new Heatmap(
      { hover, pick, placed: () => this.#flowRoom(), drawn: () => this.#mapDrawn() },
      model.context.signal,
    );
  }

  get #palette(): Palette {
    this.#colors ??= palette(this.element);
    return this.#colors;
  }

  /** Draw the matrix of the model, after another one was taken. */
  show(shown: Matrix): void {
    this.map.setHighlights(this.model.highlights(shown));
    this.redraw();
  }

  redraw(): void {
    const { matrix, cells } = this.model;
    const shown = matrix.peek();
    if (shown === null || cells === null) return;
    const widest = (pen: CanvasRenderingContext2D, font: string) => this.model.longest(pen, font);
    this.map.show(this.#painter.map(this.model.mapData(shown, cells), widest));
  }

  #mapDrawn(): void {
    const { matrix, context, zoomed } = this.model;
    zoomed.value = this.map.geometry?.zoomed ?? false;
    this.drawFlow();
    const { queries } = matrix.value ?? {};
    if (queries) lazyCode.peek()?.windows.axes(this.map, context.source.meta, queries);
  }

  /** Another row, pair, group or cursor. */
  mark(): void {
    const shown = this.model.matrix.value;
    if (shown === null) return;
    this.map.highlight(this.model.highlights(shown));
    this.drawFlow();
  }

  layout(width: number): void {
    const room = layoutPictures(width, this.model.context.state.get().height, this.model.narrow);
    this.width = width;
    this.wide = room.wide;
    this.element.classList.toggle("aw-wide", room.wide);
    this.element.classList.toggle("aw-roomy", width >= WIDE);
    this.map.resize(room.width, room.height);
  }

  recolor(): void {
    this.#colors = null;
    this.map.recolor();
  }

  zoom(factor: number | null): void {
    if (factor === null) this.map.resetZoom();
    else this.map.zoomBy(factor);
  }

  #flowGeometry(): Geometry | null {
    return this.map.geometry && layoutFlow(this.map.geometry, this.wide);
  }

  #linksFrom(shown: Matrix, windows: readonly [Range, Range]): FlowData["links"] {
    const threshold = this.model.threshold.value;
    const by = JSON.stringify([threshold, windows]);
    if (this.#above?.by !== by || this.#above.of !== shown) {
      const data = { columns: shown.keys.length, values: shown.weights };
      this.#above = { by, of: shown, links: linksAbove(data, threshold, ...windows) };
    }
    return this.#above.links;
  }

  #flowData(shown: Matrix, { rows, columns, ...g }: Geometry, longest: Longest): FlowData {
    const { model } = this;
    const { scale } = model.context.state.get();
    const threshold = model.threshold.value;
    const [width, height] = [shown.keys.length, shown.queries.length];
    const data = { rows: height, columns: width, marginal: shown.received };
    const links = this.#linksFrom(shown, [
      inWindow(rows, g.top, g.top + g.height),
      inWindow(columns, g.left, g.left + g.width),
    ]);
    // Links of the row in question are drawn, whatever their weight.
    const own = model.highlights(shown).links.flatMap(({ row, column }): FlowLink[] => {
      const weight = itemAt(shown.weights, row * width + column);
      return weight < threshold ? [{ query: row, key: column, weight }] : [];
    });
    return {
      links: own.length === 0 ? links : [...links, ...own],
      leaving: null,
      max: topOf(shown, scale),
      scale,
      text: textOf({ ...data, ...model.axisData() }),
      axes: model.axes,
      longest: model.starts === undefined ? longest : { ...longest, ...SENTENCE_STARTS },
      rowLeast: model.narrow ? NARROW_ROW : 0,
      faint: 0.12,
    };
  }

  /** The width of the flow, where it is drawn; its canvas has that size. */
  #flowRoom(): number | null {
    const { model, width, wide } = this;
    const geometry = this.#flowGeometry();
    const canvas = this.flow.current;
    if (canvas === null || geometry === null || width === 0) return null;
    if (!wide && model.picture.value === "matrix") return null;
    const room = flowWidth(geometry, width, wide);
    sizeCanvas(canvas, room, flowHeight(geometry));
    return room;
  }

  drawFlow(): void {
    const { model } = this;
    const geometry = this.#flowGeometry();
    const [shown, canvas] = [model.matrix.peek(), this.flow.current];
    const room = this.#flowRoom();
    if (shown === null || canvas === null || geometry === null || room === null) return;
    const colors = this.#palette;
    const data = this.#flowData(shown, geometry, model.longest(penOf(canvas), colors.font));
    drawFlow(canvas, room, data, geometry, model.highlights(shown), colors);
    this.#drawn = data;
    model.links.value = this.#above?.links.length ?? 0;
  }

  /** The cell of the flow under the pointer: that of a link, or a label. */
  flowCell({ clientX, clientY }: MouseEvent): Cell | null {
    const box = this.flow.current?.getBoundingClientRect();
    const at = this.#flowGeometry();
    if (!at || !box || this.#drawn === null) return null;
    const [x, y] = [clientX - box.left, clientY - box.top];
    const link = lazyCode.peek()?.linkAt(this.#drawn, at, box.width, x, y);
    return link ?? flowAt(at, box.width, x, y);
  }

  /** The pointer, in the box of both. */
  pointIn({ clientX, clientY }: MouseEvent): Point | null {
    const box = this.box.current?.getBoundingClientRect();
    return box === undefined ? null : { x: clientX - box.left, y: clientY - box.top };
  }

  svg(): SVGSVGElement | null {
    const { model, width, wide } = this;
    const { geometry } = this.map;
    const [shown, cells, canvas] = [model.matrix.value, model.cells, this.flow.current];
    if (shown === null || canvas === null || cells === null || geometry === null || isEmpty(shown))
      return null;
    const colors = this.#palette;
    const links = this.#flowData(shown, geometry, model.longest(penOf(canvas), colors.font));
    const parts = { data: model.mapData(shown, cells), links, geometry };
    const marked = { highlights: model.highlights(shown), units: shown.queries };
    const drawing = { ...parts, ...marked, width, wide };
    return lazyCode.peek()?.attentionVector(drawing, model.context.source.meta, colors) ?? null;
  }
}
