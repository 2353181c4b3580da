/** A strip of dots, one for every value, spread sideways where they crowd; and a sparkline with its band. */

const SVG = "http://www.w3.org/2000/svg";

/** Height of the strip and of a dot, px. The width is the element's own. */
export const STRIP_HEIGHT = 34;
const DOT_RADIUS = 2.5;
/** Dots nearer than this share of the width are stacked: about one dot on a card. */
const BIN = 1 / 40;

export type Domain = readonly [number, number];

export function svg(
  tag: string,
  attributes: Readonly<Record<string, string | number>>,
): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** Where `value` lies in `domain`, as a share; the middle when the domain is a point. */
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

/** One dot for every value; a value that is N/A has none. Dots carry `data-index`. */
export function dotStrip(
  values: readonly number[],
  domain: Domain,
): { element: SVGElement; dots: (SVGElement | null)[] } {
  const element = svg("svg", {
    class: "aw-strip-dots",
    height: STRIP_HEIGHT,
    "aria-hidden": "true",
  });
  const at = values.map((value) => share(value, domain));
  const y = dodge(at, STRIP_HEIGHT);
  const dots = at.map((x, index) => {
    if (Number.isNaN(x)) return null;
    return svg("circle", {
      class: "aw-dot",
      cx: percent(x),
      cy: +(y[index] as number).toFixed(2),
      r: DOT_RADIUS,
      "data-index": index,
    });
  });
  element.append(...dots.filter((dot) => dot !== null));
  return { element, dots };
}

export const SPARK_HEIGHT = 30;

export interface BandPoint {
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

/** A line through the means with a band from the smallest to the largest value, drawn to any width. */
export function bandSparkline(
  points: readonly BandPoint[],
  domain: Domain,
): { element: SVGElement; x: (index: number) => number; y: (value: number) => number } {
  const element = svg("svg", { class: "aw-spark", height: SPARK_HEIGHT, "aria-hidden": "true" });
  const x = (index: number): number => (points.length > 1 ? index / (points.length - 1) : 0.5);
  const y = (value: number): number => SPARK_HEIGHT * (1 - share(value, domain));
  const stretched = svg("svg", {
    viewBox: `0 0 1 ${SPARK_HEIGHT}`,
    preserveAspectRatio: "none",
    width: "100%",
    height: SPARK_HEIGHT,
  });
  const known = points.flatMap((point, index) =>
    Number.isNaN(point.mean) ? [] : [{ point, index }],
  );
  const line = (pick: (point: BandPoint) => number, items = known): string =>
    items
      .map(({ point, index }) => `${x(index).toFixed(4)},${y(pick(point)).toFixed(2)}`)
      .join(" ");
  stretched.append(
    svg("polygon", {
      class: "aw-spark-band",
      points: `${line((p) => p.max)} ${line((p) => p.min, [...known].reverse())}`,
    }),
    svg("polyline", { class: "aw-spark-mean", points: line((p) => p.mean) }),
  );
  element.append(stretched);
  return { element, x, y };
}
