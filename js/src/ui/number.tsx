/** Numbers with all their digits behind them. */

import { ABSENT, exact, formatNumber, formatPercent } from "../figures/format";

/** A row of a card: a name, and the number that it names; null for none. */
export function Figure({
  name,
  value,
  part,
  error = 0,
  format = (number) => formatNumber(number, undefined, error),
}: {
  readonly name: string;
  readonly value: number | null;
  readonly part: string;
  /** How far the number may be off. */
  readonly error?: number;
  readonly format?: (value: number) => string;
}) {
  return (
    <div class="aw-figure">
      <dt>{name}</dt>
      <dd
        class="aw-number"
        data-aw-part={part}
        data-aw-value={value === null ? undefined : exact(value, error)}
      >
        {value === null ? ABSENT : format(value)}
      </dd>
    </div>
  );
}

/** A share as a percentage. */
export const Percent = ({ value }: { readonly value: number }) => (
  <span class="aw-number" data-aw-value={exact(value)} title={exact(value)}>
    {formatPercent(value)}
  </span>
);
