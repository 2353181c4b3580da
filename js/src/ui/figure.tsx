/** Numbers of cards and tables. */

import type { ComponentChildren } from "preact";
import { ABSENT, exact, formatNumber, formatPercent } from "../figures/format";

import { Num } from "./number";

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

/** A share as a percentage. */
export const Percent = ({ value }: { readonly value: number }) => (
  <Num value={value} text={formatPercent(value)} />
);
