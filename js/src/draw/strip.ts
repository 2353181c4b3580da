/** Places of the dots of a strip, one for every value, spread sideways where they crowd. */

/** Height of the strip and of a dot, px. The width is the element's own. */
export const STRIP_HEIGHT = 34;
const DOT_RADIUS = 2.5;
/** Dots nearer than this share of the width are stacked: about one dot on a card. */
const BIN = 1 / 40;

export type Domain = readonly [number, number];

/** Position of `value` in `domain`, as a share; the middle when the domain is a point. */
export function share(value: number, [low, high]: Domain): number {
  return high > low ? (value - low) / (high - low) : 0.5;
}

export const percent = (part: number): string => `${+(part * 100).toFixed(3)}%`;

/** Vertical places of dots at horizontal shares `at`: stacked from the middle outwards inside `height`. */
export function dodge(at: readonly number[], height: number): number[] {
  const bins = new Map<number, number[]>();
  at.forEach((x, index) => {
    if (Number.isNaN(x)) return;
    const bin = Math.round(x / BIN);
    const members = bins.get(bin);
    if (members) members.push(index);
    else bins.set(bin, [index]);
  });
  const y = at.map(() => height / 2);
  for (const members of bins.values()) {
    members.sort((a, b) => (at[a] as number) - (at[b] as number));
    const room = height - 2 * DOT_RADIUS;
    const step = Math.min(2 * DOT_RADIUS, room / Math.max(1, members.length - 1));
    members.forEach((index, place) => {
      const offset = Math.ceil(place / 2) * (place % 2 ? 1 : -1);
      y[index] = height / 2 + offset * step;
    });
  }
  return y;
}
