/** Rows of the same words, each colored by its own values: real text, or a strip of cells where it is long. */

import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import { CellMap } from "../../draw/cell-map/cell-map";
import { inkOn, type Mode, ramp } from "../../draw/color/ramp";
import { rampIndex, signedIndex } from "../../draw/color/scale";
import { onResize } from "../../draw/resize";
import { directionOf, unitFace } from "../../draw/text-line";
import { largest } from "../../figures/derive/matrix";
import type { Unit } from "../../figures/derive/units";
import { formatNumber, visible } from "../../figures/format";
import { unitLabel } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import { RampLegend } from "../../ui/legend";
import { memo } from "../../ui/memo";
import { setTo, watch } from "../../ui/mount";
import { Num } from "../../ui/number";
import { type Cell, followKey, nextCell } from "../../ui/roving";
import type { TaskContext } from "./context";

/** Up to this many words a row is the text itself. */
const MAX_WORDS = 48;
const STRIP = { rowHeight: 24, cellMost: 28, heightMost: 240 } as const;

export interface CellPosition {
  readonly row: number;
  readonly unit: number;
}

interface PaintedRow {
  /** Layer or class of the row; -1 for neither. */
  readonly key: number;
  readonly label: string;
  readonly spoken: string;
  /** One value a unit. */
  readonly values: Float32Array;
  /** Share of special tokens and how far it may be off, at the end of the row; null: they have units. */
  readonly special?: { readonly value: number; readonly error: number } | null;
}

/** Rows that stay the same while a reader points at them. */
export interface Painting {
  readonly units: readonly Unit[];
  readonly rows: readonly PaintedRow[];
  /** End of the ramp, and how far it may be off. */
  readonly top: number;
  readonly error: number;
  readonly signed: boolean;
  readonly label: string;
  readonly part: string;
  readonly keyName: "data-layer" | "data-class";
  /** True if rows end with their strongest unit and their special tokens. */
  readonly ends: boolean;
  readonly format: (value: number) => string;
  readonly exact: (value: number) => string;
}

interface PaintedOptions {
  readonly painting: ReadonlySignal<Painting | null>;
  readonly selected?: ReadonlySignal<number>;
  readonly pinned?: ReadonlySignal<CellPosition | null>;
  readonly pick: (row: number, unit: Unit) => void;
  /** A row is chosen by its label; without it labels are no targets. */
  readonly choose?: (row: number) => void;
  /** Below the rows while nothing is pointed at. */
  readonly idle: () => string;
  /** Name of a row, its number, how far that may be off, and what follows it. */
  readonly number: (
    row: PaintedRow,
    unit: Unit,
    value: number,
  ) => {
    readonly name: ComponentChildren;
    readonly error?: number;
    readonly text?: string;
    readonly rest: string;
  };
}

/** Space and bar before a word: as in the text, with a bar between the texts of a pair. */
export const Gap = ({ space, pair }: { readonly space: boolean; readonly pair: boolean }) => (
  <>
    {space && " "}
    {pair && (
      <span class="aw-beside-pair" aria-hidden="true">
        {"│ "}
      </span>
    )}
  </>
);

interface Painter extends Pick<Painting, "top" | "signed"> {
  readonly scale: Scale;
  readonly mode: Mode;
}

/** Ground and ink of a word with a value. */
export function paintOf(value: number, { top, signed, scale, mode }: Painter) {
  const { css, rgb } = ramp(signed ? "signed" : "weight", mode);
  const index = signed ? signedIndex(value, top) : rampIndex(value, top, scale);
  return { background: itemAt(css, index), color: inkOn(itemAt(rgb, index)) };
}

export function createPainted(
  { source: { meta }, selection, mode, first, scheme, announce, signal: until }: TaskContext,
  options: PaintedOptions,
) {
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
  const shareOf = ({ value, error }: { readonly value: number; readonly error: number }): string =>
    formatNumber({ value, error });
  const nameOf = (unit: Unit): string => unitLabel(unit, scheme);
  const long = computed(() => (painting.value?.units.length ?? 0) > MAX_WORDS);

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

  interface TextRowProps extends Omit<Painter, "top" | "signed"> {
    readonly painting: Painting;
    readonly row: number;
    readonly selected: boolean;
    readonly pinned: number;
    /** The unit that Tab enters; -1 for the label, null for none of this row. */
    readonly entry: number | null;
  }

  const TextRow = memo(function TextRow({
    painting,
    row,
    selected,
    pinned,
    entry,
    ...painter
  }: TextRowProps) {
    const { units, format, exact, keyName, ends, top, signed } = painting;
    const { key, label, spoken, values, special } = itemAt(painting.rows, row);
    const named = { [keyName]: key };
    const target = labeled && { tabIndex: entry === -1 ? 0 : -1, "aria-selected": selected };
    return (
      <div
        class={selected ? "aw-first-row is-selected" : "aw-first-row"}
        role="row"
        data-row={row}
        {...named}
      >
        <div role="rowheader" class="aw-first-layer" title={label} {...named} {...target}>
          <bdi>{visible(label)}</bdi>
        </div>
        <div class="aw-first-text" role="presentation" dir={directionOf(meta.text)}>
          {units.map((unit, i) => {
            const value = itemAt(values, i);
            const last = units[i - 1];
            // Special tokens, and white space that is a token of its own, stand between words.
            const separate = unit.special || last?.special === true || last?.end !== unit.token;
            const space = separate || /\s/.test(itemAt(meta.tokens.before, unit.token));
            const pair = last !== undefined && last.segment !== unit.segment;
            const kind = `${unit.special ? " aw-special" : ""}${i === pinned ? " is-pinned" : ""}`;
            return [
              <Gap
                key="gap"
                space={space && i > 0}
                pair={pair && !last.special && !unit.special}
              />,
              <span
                key={unit.token}
                role="gridcell"
                class={`aw-first-token${kind}`}
                tabIndex={i === entry ? 0 : -1}
                data-token={unit.token}
                data-aw-value={exact(value)}
                title={`${nameOf(unit)}  ${format(value)}`}
                aria-label={`${spoken}, ${nameOf(unit)}: ${format(value)}`}
                style={paintOf(value, { top, signed, ...painter })}
                {...named}
              >
                {unitFace(unit, meta)}
              </span>,
            ];
          })}
        </div>
        {ends && <Strongest painting={painting} values={values} />}
        {special != null && (
          <div
            class="aw-first-special aw-muted aw-small"
            role="gridcell"
            aria-label={`special tokens: ${shareOf(special)}`}
          >
            <Num {...special} />
          </div>
        )}
      </div>
    );
  });

  /** The strongest unit of a row and its value. */
  function Strongest({
    painting: { units, format, exact },
    values,
  }: {
    readonly painting: Painting;
    readonly values: Float32Array;
  }) {
    const best = itemAt(largest(values, 1), 0);
    const [unit, value] = [itemAt(units, best), itemAt(values, best)];
    return (
      <div
        class="aw-first-most aw-muted aw-small"
        role="gridcell"
        title={`strongest: ${nameOf(unit)} ${exact(value)}`}
      >
        <bdi dir="ltr">{unitFace(unit, meta)}</bdi>
        <span class="aw-number" data-aw-value={exact(value)}>
          {format(value)}
        </span>
      </div>
    );
  }

  // -- strip: cells on canvas, for long texts ---------------------------------------------------

  function createStrip(part: string): CellMap {
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
      if (painting.value === null || !long.value) return;
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
  let strip: CellMap | null = null;
  const addStrip = (place: HTMLElement | null): void => {
    if (place === null || painting.value === null) return;
    strip ??= createStrip(painting.value.part);
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
      return long.value ? <div key="strip" ref={addStrip} /> : <Text painting={shown} />;
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
