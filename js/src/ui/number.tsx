/** Numbers with all their digits behind them. */

import type { ComponentChildren } from "preact";
import { ABSENT, exact, formatNumber, formatPercent } from "../figures/format";

/** A row of a card: a name, and the number that it names; null for none. */
export function Figure({
  name,
  value,
  part,
  error = 0,
  format = (number) => formatNumber({ value: number, error }),
  absent = ABSENT,
  children,
}: {
  readonly name: string;
  readonly value: number | null;
  readonly part?: string;
  /** Largest error of the number. */
  readonly error?: number;
  readonly format?: (value: number) => string;
  /** Text without a value. */
  readonly absent?: string;
  readonly children?: ComponentChildren;
}) {
  const digits = value === null ? undefined : exact({ value, error });
  return (
    <div class="aw-figure">
      <dt>{name}</dt>
      <dd class="aw-number" data-aw-part={part} data-aw-value={digits} title={digits}>
        {value === null ? absent : format(value)}
        {children}
      </dd>
    </div>
  );
}

/** A number in text or in a cell of a table: as many digits as `text` has, and all that hold behind them. */
export const Num = ({
  value,
  error = 0,
  text = formatNumber({ value, error }),
  tag: Tag = "span",
  part,
}: {
  readonly value: number;
  /** Largest error of the value. */
  readonly error?: number;
  readonly text?: string;
  readonly tag?: "span" | "strong" | "td";
  readonly part?: string;
}) => (
  <Tag
    class="aw-number"
    data-aw-part={part}
    data-aw-value={exact({ value, error })}
    title={exact({ value, error })}
  >
    {text}
  </Tag>
);

/** A share as a percentage. */
export const Percent = ({ value }: { readonly value: number }) => (
  <Num value={value} text={formatPercent(value)} />
);
