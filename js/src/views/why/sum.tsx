/** The sum that closes, written out: the largest terms, the rest, the bias, the target. */

import { largest } from "../../figures/derive/matrix";
import { repeated, type Unit } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Contributions } from "./data";

const TERMS = 5;

export interface Sum {
  /** Units with the largest contributions, either sign. */
  readonly terms: readonly { readonly unit: Unit; readonly value: number }[];
  /** Sum of all other tokens, and how many they are. */
  readonly rest: number;
  readonly others: number;
}

/** The pieces of a unit added up; NaN where one of them has no number. */
export function sumOfUnit(values: ArrayLike<number>, { token, end }: Unit): number {
  let sum = 0;
  for (let i = token; i < end; i++) sum += itemAt(values, i);
  return sum;
}

/** The largest `count` contributions of `units` by size, and the sum of all tokens beside them, hidden ones too. */
export function sumOf(values: ArrayLike<number>, units: readonly Unit[], count = TERMS): Sum {
  const all = units.map((unit) => sumOfUnit(values, unit));
  const sizes = all.map((value) => (Number.isNaN(value) ? -1 : Math.abs(value)));
  const most = Math.min(count, sizes.filter((size) => size >= 0).length);
  const terms = largest(sizes, most).map((i) => ({
    unit: itemAt(units, i),
    value: itemAt(all, i),
  }));
  const known = Array.from(values).filter((value) => !Number.isNaN(value));
  const listed = terms.reduce((count, { unit }) => count + unit.end - unit.token, 0);
  const rest =
    known.reduce((sum, value) => sum + value, 0) - terms.reduce((sum, one) => sum + one.value, 0);
  return { terms, rest, others: known.length - listed };
}

const Value = ({ value, signed }: { readonly value: number; readonly signed: boolean }) => (
  <span class="aw-number" data-aw-value={exact(value)} title={exact(value)}>
    {signed && value > 0 && "+"}
    {formatNumber(value)}
  </span>
);

/** A line that says what adds up to what, or that nothing does. */
export function SumLine({
  found: { values, signed, value, bias, baseline, gap },
  units,
  label,
}: {
  readonly found: Contributions;
  readonly units: readonly Unit[];
  readonly label: (unit: Unit) => string;
}) {
  const { terms, rest, others } = sumOf(values, units);
  const twice = repeated(terms.map(({ unit }) => label(unit)));
  const more = [
    [others > 0 ? rest : null, others === 1 ? "1 other token" : `${others} other tokens`],
    [bias, "bias"],
    [baseline, "masked text"],
  ] as const;
  return (
    <p class="aw-why-sum" data-aw-part="why-sum">
      {terms.map(({ unit, value }) => (
        <span key={unit.token} class="aw-why-term" data-token={unit.token}>
          <bdi>{label(unit)}</bdi>
          {twice.has(label(unit)) ? ` ${unit.token} ` : " "}
          <Value value={value} signed={signed} />
        </span>
      ))}
      {more.map(
        ([value, name]) =>
          value !== null && (
            <span key={name} class="aw-why-term aw-muted">
              {`${name} `}
              <Value value={value} signed={signed} />
            </span>
          ),
      )}
      {gap === null ? (
        <span class="aw-muted">
          {signed ? "in logits; they need not add up" : "shares of a row, without sign"}
        </span>
      ) : (
        <span class="aw-why-total">
          {"= "}
          <Value value={value} signed={false} />
          {gap < 1e-3 ? "" : `, gap ${formatNumber(100 * gap, 2)}%`}
        </span>
      )}
    </p>
  );
}
