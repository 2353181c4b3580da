/** Rows of the same words, each colored by its own values: real text, or a strip of cells where it is long. */

import { computed, signal } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import type { CellMap } from "../../draw/cell-map/cell-map";
import type { Unit } from "../../figures/derive/units";
import { unitLabel } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import { RampLegend } from "../../ui/legend";
import { memo } from "../../ui/memo";
import { setTo, watch } from "../../ui/mount";
import { Num } from "../../ui/number";
import { followKey } from "../../ui/roving";
import type { TaskContext } from "./context";
import { type Cell, nextCell } from "./next-cell";
import {
  type CellPosition,
  isLong,
  type Named,
  type PaintedOptions,
  type Painting,
  TextRow,
} from "./painted-row";
import { createStrip } from "./painted-strip";

export function createPainted(context: TaskContext, options: PaintedOptions) {
  const { source, selection, mode, first, scheme, signal: until } = context;
  const { painting, selected, pinned, choose } = options;
  const labeled = choose ? 1 : 0;
  const scale = computed((): Scale => (painting.value?.signed ? "head" : selection.value.scale));
  const pointed = signal<CellPosition | null>(null);
  const visited = signal<Cell | null>(null);
  /** The cell that Tab enters. */
  const entry = computed(
    () => visited.value ?? { row: Math.max(0, selected?.value ?? 0), column: 0 },
  );
  watch(() => {
    void painting.value;
    visited.value = pointed.value = null;
  }, until);
  const nameOf = (unit: Unit): string => unitLabel(unit, scheme);
  const named: Named = { meta: source.meta, nameOf, labeled: choose !== undefined };

  // -- text: cells of words ---------------------------------------------------------------------

  function cellOf({ target }: Event): Cell | null {
    const cell = (target as Element).closest<HTMLElement>("[tabindex]");
    const line = cell?.closest<HTMLElement>(".aw-first-row");
    if (cell == null || line == null) return null;
    const { token } = cell.dataset;
    const unit = painting.value?.units.findIndex((unit) => String(unit.token) === token) ?? -1;
    return { row: Number(line.dataset.row), column: token === undefined ? 0 : unit + labeled };
  }
  function point(event: Event): void {
    const { row, column } = cellOf(event) ?? { row: 0, column: -1 };
    pointed.value = column < labeled ? null : { row, unit: column - labeled };
  }
  function act(cell: Cell): void {
    visited.value = cell;
    const unit = painting.value?.units[cell.column - labeled];
    if (unit === undefined) choose?.(cell.row);
    else options.pick(cell.row, unit);
  }
  function onClick(event: MouseEvent): void {
    const cell = cellOf(event);
    const line = (event.target as Element).closest<HTMLElement>(".aw-first-row");
    if (cell !== null) act(cell);
    else if (line !== null) choose?.(Number(line.dataset.row));
  }
  function onKey(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
    const cell = cellOf(event);
    if (cell === null || painting.value === null) return;
    const { rows, units } = painting.value;
    const next = nextCell(event, cell, rows.length, units.length + labeled);
    if (next !== null) visited.value = next;
    else if (event.key === "Enter" || event.key === " ") act(cell);
    else return;
    followKey(event, event.currentTarget);
  }
  const events = { onPointerOver: point, onFocusIn: point, onClick, onKeyDown: onKey };

  const Text = memo(function Text({ painting }: { readonly painting: Painting }) {
    const { rows, ends, label, part } = painting;
    const special = rows[0]?.special != null;
    return (
      <div
        class={ends ? "aw-first-grid has-ends" : "aw-first-grid"}
        role="grid"
        aria-label={label}
        data-aw-part={part}
        onPointerLeave={setTo(pointed, null)}
        {...events}
      >
        {ends && (
          <div class="aw-first-heads" aria-hidden="true">
            {["layer", "", "strongest", ...(special ? ["special"] : [])].map((text) => (
              <span key={text}>{text}</span>
            ))}
          </div>
        )}
        {rows.map((row, i) => (
          <TextRow
            key={row.key}
            of={named}
            painting={painting}
            row={i}
            scale={scale.value}
            mode={mode.value}
            selected={i === selected?.value}
            pinned={pinned?.value?.row === i ? pinned.value.unit : -1}
            entry={entry.value.row === i ? entry.value.column - labeled : null}
          />
        ))}
      </div>
    );
  });

  let strip: CellMap | null = null;
  const addStrip = (place: HTMLElement | null): void => {
    if (place === null || painting.value === null) return;
    strip ??= createStrip(context, options, { part: painting.value.part, scale, pointed, nameOf });
    place.append(strip.element);
  };

  const Readout = memo(function Readout() {
    const [shown, at] = [painting.value, pointed.value];
    const row = at && shown?.rows[at.row];
    const unit = at && shown?.units[at.unit];
    if (at === null || row == null || unit == null) return options.idle();
    const value = itemAt(row.values, at.unit);
    const { name, rest, ...printed } = options.number(row, unit, value);
    return (
      <>
        {name}
        {"  "}
        <bdi dir="ltr">{first}</bdi>
        {" → "}
        <bdi dir="ltr">{nameOf(unit)}</bdi>
        <span class="aw-drill-at">{unit.token}</span>
        {"  "}
        <Num tag="strong" value={value} {...printed} />
        {rest}
      </>
    );
  });

  return {
    Rows: memo(function Rows() {
      const shown = painting.value;
      if (shown === null || shown.units.length === 0) return null;
      return isLong(shown) ? <div key="strip" ref={addStrip} /> : <Text painting={shown} />;
    }),
    Readout,
    Legend: memo(function Legend() {
      const { top = 0, error = 0, signed = false } = painting.value ?? {};
      return (
        <RampLegend
          {...{ max: top, error, signed }}
          scale={scale.value}
          mode={mode.value}
          hidden={painting.value === null}
        />
      );
    }),
  };
}

/** A section of the view: its head, its rows, and the number that is pointed at. */
export const PaintedSection = ({
  label,
  part,
  busy,
  head,
  note,
  rows,
  readout,
}: {
  readonly label: string;
  readonly part: string;
  readonly busy: boolean;
  readonly head: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly rows: ComponentChildren;
  readonly readout: ComponentChildren;
}) => (
  <section
    class="aw-first"
    aria-label={label}
    aria-busy={busy ? "true" : undefined}
    data-aw-part={part}
  >
    <div class="aw-panel-head">{head}</div>
    {note}
    <div class="aw-first-rows">{rows}</div>
    <p class="aw-readout" data-aw-part={`${part}-readout`}>
      {readout}
    </p>
  </section>
);
