/** Charts in SVG that take any width: a strip of dots, and a line with its band. */

import { type Domain, dodge, percent, STRIP_HEIGHT, share } from "../draw/strip";
import { memo } from "./memo";

const DOT_RADIUS = 2.5;
const SPARK_HEIGHT = 30;

interface Dot {
  readonly index: number;
  readonly x: number;
  readonly y: number;
}

/** A dot for each value that is a number, in groups of `size` (the heads of a layer). */
export function dotsOf(values: readonly number[], domain: Domain, size: number): Dot[][] {
  const at = values.map((value) => share(value, domain));
  const y = dodge(at, STRIP_HEIGHT);
  const dots = at.map((x, index) => ({ index, x, y: y[index] ?? 0 }));
  return Array.from({ length: Math.ceil(values.length / size) }, (_, group) =>
    dots.slice(group * size, (group + 1) * size).filter(({ x }) => !Number.isNaN(x)),
  );
}

/** Dots that carry `data-index`, with one group, one dot and the dot under the pointer marked. */
export const DotStrip = ({
  groups,
  group,
  index,
  pointed,
}: {
  readonly groups: readonly (readonly Dot[])[];
  readonly group: number;
  readonly index: number;
  readonly pointed: number | null;
}) => (
  <svg class="aw-strip-dots" height={STRIP_HEIGHT} aria-hidden="true">
    {groups.map((dots, i) => (
      <Dots
        key={i}
        dots={dots}
        marked={i === group}
        chosen={i === group ? index : -1}
        pointed={dots.some((dot) => dot.index === pointed) ? pointed : null}
      />
    ))}
  </svg>
);

const Dots = memo(function Dots({
  dots,
  marked,
  chosen,
  pointed,
}: {
  readonly dots: readonly Dot[];
  readonly marked: boolean;
  readonly chosen: number;
  readonly pointed: number | null;
}) {
  return (
    <g>
      {dots.map(({ index, x, y }) => (
        <circle
          key={index}
          class={`aw-dot${marked ? " is-layer" : ""}${index === chosen ? " is-this" : ""}${index === pointed ? " is-pointed" : ""}`}
          cx={percent(x)}
          cy={+y.toFixed(2)}
          r={DOT_RADIUS}
          data-index={index}
        />
      ))}
    </g>
  );
});

interface BandPoint {
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

/** A line through means with a band from the smallest to the largest value; one of them, and a value there, marked. */
export function Sparkline({
  points,
  domain,
  index,
  value,
}: {
  readonly points: readonly BandPoint[];
  readonly domain: Domain;
  readonly index: number;
  readonly value: number;
}) {
  const x = (i: number): number => (points.length > 1 ? i / (points.length - 1) : 0.5);
  const y = (value: number): number => SPARK_HEIGHT * (1 - share(value, domain));
  const defined = [...points.keys()].filter((i) => !Number.isNaN(points[i]?.mean));
  const line = (end: keyof BandPoint, indices = defined): string =>
    indices.map((i) => `${x(i).toFixed(4)},${y(points[i]?.[end] ?? 0).toFixed(2)}`).join(" ");
  const at = percent(x(index));
  return (
    <svg class="aw-spark" height={SPARK_HEIGHT} aria-hidden="true">
      <line class="aw-spark-layer" x1={at} x2={at} y1={0} y2="100%" />
      <svg
        viewBox={`0 0 1 ${SPARK_HEIGHT}`}
        preserveAspectRatio="none"
        width="100%"
        height={SPARK_HEIGHT}
        aria-hidden="true"
      >
        <polygon
          class="aw-spark-band"
          points={`${line("max")} ${line("min", [...defined].reverse())}`}
        />
        <polyline class="aw-spark-mean" points={line("mean")} />
      </svg>
      {!Number.isNaN(value) && <circle class="aw-spark-mark" r={3} cx={at} cy={y(value)} />}
    </svg>
  );
}
