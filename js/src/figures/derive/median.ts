/** The middle of the values, of an even number the mean of the two in the middle. */
export function medianOf(values: ArrayLike<number>): number {
  const sorted = Array.from(values).sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const at = (place: number): number => sorted[place] ?? Number.NaN;
  return (at(Math.ceil(middle) - 1) + at(Math.floor(middle))) / 2;
}
