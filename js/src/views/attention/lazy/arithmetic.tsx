/** The arithmetic of a pinned pair. */

import { formatNumber, formatPercent } from "../../../figures/format";
import type { Link } from "../../../figures/pairs";
import { calledOf } from "../../../figures/quantities";
import { Figure } from "../../../ui/figure";
import { type Pair, Sign } from "./ends";

/** Digits of the arithmetic: enough that every step gives the next one as it is written. */
const DIGITS = { scale: 8, product: 7, score: 6, exponential: 4, sum: 5 } as const;

export const percentOf = (link: Link) => (share: number) =>
  formatPercent({ value: share, error: link.errors.share });

/** True where share and weight are one number: a row that is shown whole. */
export const isWhole = ({ share, weight }: Link): boolean =>
  Math.abs(share - weight) <= 1e-3 * weight;

/** From the dot product to the weight, every number as the next step takes it. */
export function Arithmetic({ matrix, link }: Pick<Pair, "matrix" | "link">) {
  const { product, scaling, cap, score, rowMax, exponential, sum, errors } = link;
  // exp(a difference of two scores), and a sum of such.
  const relative = Math.expm1(2 * errors.score);
  const step = (name: string, value: number, digits: number, error: number) => (
    <Figure
      name={name}
      value={value}
      error={error}
      format={(number) => formatNumber({ value: number, error }, digits)}
    />
  );
  const ofScore = (name: string, value: number) => step(name, value, DIGITS.score, errors.score);
  const bias =
    product === null || scaling === null || score === null ? 0 : score - product * scaling;
  const explained = score !== null && rowMax !== null && exponential !== null && sum !== null;
  const whole = isWhole(link);
  const result = (
    <>
      {explained && <Sign text="=" />}
      <Figure name={calledOf(matrix.quantity)} value={link.weight} error={errors.weight} />
      {!whole && (
        <>
          <Sign text="·" />
          <Figure
            name="share of row"
            value={link.share}
            error={errors.share}
            format={percentOf(link)}
          />
        </>
      )}
    </>
  );
  // A narrow page begins a line with a step; the result never has one of its own.
  return (
    <div class="aw-chain">
      {product !== null && scaling !== null && score !== null && (
        <dl class="aw-figures aw-chain">
          {step("q · k", product, DIGITS.product, errors.product)}
          <Sign text="×" />
          <Figure
            name="scale"
            value={scaling}
            // 1 / √64 is 0.125, not 0.12500000.
            format={(number) => String(Number(number.toPrecision(DIGITS.scale)))}
          />
          {Math.abs(bias) >= 1e-4 * Math.max(1, Math.abs(score)) + errors.score && (
            <>
              <Sign text="+" />
              {ofScore(cap === undefined ? "mask, bias" : `capped at ${cap}`, bias)}
            </>
          )}
        </dl>
      )}
      {explained && (
        <>
          <dl class="aw-figures aw-chain">
            {product !== null && scaling !== null && <Sign text="=" />}
            {ofScore("scaled score", score)}
            <Sign text="−" />
            {ofScore("row max", rowMax)}
          </dl>
          <dl class="aw-figures aw-chain">
            <Sign text="→" />
            {step("exp(score − max)", exponential, DIGITS.exponential, exponential * relative)}
            <Sign text="÷" />
            {step("sum of the row", sum, DIGITS.sum, sum * relative)}
            {whole && result}
          </dl>
        </>
      )}
      {!(explained && whole) && <dl class="aw-figures aw-chain">{result}</dl>}
    </div>
  );
}
