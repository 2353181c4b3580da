/** The matrix of sentences: texts next to the rows, numbers on the cells, one stop for Tab. */

import { ramp } from "../../draw/color/ramp";
import { rampIndex } from "../../draw/color/scale";
import { modeOf } from "../../draw/color/theme";
import { consume, h, setAttributes, step } from "../../draw/dom";
import { whenNear } from "../../draw/near";
import { scrollAcross, scrollDown } from "../../draw/scroll";
import { exact, formatNumber, visible } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import { type SentenceMatrix, strongestOther } from "./data";
import { describeCell, paintCell } from "./grid-cell";
import { type Columns, columnsInSight, fitCells } from "./grid-columns";
import { gridHead, headCell } from "./grid-head";
import { layoutGrid } from "./grid-layout";

export interface Place {
  readonly a: number;
  readonly b: number;
}

export interface GridEvents {
  /** The reader stands on a cell, or points at one (null: no longer). */
  stand(place: Place): void;
  point(place: Place | null): void;
  open(place: Place): void;
  escape(): boolean;
}

/** Up to this many sentences all cells are in the page: 3,600 of them. */
const WHOLE_MOST = 60;
/** Rows this far (px) from what is in sight have their cells. */
const NEAR_PX = 120;

const SEGMENTS = ["A", "B"];

export const sentenceName = (index: number): string => `S${index}`;

/** A sentence on one line: its line breaks are of no use in a label. */
export const oneLine = (text: string): string => visible(text.replace(/\s+/g, " ").trim());

export class SentenceGrid {
  readonly element = h("div", {
    class: "aw-isa",
    role: "grid",
    "data-aw-part": "sentence-matrix",
  });
  #matrix: SentenceMatrix | null = null;
  #built: readonly string[] | null = null;
  /** By row times size plus column; where there are many sentences only those near what is in sight. */
  readonly #cells = new Map<number, HTMLElement>();
  /** Rows that have cells, and columns that have. */
  readonly #filled = new Set<number>();
  #columns: Columns = [0, 0];
  #near: IntersectionObserver | null = null;
  #rows: HTMLElement[] = [];
  #outside: { share: HTMLElement; sum: HTMLElement }[] = [];
  #place: Place = { a: 0, b: 0 };
  #opened: Place | null = null;
  #pinned: Place | null = null;
  #marked: HTMLElement[] = [];
  #printed = true;
  #scale: Scale = "head";
  #width = 0;
  #label = 0;
  #cellWidth = 0;

  constructor(
    readonly events: GridEvents,
    readonly paired: boolean,
    signal: AbortSignal,
  ) {
    this.#listen(signal);
  }

  get place(): Place {
    return this.#place;
  }

  show(matrix: SentenceMatrix, scale: Scale): void {
    const key = matrix.texts;
    const mass = matrix.elsewhere !== null;
    const rebuilt =
      this.#matrix === null ||
      this.#built?.length !== key.length ||
      (this.#matrix.elsewhere !== null) !== mass ||
      (this.#matrix.asked.quantity === null) !== (matrix.asked.quantity === null) ||
      key.some((text, i) => text !== this.#built?.[i]);
    this.#matrix = matrix;
    if (rebuilt) this.#build(matrix);
    this.#fit();
    this.paint(scale);
  }

  #build(matrix: SentenceMatrix): void {
    const { size, texts, elsewhere } = matrix;
    const hadFocus = this.element.contains(document.activeElement);
    this.#built = texts;
    this.#cells.clear();
    this.#filled.clear();
    this.#marked = [];
    this.#outside = [];
    const name = this.#name;
    const head = gridHead(matrix, name);
    this.#columns = [0, size];
    this.#near?.disconnect();
    this.#near =
      size > WHOLE_MOST
        ? whenNear(
            this.element,
            NEAR_PX,
            (row) => this.#ensure(Number(row.dataset.a)),
            (row) => this.#empty(Number(row.dataset.a)),
          )
        : null;
    this.#rows = texts.map((text, a) => {
      const outside: HTMLElement[] = [];
      if (elsewhere !== null) {
        const share = h("div", { role: "gridcell", class: "aw-isa-outside" });
        const sum = h("div", { role: "gridcell", class: "aw-isa-sum" });
        this.#outside.push({ share, sum });
        outside.push(share, sum);
      }
      return h(
        "div",
        { role: "row", class: "aw-isa-row", "data-a": a },
        h(
          "div",
          { role: "rowheader", class: "aw-isa-label", title: text },
          name(a),
          h("bdi", { class: "aw-isa-text", dir: "auto" }, oneLine(text)),
        ),
        ...outside,
      );
    });
    setAttributes(this.element, {
      "aria-label": "Attention between sentences: rows are queries, columns are keys",
      "aria-rowcount": size + 1,
      "aria-colcount": size + 1 + (elsewhere === null ? 0 : 2),
    });
    this.element.replaceChildren(head, ...this.#rows);
    if (this.#near === null) for (let a = 0; a < size; a++) this.#fill(a);
    for (const row of this.#rows) this.#near?.observe(row);
    const last = Math.max(0, size - 1);
    this.#place = { a: Math.min(this.#place.a, last), b: Math.min(this.#place.b, last) };
    if (hadFocus) this.#cell(this.#place)?.focus({ preventScroll: true });
  }

  /** Give a row the cells of the columns in sight, and the one that one stands on. */
  #fill(a: number): void {
    this.#filled.add(a);
    this.#fitRow(a, this.#columns, a === this.#place.a ? this.#place.b : -1);
  }

  #fitRow(a: number, columns: Columns, also = -1): void {
    const size = this.#matrix?.size ?? 0;
    const row = this.#rows[a];
    if (row === undefined) return;
    const make = (b: number): HTMLElement => {
      const how = { role: "gridcell", class: "aw-isa-cell", tabindex: -1 };
      const cell = h("div", { ...how, "data-a": a, "data-b": b });
      this.#cells.set(a * size + b, cell);
      return cell;
    };
    fitCells(row, columns, make, also);
    for (let at = a * size; at < (a + 1) * size; at++) {
      if (this.#cells.get(at)?.parentElement === null) this.#cells.delete(at);
    }
  }

  #ensure(a: number): void {
    if (a >= (this.#matrix?.size ?? 0)) return;
    this.#fill(a);
    this.#paintRow(a);
    this.#mark();
  }

  #empty(a: number): void {
    if (a === this.#place.a) return;
    this.#filled.delete(a);
    this.#fitRow(a, [0, 0]);
  }

  /** The reader has scrolled, or the widget has another width: other columns are in sight. */
  #shift(): void {
    const matrix = this.#matrix;
    if (this.#near === null || matrix === null) return;
    const next = columnsInSight(this.element, this.#label, this.#cellWidth, matrix.size);
    if (next[0] === this.#columns[0] && next[1] === this.#columns[1]) return;
    this.#columns = next;
    const head = this.element.firstElementChild;
    if (head !== null) fitCells(head, next, (b) => headCell(matrix, b, this.#name));
    for (const a of this.#filled) {
      this.#fill(a);
      this.#paintRow(a);
    }
    this.#mark();
  }

  readonly #name = (i: number): HTMLElement => {
    const segment = this.#matrix?.segments[i] ?? 0;
    const letter = this.paired ? (SEGMENTS[segment] ?? String(segment)) : "";
    const marked = letter === "" ? null : h("span", { class: "aw-isa-segment" }, letter);
    return h("span", { class: "aw-isa-name" }, sentenceName(i), marked);
  };

  resize(width: number): void {
    const before = this.#printed;
    this.#width = width;
    this.#fit();
    if (this.#printed !== before) this.paint(this.#scale);
  }

  #fit(): void {
    const matrix = this.#matrix;
    if (matrix === null || this.#width === 0 || matrix.size === 0) return;
    const mass = matrix.elsewhere !== null;
    const layout = layoutGrid(matrix.size, this.#width, mass);
    const { classList, style } = this.element;
    this.#printed = layout.printed;
    classList.toggle("is-printed", layout.printed);
    classList.toggle("is-tight", layout.tight);
    classList.toggle("is-tall", layout.tall);
    classList.toggle("has-outside", mass);
    classList.toggle("has-sum", layout.sum);
    style.setProperty("--aw-isa-label", `${layout.label}px`);
    style.setProperty("--aw-isa-cell", `${layout.cell}px`);
    style.setProperty("--aw-isa-count", String(matrix.size));
    [this.#label, this.#cellWidth] = [layout.label, layout.cell];
    this.#shift();
  }

  paint(scale: Scale): void {
    this.#scale = scale;
    const matrix = this.#matrix;
    if (matrix === null) return;
    const { size, values, elsewhere } = matrix;
    for (let a = 0; a < size; a++) {
      const row = values.subarray(a * size, (a + 1) * size);
      this.#paintRow(a);
      if (elsewhere === null) continue;
      const { share, sum } = itemAt(this.#outside, a);
      const outside = itemAt(elsewhere, a);
      const total = row.reduce((left, value) => left + (value || 0), outside);
      share.style.setProperty("--share", String(outside));
      for (const [cell, value] of [
        [share, outside],
        [sum, total],
      ] as const) {
        const all = exact(value, matrix.error(value));
        cell.textContent = formatNumber(value, undefined, matrix.error(value));
        setAttributes(cell, { "data-aw-value": all, title: all });
      }
    }
    this.#mark();
  }

  #paintRow(a: number): void {
    const matrix = this.#matrix;
    if (matrix === null) return;
    const { size, values, max } = matrix;
    if (!this.#filled.has(a)) return;
    const { css, rgb } = ramp("weight", modeOf(this.element));
    const best = strongestOther(matrix, a);
    for (let b = 0; b < size; b++) {
      const cell = this.#cells.get(a * size + b);
      if (cell === undefined) continue;
      const value = itemAt(values, a * size + b);
      const index = rampIndex(value, max, this.#scale);
      paintCell(cell, value, {
        color: itemAt(css, index),
        ink: itemAt(rgb, index),
        strongest: b === best,
        error: matrix.error(value),
        printed: this.#printed,
      });
    }
  }

  /** The cell whose tokens are open below, and the one that holds the pinned pair. */
  light(opened: Place | null, pinned: Place | null): void {
    this.#opened = opened;
    this.#pinned = pinned;
    this.#mark();
  }

  /** Stand on a cell without taking the focus. */
  standOn(place: Place): void {
    const before = this.#place.a;
    this.#place = place;
    if (before !== place.a && this.#filled.has(before)) this.#fill(before);
    this.#ensure(place.a);
    this.#mark();
  }

  /** Give the focus to the cell one stands on. */
  focus(): void {
    this.#cell(this.#place)?.focus({ preventScroll: true });
  }

  #cell({ a, b }: Place): HTMLElement | undefined {
    return this.#cells.get(a * (this.#matrix?.size ?? 0) + b);
  }

  #mark(): void {
    const at = (place: Place | null): HTMLElement | undefined =>
      place === null ? undefined : this.#cell(place);
    const [here, open, pinned] = [at(this.#place), at(this.#opened), at(this.#pinned)];
    for (const cell of this.#marked) {
      setAttributes(cell, { tabindex: -1, "aria-expanded": "false", "data-aw-pinned": null });
    }
    if (here) here.tabIndex = 0;
    if (open) open.setAttribute("aria-expanded", "true");
    if (pinned) setAttributes(pinned, { "data-aw-pinned": true });
    this.#marked = [here, open, pinned].filter((cell) => cell !== undefined);
    this.#rows.forEach((row, a) => {
      row.classList.toggle("is-active", a === this.#place.a);
    });
  }

  #go(place: Place): void {
    this.standOn(place);
    const cell = this.#cell(place);
    cell?.focus({ preventScroll: true });
    if (cell) this.#reveal(cell);
    this.events.stand(place);
  }

  #reveal(cell: HTMLElement): void {
    const frame = this.element;
    const label = this.#rows[0]?.firstElementChild as HTMLElement | null;
    const [left, top] = [label?.offsetWidth ?? 0, frame.firstElementChild?.clientHeight ?? 0];
    const [x, y] = [cell.offsetLeft, cell.offsetTop];
    scrollAcross(frame, x - left, x + cell.offsetWidth);
    scrollDown(frame, y - top, y + cell.offsetHeight);
  }

  #listen(signal: AbortSignal): void {
    const placeOf = (event: Event): Place | null => {
      const cell = (event.target as Element).closest<HTMLElement>(".aw-isa-cell");
      return cell === null ? null : { a: Number(cell.dataset.a), b: Number(cell.dataset.b) };
    };
    const { element } = this;
    const describe = (event: Event): void => {
      const cell = (event.target as Element).closest<HTMLElement>(".aw-isa-cell");
      if (cell !== null && this.#matrix !== null) describeCell(cell, this.#matrix);
    };
    element.addEventListener("scroll", () => this.#shift(), { signal });
    element.addEventListener(
      "click",
      (event) => {
        const place = placeOf(event);
        if (place !== null) {
          this.#go(place);
          this.events.open(place);
          return;
        }
        const row = (event.target as Element).closest<HTMLElement>(".aw-isa-label");
        const a = Number(row?.parentElement?.dataset.a ?? -1);
        if (a < 0 || this.#matrix === null) return;
        this.#go({ a, b: strongestOther(this.#matrix, a) ?? a });
      },
      { signal },
    );
    element.addEventListener("focusin", describe, { signal });
    element.addEventListener("pointerover", describe, { signal });
    element.addEventListener("pointerover", (event) => this.events.point(placeOf(event)), {
      signal,
    });
    element.addEventListener("pointerleave", () => this.events.point(null), { signal });
    element.addEventListener("keydown", (event) => this.#key(event, placeOf(event)), { signal });
  }

  #key(event: KeyboardEvent, place: Place | null): void {
    const matrix = this.#matrix;
    if (place === null || matrix === null || event.metaKey || event.altKey) return;
    const { a, b } = place;
    const { size } = matrix;
    const vertical = /^Arrow(Up|Down)$/.test(event.key) || event.ctrlKey;
    const to = step(event.key, vertical ? a : b, size);
    if (to !== null) this.#go(vertical ? { a: to, b } : { a, b: to });
    else if (event.key === "m") this.#go({ a, b: strongestOther(matrix, a) ?? b });
    else if (event.key === "Enter" || event.key === " ") this.events.open(place);
    else if (event.key !== "Escape" || !this.events.escape()) return;
    consume(event);
  }
}
