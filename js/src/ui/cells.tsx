/** A map of cells, and the sentence about the cell that is pointed at, else about the strongest. */

import { signal } from "@preact/signals-core";
import { CellMap, type CellsEvents } from "../draw/cell-map/cell-map";
import type { CellsShape } from "../draw/cell-map/layout";
import { onTheme } from "../draw/color/theme";
import { onResize } from "../draw/resize";
import { itemAt } from "../protocol/required";
import { largestAbsolute } from "../protocol/ties";
import { markOf } from "./signs";

interface CellText {
  readonly text: string;
  readonly value?: number;
}

export interface Cells {
  readonly values: Float32Array;
  readonly rowLabels: readonly string[];
  readonly columnLabels: readonly string[];
  /** For screen readers. */
  readonly name: string;
  readonly signed?: boolean;
  /** Upper end of the colors; by default the largest value. */
  readonly top?: number;
  /** Numbers that cells of value 0 show faintly. */
  readonly faint?: Float32Array | null;
  /** Text in a cell of a signed map, by its width; by default a number or a sign. */
  readonly mark?: (value: number, width: number) => string | null;
}

export function createCells(
  shape: CellsShape,
  part: string,
  until: AbortSignal,
  /** Sentence about a cell, and the number in it. */
  describe: (row: number, column: number, value: number) => CellText,
  events: Pick<CellsEvents, "pick" | "row">,
) {
  let cells: Cells | null = null;
  const text = signal<CellText>({ text: "" });
  const point = (cell: { readonly row: number; readonly column: number } | null): void => {
    if (cells === null) return;
    const { values, columnLabels } = cells;
    const columns = columnLabels.length;
    const largest = cells.top === undefined ? largestAbsolute(values) : Math.fround(cells.top);
    const at = cell
      ? cell.row * columns + cell.column
      : values.findIndex((value) => Math.abs(value) === largest);
    if (at < 0) return;
    text.value = describe(Math.floor(at / columns), at % columns, itemAt(values, at));
  };
  const map = new CellMap(shape, { point, ...events }, part, until);

  function draw(): void {
    if (cells === null) return;
    const { values, rowLabels, columnLabels, signed = false, faint = null } = cells;
    const top = cells.top || largestAbsolute(values) || 1;
    map.show(
      {
        rows: rowLabels.length,
        columns: columnLabels.length,
        values,
        top,
        scale: "head",
        rowLabels,
        columnLabels,
        faint,
        ...(signed ? { signed, mark: cells.mark ?? markOf(top) } : {}),
      },
      cells.name,
    );
  }

  /** Holds the map as long as it stands in the page. */
  const hold = (box: HTMLElement | null): void => {
    if (box === null || map.element.parentElement === box) return;
    box.append(map.element);
    onResize(box, (width) => map.resize(width), until);
    onTheme(box, () => map.recolor(), until);
  };

  return {
    mark: map.mark.bind(map),
    show(next: Cells): void {
      cells = next;
      draw();
      point(null);
    },
    clear(): void {
      text.value = { text: "" };
    },
    /** The sentence about the cell that is pointed at. */
    text: () => text.value.text,
    Reading: ({ part: name }: { readonly part?: string }) => (
      <p
        class="aw-compare-reading aw-muted"
        role="status"
        data-aw-part={name}
        data-aw-value={text.value.value}
      >
        {text.value.text}
      </p>
    ),
    Map: () => <div class="aw-compare-map" ref={hold} />,
  };
}
