/** Rows of the same words, each painted with its own values: real text, or a strip of cells where it is long. */

import { CellMap } from "../../draw/cell-map/cell-map";
import { inkOn, type Mode, ramp } from "../../draw/color/ramp";
import { rampIndex, signedIndex } from "../../draw/color/scale";
import { consume, h, setAttributes, step } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { largest, magnitude } from "../../figures/derive/matrix";
import type { Unit } from "../../figures/derive/units";
import { visible } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";
import type { Scale } from "../../state/selection";

/** Up to this many words a row is the text itself. */
const TEXT_MOST = 48;
const STRIP = { rowHeight: 24, cellMost: 28, heightMost: 240 } as const;

export interface PaintedRow {
  /** Layer or class of the row; -1 for neither. */
  readonly key: number;
  readonly label: string;
  readonly spoken: string;
  /** One value a unit. */
  readonly values: Float32Array;
  /** Text at the end of the row. */
  readonly ends: readonly HTMLElement[];
  /** Text next to the label when there is no room for `ends`. */
  readonly short?: string;
}

export interface Painting {
  readonly units: readonly Unit[];
  readonly tokens: TokenColumns;
  readonly direction: "ltr" | "rtl";
  readonly rows: readonly PaintedRow[];
  /** Where the ramp ends. */
  readonly top: number;
  readonly signed: boolean;
  readonly label: string;
  readonly part: string;
  /** `data-layer`, `data-class`. */
  readonly keyName: string;
  /** Headings above the labels and the ends; absent: none. */
  readonly heads?: readonly string[];
  name(unit: Unit): string;
  /** A unit as it stands in the row. */
  face(unit: Unit): string;
  say(value: number): string;
  exact(value: number): string;
  scale(): Scale;
  mode(): Mode;
  /** A unit of a row is pointed at, or none. */
  point(at: { row: number; unit: number } | null): void;
  pick(row: number, unit: number): void;
  /** A row is chosen by its label. Without it labels are no targets. */
  choose?(row: number): void;
  selected(row: number): boolean;
  pinned(row: number, unit: number): boolean;
  announce(message: string): void;
}

export interface PaintedRows {
  mark(): void;
  paint(): void;
  stop(): void;
}

export function paintedRows(body: HTMLElement, painting: Painting): PaintedRows {
  return painting.units.length <= TEXT_MOST ? asText(body, painting) : asStrip(body, painting);
}

/** Between the texts of a pair. */
export const pairBar = (): HTMLElement =>
  h("span", { class: "aw-beside-pair", "aria-hidden": "true" }, "│ ");

/** Words with what stands between them in the text. */
export function spaced(line: HTMLElement, cell: HTMLElement, before: string, first: boolean): void {
  if (!first && /\s/.test(before)) line.append(document.createTextNode(" "));
  line.append(cell);
}

function asText(body: HTMLElement, painting: Painting): PaintedRows {
  const { units, tokens, rows, keyName } = painting;
  const grid = h("div", {
    class: `aw-first-grid${painting.heads ? " has-ends" : ""}`,
    role: "grid",
    "aria-label": painting.label,
    "data-aw-part": painting.part,
  });
  if (painting.heads) {
    grid.append(
      h(
        "div",
        { class: "aw-first-heads", "aria-hidden": "true" },
        ...painting.heads.map((text) => h("span", {}, text)),
      ),
    );
  }
  const cells = rows.map(({ key, label, spoken, values, ends }) => {
    const title = h(
      "div",
      {
        role: "rowheader",
        class: "aw-first-layer",
        tabindex: painting.choose ? -1 : null,
        [keyName]: key,
        title: label,
      },
      h("bdi", {}, visible(label)),
    );
    const line = h("div", {
      class: "aw-first-text",
      role: "presentation",
      dir: painting.direction,
    });
    const made = units.map((unit, i) => {
      const value = itemAt(values, i);
      const cell = h(
        "span",
        {
          role: "gridcell",
          class: `aw-first-token${unit.special ? " aw-special" : ""}`,
          tabindex: -1,
          [keyName]: key,
          "data-token": unit.token,
          "data-aw-value": painting.exact(value),
          title: `${painting.name(unit)}  ${painting.say(value)}`,
          "aria-label": `${spoken}, ${painting.name(unit)}: ${painting.say(value)}`,
        },
        painting.face(unit),
      );
      const last = units[i - 1];
      // Special tokens, and white space that is a token of its own, stand between words.
      const apart = unit.special || last?.special === true || last?.end !== unit.token;
      spaced(line, cell, apart ? " " : itemAt(tokens.before, unit.token), i === 0);
      const pair = last !== undefined && last.segment !== unit.segment;
      if (pair && !last.special && !unit.special) cell.before(pairBar());
      return cell;
    });
    grid.append(
      h("div", { class: "aw-first-row", role: "row", [keyName]: key }, title, line, ...ends),
    );
    return { title, made, values, all: painting.choose ? [title, ...made] : made };
  });
  body.append(grid);
  let at = { row: 0, column: 0 };
  const cellAt = (): HTMLElement => itemAt(itemAt(cells, at.row).all, at.column);
  const enter = (row: number, column: number): void => {
    cellAt().tabIndex = -1;
    at = { row, column };
    cellAt().tabIndex = 0;
  };
  const labeled = painting.choose ? 1 : 0;
  const place = (event: Event): { row: number; column: number } | null => {
    const target = (event.target as Element).closest<HTMLElement>("[tabindex]");
    if (target === null) return null;
    for (const [row, { all }] of cells.entries()) {
      const column = all.indexOf(target);
      if (column >= 0) return { row, column };
    }
    return null;
  };
  const act = ({ row, column }: { row: number; column: number }): void => {
    enter(row, column);
    if (column < labeled) painting.choose?.(row);
    else painting.pick(row, column - labeled);
  };
  const point = (event: Event): void => {
    const cell = place(event);
    painting.point(
      cell && cell.column >= labeled ? { row: cell.row, unit: cell.column - labeled } : null,
    );
  };
  const stop = new AbortController();
  const options = { signal: stop.signal };
  grid.addEventListener("pointerover", point, options);
  grid.addEventListener("focusin", point, options);
  grid.addEventListener("pointerleave", () => painting.point(null), options);
  grid.addEventListener(
    "click",
    (event) => {
      const cell = place(event);
      const line = (event.target as Element).closest<HTMLElement>(".aw-first-row");
      if (cell !== null) {
        act(cell);
        cells[cell.row]?.all[cell.column]?.focus({ preventScroll: true });
      } else if (line !== null) {
        painting.choose?.(cells.findIndex(({ title }) => title.parentElement === line));
      }
    },
    options,
  );
  grid.addEventListener(
    "keydown",
    (event) => {
      const cell = place(event);
      if (cell === null || event.ctrlKey || event.metaKey || event.altKey) return;
      const { row, column } = cell;
      const down = /^Arrow(Up|Down)$/.test(event.key);
      const to = down
        ? step(event.key, row, rows.length)
        : step(event.key, column, itemAt(cells, row).all.length);
      if (to !== null) {
        enter(down ? to : row, down ? column : to);
        cellAt().focus({ preventScroll: true });
      } else if (event.key === "Enter" || event.key === " ") act(cell);
      else return;
      consume(event);
    },
    options,
  );
  const paint = (): void => {
    const { css, rgb } = ramp(painting.signed ? "signed" : "weight", painting.mode());
    for (const { made, values } of cells) {
      for (const [i, cell] of made.entries()) {
        const value = itemAt(values, i);
        const index = painting.signed
          ? signedIndex(value, painting.top)
          : rampIndex(value, painting.top, painting.scale());
        cell.style.background = itemAt(css, index);
        cell.style.color = inkOn(itemAt(rgb, index));
      }
    }
  };
  const mark = (): void => {
    cells.forEach(({ title, made }, row) => {
      const selected = painting.selected(row);
      title.parentElement?.classList.toggle("is-selected", selected);
      setAttributes(title, { "aria-selected": painting.choose ? String(selected) : null });
      made.forEach((cell, i) => {
        cell.classList.toggle("is-pinned", painting.pinned(row, i));
      });
    });
  };
  const selected = rows.findIndex((_, row) => painting.selected(row));
  if ((cells[0]?.all.length ?? 0) > 0) enter(Math.max(0, selected), 0);
  paint();
  return { mark, paint, stop: () => stop.abort() };
}

/** Rows of cells, for long texts. */
function asStrip(body: HTMLElement, painting: Painting): PaintedRows {
  const { units, rows } = painting;
  const stop = new AbortController();
  const map = new CellMap(
    STRIP,
    {
      point(cell, byKey) {
        painting.point(cell && { row: cell.row, unit: cell.column });
        if (cell !== null && byKey) {
          const { spoken, values: own } = itemAt(rows, cell.row);
          const value = painting.say(itemAt(own, cell.column));
          painting.announce(`${spoken}, ${painting.name(itemAt(units, cell.column))} ${value}`);
        }
      },
      pick: ({ row, column }) => painting.pick(row, column),
      row: (row) => painting.choose?.(row),
    },
    painting.part,
    stop.signal,
  );
  const count = units.length;
  const values = new Float32Array(rows.length * count);
  for (const [row, { values: own }] of rows.entries()) values.set(own, row * count);
  const labels = units.map(painting.face);
  const paint = (): void => {
    map.recolor();
    map.show(
      {
        rows: rows.length,
        columns: count,
        values,
        top: painting.signed ? magnitude(values) : painting.top,
        scale: painting.scale(),
        signed: painting.signed,
        rowLabels: rows.map(({ label, short }) =>
          short === undefined ? visible(label) : `${visible(label)}  ${short}`,
        ),
        columnLabels: labels,
      },
      painting.label,
    );
  };
  const mark = (): void => {
    let pinned: { row: number; column: number } | null = null;
    let chosen = -1;
    rows.forEach((_, row) => {
      if (painting.selected(row)) chosen = row;
      const column = units.findIndex((__, unit) => painting.pinned(row, unit));
      if (column >= 0) pinned = { row, column };
    });
    map.mark(pinned, chosen);
  };
  body.append(map.element);
  onResize(body, (width) => map.resize(width), stop.signal);
  paint();
  return { mark, paint, stop: () => stop.abort() };
}

/** The strongest unit of a row and its value, for the end of the row. */
export function strongest(
  { units, name, face, say, exact }: Pick<Painting, "units" | "name" | "face" | "say" | "exact">,
  values: Float32Array,
): HTMLElement {
  const best = itemAt(largest(values, 1), 0);
  const [unit, value] = [itemAt(units, best), itemAt(values, best)];
  return h(
    "div",
    {
      class: "aw-first-most",
      role: "gridcell",
      title: `strongest: ${name(unit)} ${exact(value)}`,
    },
    h("bdi", { dir: "ltr" }, face(unit)),
    h("span", { class: "aw-number", "data-aw-value": exact(value) }, say(value)),
  );
}
