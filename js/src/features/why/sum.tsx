/** The sum that closes, written out: the largest terms, the rest, the bias, the target. */

import { largest } from "../../figures/derive/matrix";
import type { Unit } from "../../figures/derive/units";
import { exact, formatNumber, formatOrdinal } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { Num } from "../../ui/number";
import { quoted } from "../../ui/sentence";
import type { Explained } from "./both-texts";
import { type Contributions, isOutside } from "./data";

const TERMS = 5;

interface Sum {
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

/** The largest `count` contributions of `units` by size, and the sum of all other tokens, hidden ones too. */
export function sumOf(values: ArrayLike<number>, units: readonly Unit[], count = TERMS): Sum {
  const all = units.map((unit) => ({ unit, value: sumOfUnit(values, unit) }));
  const sizes = all.map(({ value }) => (Number.isNaN(value) ? -1 : Math.abs(value)));
  const terms = largest(sizes, count).flatMap((i) =>
    itemAt(sizes, i) < 0 ? [] : [itemAt(all, i)],
  );
  const numbers = Array.from(values).filter((value) => !Number.isNaN(value));
  const listed = terms.reduce((total, { unit }) => total + unit.end - unit.token, 0);
  const rest =
    numbers.reduce((sum, value) => sum + value, 0) -
    terms.reduce((sum, { value }) => sum + value, 0);
  return { terms, rest, others: numbers.length - listed };
}

interface SumProps {
  readonly found: Contributions;
  readonly units: readonly Unit[];
  readonly label: (unit: Unit) => string;
  readonly explained: Explained;
}

/** Which numbers add up to the target, or that nothing does. */
export function SumLine({ found, units, label, explained }: SumProps) {
  const { values, signed, value, error, bias, baseline, gap } = found;
  const { terms, rest, others } = sumOf(values, units);
  /** `2nd ` before a term, which of the units with this text; and ` of the source` after it. */
  function place(unit: Unit): readonly [before: string, after: string] {
    const isOfSource = ({ token }: Unit): boolean => explained.placeOf(token).ofSource;
    const name = label(unit);
    const alike = units.filter((other) => label(other) === name);
    const same = alike.filter((other) => isOfSource(other) === isOfSource(unit));
    const nth = same.filter(({ token }) => token <= unit.token).length;
    return [
      same.length > 1 ? `${formatOrdinal(nth)} ` : "",
      alike.length > same.length && isOfSource(unit) ? " of the source" : "",
    ];
  }
  const more = [
    [others > 0 ? rest : null, others === 1 ? "1 other token" : `${others} other tokens`],
    [bias, "bias"],
    [baseline, "masked text"],
  ] as const;
  const term = (value: number) => (
    <span class="aw-number" data-aw-value={exact(value)} title={exact(value)}>
      {signed && value > 0 && "+"}
      {formatNumber(value)}
    </span>
  );
  return (
    <p class="aw-why-sum aw-cluster" data-aw-part="why-sum">
      {terms.map(({ unit, value }) => {
        const [before, after] = place(unit);
        return (
          <span key={unit.token} class="aw-why-term" data-token={unit.token}>
            <span class="aw-muted">{before}</span>
            <bdi>{quoted(label(unit))}</bdi>
            <span class="aw-muted">{after}</span> {term(value)}
          </span>
        );
      })}
      {more.map(
        ([value, name]) =>
          value !== null && (
            <span key={name} class="aw-why-term aw-muted">
              {`${name} `}
              {term(value)}
            </span>
          ),
      )}
      {gap === null ? (
        <span class="aw-muted">
          {isOutside(found.method)
            ? "as given; they need not add up"
            : signed
              ? "in logits; they need not add up"
              : "shares of a row, without sign"}
        </span>
      ) : (
        <span class="aw-why-total">
          {"= "}
          <Num value={value} text={formatNumber({ value, error })} />
          {gap < 1e-3 ? "" : `, gap ${formatNumber(100 * gap, 2)}%`}
        </span>
      )}
    </p>
  );
}
