/** Rows of a long text as a strip of cells on a canvas. */

import type { ReadonlySignal, Signal } from "@preact/signals-core";
import { CellMap } from "../../draw/cell-map/cell-map";
import { onResize } from "../../draw/resize";
import { unitFace } from "../../draw/text-line";
import type { Unit } from "../../figures/derive/units";
import { visible } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import { watch } from "../../ui/mount";
import type { TaskContext } from "./context";
import {
  type CellPosition,
  isLong,
  type PaintedOptions,
  type PaintedRow,
  shareOf,
} from "./painted-row";

const STRIP = { rowHeight: 24, cellMost: 28, heightMost: 240 } as const;

interface StripOptions {
  readonly part: string;
  readonly scale: ReadonlySignal<Scale>;
  readonly pointed: Signal<CellPosition | null>;
  readonly nameOf: (unit: Unit) => string;
}

export function createStrip(
  { source: { meta }, mode, announce, signal: until }: TaskContext,
  options: PaintedOptions,
  { part, scale, pointed, nameOf }: StripOptions,
): CellMap {
  const { painting, selected, pinned, choose } = options;
  const rowAt = (row: number): PaintedRow => itemAt(painting.value?.rows ?? [], row);
  const unitAt = (unit: number): Unit => itemAt(painting.value?.units ?? [], unit);
  const map = new CellMap(
    STRIP,
    {
      point(cell, byKey) {
        pointed.value = cell && { row: cell.row, unit: cell.column };
        if (cell === null || !byKey) return;
        const { spoken, values } = rowAt(cell.row);
        const value = painting.value?.format(itemAt(values, cell.column));
        announce(`${spoken}, ${nameOf(unitAt(cell.column))} ${value}`);
      },
      pick: ({ row, column }) => options.pick(row, unitAt(column)),
      row: (row) => choose?.(row),
    },
    part,
    until,
  );
  onResize(map.element, (width) => map.resize(width), until);
  watch(() => {
    void mode.value;
    if (painting.value === null || !isLong(painting.value)) return;
    const { rows, units, top, signed, label } = painting.value;
    map.recolor();
    map.show(
      {
        rows: rows.length,
        columns: units.length,
        values: Float32Array.from(rows.flatMap(({ values }) => [...values])),
        top,
        scale: scale.value,
        signed,
        rowLabels: rows.map(({ label, special }) =>
          special == null ? visible(label) : `${visible(label)}  special ${shareOf(special)}`,
        ),
        columnLabels: units.map((unit) => unitFace(unit, meta)),
      },
      label,
    );
  }, until);
  watch(() => {
    void painting.value;
    const at = pinned?.value ?? null;
    const cell = at !== null && at.unit >= 0 ? { row: at.row, column: at.unit } : null;
    map.mark(cell, selected?.value ?? -1);
  }, until);
  return map;
}
