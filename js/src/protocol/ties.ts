/** Orders that rounding must not decide, by the rule of attn_widget/checks/rounding.py. */

/** Two values closer than this share are equal: which one is larger may differ between processors. */
export const TIE = 2 ** -16;

/**
 * Base of the share. Sums of terms with both signs are off by a share of the largest one; a weight or a probability is off
 * by a share of itself.
 */
export type Kind = "sums" | "weights";

const orLowest = (value: number): number =>
  Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value;

/** Largest absolute value; NaN and infinities (cells that a mask forbids) do not count. */
export function largestAbsolute(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) {
    const size = Math.abs(values[i] as number);
    if (Number.isFinite(size) && size > most) most = size;
  }
  return most;
}

/** Indices, the largest value first; those that rounding may have put in another order by their index; NaN last. */
export function largestFirst(values: ArrayLike<number>, kind: Kind = "sums"): number[] {
  const at = (i: number): number => orLowest(values[i] as number);
  const scale = largestAbsolute(values);
  const order = Array.from({ length: values.length }, (_, i) => i).sort(
    (a, b) => at(b) - at(a) || a - b,
  );
  let start = 0;
  for (let end = 1; end <= order.length; end++) {
    // Compared with the first of its group, so that a chain of small steps is no tie.
    const first = at(order[start] as number);
    const within = TIE * (kind === "sums" ? scale : Math.abs(first));
    if (end < order.length && first - at(order[end] as number) <= within) continue;
    const group = order.slice(start, end).sort((a, b) => a - b);
    for (const index of group) order[start++] = index;
  }
  return order;
}

/** Some indices of `values`, in the same order. */
export function inOrder(values: ArrayLike<number>, some: readonly number[]): number[] {
  const places = new Map(largestFirst(values).map((index, place) => [index, place]));
  return [...some].sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
}

/** Index of the largest value; of those that rounding may have put in another order, the first; -1 where all are NaN. */
export function firstLargest(values: ArrayLike<number>): number {
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) most = Math.max(most, orLowest(values[i] as number));
  const least = most - TIE * largestAbsolute(values);
  for (let i = 0; i < values.length; i++) if ((values[i] as number) >= least) return i;
  return -1;
}
