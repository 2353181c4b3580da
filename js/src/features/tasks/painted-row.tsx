/** A row of words, each colored by its value. */

import type { ReadonlySignal } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import { inkOn, type Mode, ramp } from "../../draw/color/ramp";
import { rampIndex, signedIndex } from "../../draw/color/scale";
import { directionOf, unitFace } from "../../draw/text-line";
import { largest } from "../../figures/derive/matrix";
import type { Unit } from "../../figures/derive/units";
import { formatNumber, visible } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import type { Scale } from "../../state/selection";
import { memo } from "../../ui/memo";
import { Num } from "../../ui/number";

export interface CellPosition {
  readonly row: number;
  readonly unit: number;
}

export interface PaintedRow {
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

/** Up to this many words a row is the text itself. */
const MAX_WORDS = 48;
export const isLong = ({ units }: Painting): boolean => units.length > MAX_WORDS;

export interface PaintedOptions {
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

/** Parts that are the same for all rows. */
export interface Named {
  readonly meta: Meta;
  readonly nameOf: (unit: Unit) => string;
  /** True if labels are targets. */
  readonly labeled: boolean;
}

/** The share of special tokens in a row. */
export const shareOf = (special: { readonly value: number; readonly error: number }): string =>
  formatNumber(special);

interface RowProps extends Omit<Painter, "top" | "signed"> {
  readonly of: Named;
  readonly painting: Painting;
  readonly row: number;
  readonly selected: boolean;
  readonly pinned: number;
  /** The unit that Tab enters; -1 for the label, null for none of this row. */
  readonly entry: number | null;
}

export const TextRow = memo(function TextRow({
  of,
  painting,
  row,
  selected,
  pinned,
  entry,
  ...painter
}: RowProps) {
  const { meta, nameOf, labeled } = of;
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
            <Gap key="gap" space={space && i > 0} pair={pair && !last.special && !unit.special} />,
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
      {ends && <Strongest of={of} painting={painting} values={values} />}
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
  of: { meta, nameOf },
  painting: { units, format, exact },
  values,
}: {
  readonly of: Named;
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
