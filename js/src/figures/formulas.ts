/** The softmax: in symbols, and with the numbers of one entry. */

import type { Reference } from "./catalog/types";
import { formatNumber, shown } from "./format";
import {
  apply,
  frac,
  type MathNode,
  mi,
  mn,
  mo,
  mtext,
  parens,
  row,
  sub,
  sup,
  under,
} from "./math";

/** For the weights `A` themselves. */
export const VASWANI: Reference = {
  text: "Vaswani et al. (2017), Attention Is All You Need, NeurIPS 30 (arXiv:1706.03762)",
  doi: null,
};
/** One entry of a softmax, as the slice `softmax` gives it, with what it is divided by. */
export interface SoftmaxTerms {
  readonly token: string;
  readonly logit: number;
  readonly logitMax: number;
  /** `exp(logit - logitMax)` */
  readonly exp: number;
  readonly sumExp: number;
  readonly probability: number;
}

const RESULT_DIGITS = 3;
const MAX_DIGITS = 15;

/** Digits at which the arithmetic on the printed numbers gives the printed result. */
interface ClosingDigits {
  readonly logit: number;
  readonly exp: number;
  readonly sum: number;
}

/**
 * The fewest digits (never under three significant ones) with which a reader's own calculation from
 * the printed logits gives the printed exponential, and from that the printed probability.
 */
export function closingDigits(terms: SoftmaxTerms): ClosingDigits {
  const { logit, logitMax, exp, sumExp, probability } = terms;
  let ratio = RESULT_DIGITS;
  while (
    ratio < MAX_DIGITS &&
    shown(shown(exp, ratio) / shown(sumExp, ratio), RESULT_DIGITS) !==
      shown(probability, RESULT_DIGITS)
  ) {
    ratio++;
  }
  let decimals = 2;
  const rounded = (value: number): number => Number(value.toFixed(decimals));
  while (
    decimals < MAX_DIGITS &&
    shown(Math.exp(rounded(logit) - rounded(logitMax)), ratio) !== shown(exp, ratio)
  ) {
    decimals++;
  }
  return { logit: decimals, exp: ratio, sum: ratio };
}

const w = mi("w");
const z = mi("z");
const exponential = (...above: MathNode[]): MathNode => sup(mi("e"), row(...above));

/** The softmax over the vocabulary, in symbols. */
export const SOFTMAX: MathNode = row(
  apply(mi("P"), w),
  mo("="),
  frac(
    exponential(sub(z, w), mo("−"), sub(z, mtext("max"))),
    row(under(mo("∑"), mi("v")), exponential(sub(z, mi("v")), mo("−"), sub(z, mtext("max")))),
  ),
);
export const SOFTMAX_SPOKEN =
  "probability of w equals exp of its logit minus the largest logit, over the sum of the same over the vocabulary";

const fixed = (value: number, decimals: number): string =>
  value.toFixed(decimals).replace("-", "−");

/** The same with the numbers of one entry; what is printed closes (`closingDigits`). */
export function softmaxWithNumbers(terms: SoftmaxTerms): { node: MathNode; spoken: string } {
  const digits = closingDigits(terms);
  const logit = fixed(terms.logit, digits.logit);
  const logitMax = fixed(terms.logitMax, digits.logit);
  const exp = formatNumber(terms.exp, digits.exp);
  const total = formatNumber(terms.sumExp, digits.sum);
  const probability = formatNumber(terms.probability, RESULT_DIGITS);
  const maximum = mn(logitMax, terms.logitMax);
  const node = row(
    // Isolated, so that a right-to-left token leaves the equation in order.
    apply(mi("P"), mtext(`\u2068${terms.token}\u2069`)),
    mo("="),
    frac(
      exponential(mn(logit, terms.logit), mo("−"), terms.logitMax < 0 ? parens(maximum) : maximum),
      mn(total, terms.sumExp),
    ),
    mo("="),
    frac(mn(exp, terms.exp), mn(total, terms.sumExp)),
    mo("="),
    mn(probability, terms.probability),
  );
  const spoken =
    `probability of ${terms.token} equals exp of ${logit} minus ${logitMax}, over ${total}, ` +
    `equals ${exp} over ${total}, equals ${probability}`;
  return { node, spoken };
}
