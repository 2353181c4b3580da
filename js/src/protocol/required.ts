/** Reading what must be there: an item of a list, an array of a slice, an element of the page. */

import type { NdArray } from "./slice";

/** `value`; throws where there is none. */
export function required<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new TypeError(`${what} is missing.`);
  return value;
}

/**
 * `values[index]`; throws where there is none. In loops over every cell of a matrix read typed arrays `as number`
 * instead: one function for all kinds of lists is slower there.
 */
export const itemAt = <T>(values: ArrayLike<T>, index: number): T =>
  required(values[index], `Item ${index} of ${values.length}`);

/** The array of that name; throws where the slice has none. */
export const arrayOf = (
  { arrays }: { readonly arrays: ReadonlyMap<string, NdArray> },
  name: string,
): NdArray => required(arrays.get(name), `The array "${name}"`);
