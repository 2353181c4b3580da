/** A heat map of any shape on canvas: labels that fit, cells by pointer or key. */

import { largest, maxPool } from "../figures/derive/matrix";
import type { Scale } from "../state/selection";
import { fitCanvas, fitText, hatching, heatImage, penOf, pixelRatio } from "./canvas";
import { type Mode, ramp } from "./color/ramp";
import { type Palette, palette } from "./color/theme";
import { h } from "./dom";
import { giveWay, pickLabels, type Track } from "./heatmap/axis";
import { tapTwice } from "./touch";

export interface CellsData {
  readonly rows: number;
  readonly columns: number;
  /** `[rows, columns]`; NaN = impossible, hatched. */
  readonly values: Float32Array;
  /** Where the ramp ends. */
  readonly top: number;
  readonly scale: Scale;
  /** From `-top` to `top` around a true zero, whatever the scale. */
  readonly signed?: boolean;
  readonly rowLabels: readonly string[];
  readonly columnLabels: readonly string[];
}

export interface CellAt {
  readonly row: number;
  readonly column: number;
}

export interface CellsEvents {
  /** The pointer or the keys are on a cell, or on none. */
  point(cell: CellAt | null, byKey: boolean): void;
  pick(cell: CellAt): void;
  /** The label of a row was clicked. */
  row?(row: number): void;
}

export interface CellsShape {
  /** Height of a row (px); null: cells are square. */
  readonly rowHeight: number | null;
  /** Largest side of a cell and of the whole map (px). */
  readonly cellMost: number;
  readonly heightMost: number;
}

const FONT = 11;
const LABEL_GAP = 13;
const GUTTER = { row: 112, column: 92, least: 20, pad: 8 } as const;
/** From this size on cells stand apart (px). */
const APART_FROM = 8;

interface Geometry {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly rows: Track;
  readonly columns: Track;
  readonly upright: boolean;
}

export class CellMap {
  readonly element: HTMLElement;
  #base = h("canvas", { class: "aw-cells-base", "aria-hidden": "true" });
  #over = h("canvas", { class: "aw-cells-over", "aria-hidden": "true" });
  #data: CellsData | null = null;
  #colors: Palette | null = null;
  #geometry: Geometry | null = null;
  #width = 0;
  #cursor: CellAt | null = null;
  #pinned: CellAt | null = null;
  #row = -1;

  constructor(
    readonly shape: CellsShape,
    readonly events: CellsEvents,
    part: string,
    signal: AbortSignal,
  ) {
    this.element = h(
      "div",
      {
        class: "aw-cells",
        tabindex: 0,
        role: "application",
        "aria-roledescription": "heat map",
        "data-aw-part": part,
      },
      this.#base,
      this.#over,
    );
    this.#listen(signal);
  }

  show(data: CellsData, name: string): void {
    const { rows, columns } = data;
    const inside = (cell: CellAt | null): boolean =>
      cell !== null && cell.row < rows && cell.column < columns;
    if (!inside(this.#cursor)) this.#cursor = null;
    this.#data = data;
    this.element.setAttribute(
      "aria-label",
      `${name}, ${rows} by ${columns}. Arrow keys move over cells, m finds the strongest of the row, Enter takes one.`,
    );
    this.draw();
  }

  /** Room for the map (px). */
  resize(width: number): void {
    this.#width = width;
    this.draw();
  }

  /** A cell that is pinned and a row that is chosen. */
  mark(pinned: CellAt | null, row = -1): void {
    this.#pinned = pinned;
    this.#row = row;
    this.#drawOver();
  }

  recolor(): void {
    this.#colors = null;
    this.draw();
  }

  #layout(data: CellsData, font: string): Geometry {
    const pen = penOf(this.#base);
    pen.font = `600 ${FONT}px ${font}`;
    const longest = (labels: readonly string[]): number =>
      labels.reduce((most, label) => Math.max(most, pen.measureText(label).width), 0);
    const { cellMost, heightMost, rowHeight } = this.shape;
    const left = Math.ceil(Math.min(GUTTER.row, longest(data.rowLabels)) + GUTTER.pad);
    const room = Math.max(this.#width - left - 1, 1);
    const side = rowHeight === null ? heightMost / Math.max(data.rows, 1) : Infinity;
    let size = Math.min(cellMost, room / Math.max(data.columns, 1), side);
    // Whole pixels while there are enough: cells of one size.
    if (size >= 4) size = Math.floor(size);
    const widest = longest(data.columnLabels);
    const upright = widest > size - 2;
    const top = upright ? Math.ceil(Math.min(GUTTER.column, widest) + GUTTER.pad) : GUTTER.least;
    const tall = rowHeight ?? size;
    return {
      left,
      top,
      width: size * data.columns,
      height: tall * data.rows,
      rows: { start: top, size: tall, count: data.rows },
      columns: { start: left, size, count: data.columns },
      upright,
    };
  }

  draw(): void {
    const data = this.#data;
    if (data === null || this.#width === 0) return;
    this.#colors ??= palette(this.element);
    const colors = this.#colors;
    const g = this.#layout(data, colors.font);
    this.#geometry = g;
    this.element.style.height = `${Math.ceil(g.top + g.height + 1)}px`;
    const context = fitCanvas(this.#base, g.left + g.width + 1, g.top + g.height + 1);
    this.#drawCells(context, data, g, colors.mode, colors);
    this.#drawOver();
  }

  #drawCells(
    context: CanvasRenderingContext2D,
    { values, rows, columns, top, scale, signed = false }: CellsData,
    g: Geometry,
    mode: Mode,
    colors: Palette,
  ): void {
    const ratio = pixelRatio();
    const pooled = maxPool(
      values,
      [rows, columns],
      [Math.max(1, Math.round(g.height * ratio)), Math.max(1, Math.round(g.width * ratio))],
    );
    const image = heatImage(
      pooled.data,
      pooled.shape[0],
      pooled.shape[1],
      ramp(signed ? "signed" : "weight", mode).words,
      signed
        ? { top, root: false, signed }
        : { top: scale === "unit" ? 1 : top, root: scale === "sqrt", signed },
    );
    context.imageSmoothingEnabled = false;
    context.drawImage(image, g.left, g.top, g.width, g.height);
    this.#hatch(context, values, g, colors);
    context.fillStyle = colors.ground;
    if (g.columns.size >= APART_FROM) {
      for (let j = 1; j < columns; j++) {
        context.fillRect(g.left + j * g.columns.size, g.top, 1, g.height);
      }
    }
    if (g.rows.size >= APART_FROM) {
      for (let i = 1; i < rows; i++) {
        context.fillRect(g.left, g.top + i * g.rows.size, g.width, 1);
      }
    }
    context.strokeStyle = colors.line;
    context.strokeRect(g.left - 0.5, g.top - 0.5, g.width + 1, g.height + 1);
  }

  /** Impossible cells, run by run. */
  #hatch(
    context: CanvasRenderingContext2D,
    values: Float32Array,
    { left, top, rows, columns }: Geometry,
    colors: Palette,
  ): void {
    if (!values.some(Number.isNaN)) return;
    const pattern = hatching(context, colors.muted);
    for (let i = 0; i < rows.count; i++) {
      const impossible = (j: number): boolean =>
        j < columns.count && Number.isNaN(values[i * columns.count + j]);
      for (let j = 0; j < columns.count; j++) {
        if (!impossible(j)) continue;
        const first = j;
        while (impossible(j)) j++;
        for (const fill of [colors.ground, pattern]) {
          context.fillStyle = fill;
          context.fillRect(
            left + first * columns.size,
            top + i * rows.size,
            (j - first) * columns.size,
            rows.size,
          );
        }
      }
    }
  }

  #drawOver(): void {
    const g = this.#geometry;
    const data = this.#data;
    const colors = this.#colors;
    if (g === null || data === null || colors === null) return;
    const context = fitCanvas(this.#over, g.left + g.width + 1, g.top + g.height + 1);
    const box = ({ row, column }: CellAt, color: string, line: number): void => {
      const grow = Math.max(0, (6 - g.columns.size) / 2);
      context.strokeStyle = color;
      context.lineWidth = line;
      context.strokeRect(
        g.left + column * g.columns.size - grow,
        g.top + row * g.rows.size - Math.max(0, (6 - g.rows.size) / 2),
        g.columns.size + 2 * grow,
        Math.max(g.rows.size, 6),
      );
    };
    if (this.#row >= 0) {
      context.strokeStyle = colors.ink;
      context.lineWidth = 1.5;
      context.strokeRect(g.left, g.top + this.#row * g.rows.size, g.width, g.rows.size);
    }
    if (this.#cursor !== null) {
      box(this.#cursor, colors.ground, 3);
      box(this.#cursor, colors.ink, 1.5);
    }
    if (this.#pinned !== null) {
      box(this.#pinned, colors.ground, 4);
      box(this.#pinned, colors.accent, 2);
    }
    this.#drawLabels(context, data, g, colors);
  }

  #drawLabels(
    context: CanvasRenderingContext2D,
    { values, rows, columns, rowLabels, columnLabels }: CellsData,
    g: Geometry,
    colors: Palette,
  ): void {
    context.textBaseline = "middle";
    context.direction = "ltr";
    // Where not all labels fit, the strongest rows and columns have theirs.
    const strongest = (count: number, at: (i: number, k: number) => number, across: number) =>
      Float32Array.from({ length: count }, (_, i) => {
        let most = 0;
        for (let k = 0; k < across; k++) most = Math.max(most, Math.abs(values[at(i, k)]) || 0);
        return most;
      });
    const write = (
      track: Track,
      extent: number,
      priority: Float32Array,
      lit: readonly number[],
      put: (i: number, middle: number) => void,
    ): void => {
      const strong = [...new Set(lit)].filter((i) => i >= 0);
      const chosen = pickLabels(track, [track.start, track.start + extent], LABEL_GAP, priority);
      for (const i of [...giveWay(chosen, strong, track, LABEL_GAP), ...strong]) {
        const bold = strong.includes(i);
        context.font = `${bold ? "600 " : ""}${FONT}px ${colors.font}`;
        context.fillStyle = bold ? colors.ink : colors.muted;
        put(i, track.start + (i + 0.5) * track.size);
      }
    };
    const cells = [this.#cursor, this.#pinned].filter((cell) => cell !== null);
    write(
      g.rows,
      g.height,
      strongest(rows, (i, k) => i * columns + k, columns),
      [...cells.map(({ row }) => row), this.#row],
      (i, middle) => {
        context.textAlign = "right";
        const room = g.left - GUTTER.pad;
        context.fillText(fitText(context, rowLabels[i], room + 1), room + 2, middle);
      },
    );
    write(
      g.columns,
      g.width,
      strongest(columns, (j, k) => k * columns + j, rows),
      cells.map(({ column }) => column),
      (j, middle) => {
        if (!g.upright) {
          context.textAlign = "center";
          context.fillText(columnLabels[j], middle, g.top - 10);
          return;
        }
        context.save();
        context.translate(middle, g.top - 6);
        context.rotate(-Math.PI / 2);
        context.textAlign = "left";
        context.fillText(fitText(context, columnLabels[j], g.top - GUTTER.pad + 1), 0, 0);
        context.restore();
      },
    );
  }

  #at(event: MouseEvent): CellAt | null {
    const g = this.#geometry;
    if (g === null) return null;
    const frame = this.element.getBoundingClientRect();
    const row = Math.floor((event.clientY - frame.top - g.rows.start) / g.rows.size);
    const column = Math.floor((event.clientX - frame.left - g.columns.start) / g.columns.size);
    const inside = row >= 0 && row < g.rows.count && column >= 0 && column < g.columns.count;
    return inside ? { row, column } : null;
  }

  #label(event: MouseEvent): void {
    const g = this.#geometry;
    if (g === null) return;
    const frame = this.element.getBoundingClientRect();
    const row = Math.floor((event.clientY - frame.top - g.rows.start) / g.rows.size);
    const inside = row >= 0 && row < g.rows.count && event.clientX - frame.left < g.left;
    if (inside) this.events.row?.(row);
  }

  #point(cell: CellAt | null, byKey: boolean): void {
    if (cell?.row === this.#cursor?.row && cell?.column === this.#cursor?.column) return;
    this.#cursor = cell;
    this.#drawOver();
    this.events.point(cell, byKey);
  }

  #listen(signal: AbortSignal): void {
    const { element } = this;
    const placeOf = (event: MouseEvent): string | null => {
      const cell = this.#at(event);
      return cell && `${cell.row} ${cell.column}`;
    };
    tapTwice(element, placeOf, signal);
    element.addEventListener("pointermove", (event) => this.#point(this.#at(event), false), {
      signal,
    });
    element.addEventListener("pointerleave", () => this.#point(null, false), { signal });
    element.addEventListener(
      "click",
      (event) => {
        const cell = this.#at(event);
        if (cell !== null) this.events.pick(cell);
        else this.#label(event);
      },
      { signal },
    );
    element.addEventListener("blur", () => this.#point(null, true), { signal });
    element.addEventListener("keydown", (event) => this.#key(event), { signal });
  }

  #key(event: KeyboardEvent): void {
    const data = this.#data;
    if (data === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const fresh = this.#cursor === null;
    const at = this.#cursor ?? this.#pinned ?? { row: Math.max(this.#row, 0), column: 0 };
    const moves: Record<string, () => CellAt> = {
      // The first key only shows where one stands.
      ArrowLeft: () => ({ ...at, column: at.column - (fresh ? 0 : 1) }),
      ArrowRight: () => ({ ...at, column: at.column + (fresh ? 0 : 1) }),
      ArrowUp: () => ({ ...at, row: at.row - (fresh ? 0 : 1) }),
      ArrowDown: () => ({ ...at, row: at.row + (fresh ? 0 : 1) }),
      Home: () => ({ ...at, column: 0 }),
      End: () => ({ ...at, column: data.columns - 1 }),
      m: () => {
        const row = data.values.subarray(at.row * data.columns, (at.row + 1) * data.columns);
        const known = Float32Array.from(row, (value) => (Number.isNaN(value) ? -1 : value));
        return { ...at, column: largest(known, 1)[0] };
      },
    };
    const move = moves[event.key];
    if (move !== undefined) {
      const { row, column } = move();
      this.#point(
        {
          row: Math.min(Math.max(row, 0), data.rows - 1),
          column: Math.min(Math.max(column, 0), data.columns - 1),
        },
        true,
      );
    } else if (event.key === "Enter" || event.key === " ") this.events.pick(at);
    else if (event.key === "Escape" && !fresh) this.#point(null, true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
