/** A heat map of any shape on canvas: labels that fit, cells by pointer or key. */

import { largest } from "../../figures/derive/matrix";
import { fitCanvas } from "../canvas";
import { type Palette, palette } from "../color/theme";
import { consume, h } from "../dom";
import { tapTwice } from "../touch";
import {
  type CellAt,
  type CellsShape,
  cellAt,
  type Geometry,
  labelAt,
  layoutCells,
} from "./layout";
import { type CellsData, longestLabels, paintCells, paintOver } from "./paint";

interface CellsEvents {
  /** The pointer or the keys are on a cell, or on none. */
  point(cell: CellAt | null, byKey: boolean): void;
  pick(cell: CellAt): void;
  /** The label of a row was clicked. */
  row?(row: number): void;
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

  draw(): void {
    const data = this.#data;
    if (data === null || this.#width === 0) return;
    this.#colors ??= palette(this.element);
    const colors = this.#colors;
    const longest = longestLabels(this.#base, data, colors.font);
    const g = layoutCells(data, this.shape, this.#width, longest);
    this.#geometry = g;
    this.element.style.height = `${Math.ceil(g.top + g.height + g.edge)}px`;
    const context = fitCanvas(this.#base, g.left + g.width + g.edge, g.top + g.height + g.edge);
    paintCells(context, data, g, colors);
    this.#drawOver();
  }

  #drawOver(): void {
    const g = this.#geometry;
    const data = this.#data;
    const colors = this.#colors;
    if (g === null || data === null || colors === null) return;
    const context = fitCanvas(this.#over, g.left + g.width + g.edge, g.top + g.height + g.edge);
    paintOver(context, data, g, colors, {
      cursor: this.#cursor,
      pinned: this.#pinned,
      row: this.#row,
    });
  }

  /** Position of an event on the map (px). */
  #placed({ clientX, clientY }: MouseEvent): readonly [x: number, y: number] {
    const { left, top } = this.element.getBoundingClientRect();
    return [clientX - left, clientY - top];
  }

  #at(event: MouseEvent): CellAt | null {
    return this.#geometry && cellAt(this.#geometry, ...this.#placed(event));
  }

  #label(event: MouseEvent): void {
    const row = this.#geometry && labelAt(this.#geometry, ...this.#placed(event));
    if (row !== null) this.events.row?.(row);
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
    const moves: Readonly<Record<string, () => CellAt>> = {
      // The first key only shows where one stands.
      ArrowLeft: () => ({ ...at, column: at.column - (fresh ? 0 : 1) }),
      ArrowRight: () => ({ ...at, column: at.column + (fresh ? 0 : 1) }),
      ArrowUp: () => ({ ...at, row: at.row - (fresh ? 0 : 1) }),
      ArrowDown: () => ({ ...at, row: at.row + (fresh ? 0 : 1) }),
      Home: () => ({ ...at, column: 0 }),
      End: () => ({ ...at, column: data.columns - 1 }),
      m: () => {
        const row = data.values.subarray(at.row * data.columns, (at.row + 1) * data.columns);
        const defined = Float32Array.from(row, (value) => (Number.isNaN(value) ? -1 : value));
        return { ...at, column: largest(defined, 1)[0] ?? at.column };
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
    consume(event);
  }
}
