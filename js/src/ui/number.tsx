/** Numbers with all their digits behind them, and the names beside them. */

import { ABSENT, exact, formatNumber } from "../figures/format";

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

/** A token and its position in the text. */
export const TokenName = ({ name, token }: { readonly name: string; readonly token: number }) => (
  <>
    <bdi dir="ltr">{name}</bdi>
    <span class="aw-muted aw-number aw-token-index">{token}</span>
  </>
);
