/** Tests of an order of words against random ones (`attn_widget.features.why.orders.order_test`), and their results in words. */

import { formatCount } from "../../figures/format";

export interface OrderTest {
  /** Percent of random orders that lower the number less, with its 95% interval. */
  readonly percentile: number;
  readonly low: number;
  readonly high: number;
  /** p value after correction for the orders that were tried. */
  readonly adjusted: number;
  /** Null: the orders that were drawn do not decide. */
  readonly better: boolean | null;
}

interface RandomOrders {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  readonly orders: number;
  /** Drawn orders; otherwise every order of the words. */
  readonly drawn: boolean;
  readonly words: number;
}

/** Tests of several orders of the words of a text. */
export interface OrderTests {
  readonly comprehensiveness: readonly number[];
  /** One an order; null where it is none, or nothing can be tested. */
  readonly tests: readonly (OrderTest | null)[];
  /** Why no verdict is possible. */
  readonly untestable: string | null;
  readonly random: RandomOrders;
}

/** Verdict of a test. */
export const verdictOf = ({ better }: OrderTest): string =>
  better === null
    ? "undecided with so many orders"
    : `${better ? "better" : "no better"} than random`;

/** `92%`; never 100% or 0% of what is not all or none. */
function percent(value: number): string {
  if (value > 99 && value < 100) return `${(Math.floor(value * 10) / 10).toFixed(1)}%`;
  if (value > 0 && value < 1) return `${(Math.ceil(value * 10) / 10).toFixed(1)}%`;
  return `${value.toFixed(0)}%`;
}

/** The orders that a test beats: `92% (88% to 95%) of 400 random orders`, `98% of all 5,040 orders of the 7 words`. */
export function beatenOrders(
  { percentile, low, high }: OrderTest,
  { orders: count, drawn, words }: RandomOrders,
  whose: "the" | "its",
): string {
  const orders = drawn
    ? `${formatCount(count)} random orders`
    : `all ${formatCount(count)} orders of ${whose} ${words} words`;
  if (!drawn) return `${percent(percentile)} of ${orders}`;
  if (percentile === 100) return `any of ${orders} (at least ${percent(low)} of all)`;
  return `${percent(percentile)} (${percent(low)} to ${percent(high)}) of ${orders}`;
}
