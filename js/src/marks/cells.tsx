/** A map of cells: canvas, legend, what is pointed at in words, and its table. */
import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import { CellMap } from "../draw/cell-map/cell-map";
import type { CellsShape } from "../draw/cell-map/layout";
import type { CellsData } from "../draw/cell-map/paint";
import { onTheme } from "../draw/color/theme";
import { onResize } from "../draw/resize";
import { byTouch } from "../draw/touch";
import { roundToError } from "../figures/format";
import type { Table } from "../figures/table";
import { itemAt } from "../protocol/required";
import { largestAbsolute } from "../protocol/ties";
import { watch } from "../ui/mount";
import { markOf } from "../ui/signs";
import type { Place } from "./navigate";

export interface Cells extends Partial<Pick<CellsData, "scale" | "signed" | "faint" | "mark">> {
  /** `[rows, columns]`; NaN where a cell is impossible. */
  readonly values: Float32Array;
  readonly rowLabels: readonly string[];
  readonly columnLabels: readonly string[];
  /** For screen readers. */
  readonly name: string;
  /** Upper end of the colors; by default the largest value. */
  readonly top?: number;
}

interface Options {
  readonly part: string;
  readonly shape: CellsShape;
  readonly pick: (place: Place) => void;
  readonly row?: (row: number) => void;
  readonly pinned?: ReadonlySignal<Place | null>;
  readonly chosen?: ReadonlySignal<number>;
  /** Announces a cell that keys reach. */
  readonly announce?: (message: string) => void;
}

/** The cells that a signal has; null hides them. */
export function createCells(
  cells: ReadonlySignal<Cells | null>,
  options: Options,
  until: AbortSignal,
) {
  const pointed = signal<Place | null>(null);
  let box: HTMLElement | null = null;
  const map = new CellMap(
    options.shape,
    {
      point(cell, byKey) {
        pointed.value = cell;
        const reading = box?.parentElement?.querySelector(".aw-readout");
        if (cell !== null && byKey) options.announce?.(reading?.textContent ?? "");
      },
      pick: options.pick,
      ...(options.row && { row: options.row }),
    },
    options.part,
    until,
  );
  const top = computed(() => {
    const { top, values = new Float32Array(0) } = cells.value ?? {};
    return top ?? largestAbsolute(values);
  });
  watch(() => {
    if (cells.value === null) return;
    const { rowLabels, columnLabels, signed = false, scale = "head", name, ...more } = cells.value;
    const mark = signed ? { signed, mark: more.mark ?? markOf(top.value || 1) } : {};
    const data = { ...more, ...mark, scale, rowLabels, columnLabels, top: top.value };
    map.show({ ...data, rows: rowLabels.length, columns: columnLabels.length }, name);
    pointed.value = null;
  }, until);
  const { pinned, chosen } = options;
  if (pinned ?? chosen)
    watch(() => {
      void cells.value;
      map.mark(pinned?.value ?? null, chosen?.value ?? -1);
    }, until);
  const hold = (place: HTMLElement | null): void => {
    if (place === null || box === place) return;
    box = place;
    box.append(map.element);
    onResize(box, (width) => map.resize(width), until);
    onTheme(box, () => map.recolor(), until);
  };
  return {
    pointed,
    top,
    mark: map.mark.bind(map),
    Map: () => <div class="aw-compare-map" ref={hold} />,
    /** Text of the cell under the pointer, made by `say`. */
    Reading: ({
      part,
      idle,
      say,
    }: {
      readonly part: string;
      readonly idle: string;
      readonly say: (place: Place, value: number) => ComponentChildren;
    }) => {
      const [at, shown] = [pointed.value, cells.value];
      return (
        <p class="aw-readout" data-aw-part={part}>
          {at === null || shown === null
            ? `${byTouch() ? "Tap" : "Hover"} ${idle}`
            : say(at, itemAt(shown.values, at.row * shown.columnLabels.length + at.column))}
        </p>
      );
    },
  };
}

interface CellText {
  readonly text: string;
  readonly value?: number;
}

/** Cells that are shown one after the other, with a sentence about the one that is pointed at, else about the strongest. */
export function createSaidCells(
  options: Pick<Options, "part" | "shape" | "pick" | "row">,
  /** Sentence about a cell, and the number in it. */
  describe: (row: number, column: number, value: number) => CellText,
  until: AbortSignal,
) {
  const cells = signal<Cells | null>(null);
  const { pointed, mark, Map: Drawn } = createCells(cells, options, until);
  /** The strongest cell of those that are shown; -1 for none. */
  let strongest = -1;
  const said = computed((): CellText => {
    if (cells.value === null) return { text: "" };
    const { values, columnLabels } = cells.value;
    const columns = columnLabels.length;
    const { row, column } = pointed.value ?? {
      row: Math.floor(strongest / columns),
      column: strongest % columns,
    };
    return strongest < 0 && pointed.value === null
      ? { text: "" }
      : describe(row, column, itemAt(values, row * columns + column));
  });
  return {
    mark,
    Map: Drawn,
    show(next: Cells): void {
      const { values, top } = next;
      const most = largestAbsolute(values);
      const at = (size: number) => values.findIndex((value) => Math.abs(value) === size);
      strongest = at(Math.fround(top ?? most));
      // The end of the colors may be another map's, drawn next to this one.
      if (strongest < 0) strongest = at(most);
      cells.value = { ...next, top: top || most || 1 };
    },
    clear(): void {
      cells.value = null;
    },
    text: () => said.value.text,
    Reading: ({ part }: { readonly part?: string }) => (
      <p
        class="aw-compare-reading aw-muted"
        role="status"
        data-aw-part={part}
        data-aw-value={said.value.value}
      >
        {said.value.text}
      </p>
    ),
  };
}

/** A row a cell: its places, what stands there, and its value with the digits that hold. */
export function cellsTable(
  names: readonly [string, string],
  rows: readonly string[],
  columns: readonly string[],
  values: ArrayLike<number>,
  error: (value: number) => number,
): Table {
  const [a, b] = names;
  const cell = (row: number, column: number) => {
    const value = itemAt(values, row * columns.length + column);
    const digits = Number.isNaN(value) ? null : roundToError({ value, error: error(value) });
    return [row, column, itemAt(rows, row), itemAt(columns, column), digits] as const;
  };
  return {
    columns: [a, b, `${a}_text`, `${b}_text`, "value"],
    rows: rows.flatMap((_, row) => columns.map((_, column) => cell(row, column))),
  };
}
