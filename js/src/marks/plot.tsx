/** Shapes of drawings in SVG: lines with gaps, and marks that are spread where they crowd. */
export type Point = readonly [x: number, y: number];
export const fixed = (value: number): number => +value.toFixed(2);
const text = ([x, y]: Point): string => `${fixed(x)} ${fixed(y)}`;

/** A line through points; null leaves a gap. */
export const line = (points: readonly (Point | null)[]): string =>
  points
    .map((point, i) => point && `${points[i - 1] == null ? "M" : "L"}${text(point)}`)
    .filter((part) => part !== null)
    .join("");
/** A closed shape. */
export const polygon = (points: readonly Point[]): string =>
  points.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(" ");
/** `a is-this` for `cls("a", { this: true, layer: false })`. */
export const cls = (name: string, is: Readonly<Record<string, boolean>>): string =>
  Object.entries(is).reduce((all, [kind, on]) => (on ? `${all} is-${kind}` : all), name);
