/** The radar: one axis a specialization, one outline a head. */

import type { SpecializationMetric } from "../../figures/catalog/types";
import { formatNumber } from "../../figures/format";
import { headName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import {
  axisPoint,
  nearestOutline,
  type Outline,
  outline,
  type Point,
  type RadarScale,
  shareOf,
} from "./radar-geometry";

/** px; the labels stand outside of the radius. */
const LABEL = { side: 100, top: 38, bottom: 30, gap: 10 } as const;
const RADIUS = { least: 56, most: 132 } as const;
const WIDEST = 2 * (LABEL.side + RADIUS.most);
/** Largest distance of the pointer from an outline, px. */
const REACH = 14;
const CHANCE_MARK = 7;

interface RadarProps {
  readonly metrics: readonly SpecializationMetric[];
  readonly scale: RadarScale;
  /** One row a head of the layer, one figure an axis; NaN = N/A. Empty: only the chosen outline is drawn. */
  readonly heads: readonly (readonly number[])[];
  /** The strong outline: a head's, or the mean of all. */
  readonly chosen: readonly number[];
  /** Index of the chosen head; -1 for the mean. */
  readonly chosenHead: number;
  /** Chance level of each axis, where one is drawn; NaN = none. */
  readonly chance: readonly number[];
  /** Why an axis is N/A; null where it is not. */
  readonly absent: readonly (string | null)[];
  readonly spoken: string;
  /** Available width, px. */
  readonly width: number;
  readonly pointed?: number | null;
  readonly select?: (head: number) => void;
  readonly point?: (head: number | null) => void;
  readonly explain?: (key: string) => void;
}

export function Radar(props: RadarProps) {
  const { metrics, scale, heads, chosen, chosenHead, chance, absent, pointed = null } = props;
  const width = Math.min(props.width, WIDEST);
  const radius = Math.max(RADIUS.least, Math.min(RADIUS.most, width / 2 - LABEL.side));
  const height = 2 * radius + LABEL.top + LABEL.bottom;
  const [x, y] = [width / 2, LABEL.top + radius];
  const shape = (row: readonly number[]): Outline =>
    outline(
      row.map((value) => shareOf(value, scale)),
      radius,
    );
  const outlines = heads.map(shape);
  const strong = shape(chosen);
  // The outline under the pointer lies in front of its layer, behind the chosen one.
  const order = [...outlines.keys()].sort((a, b) => Number(a === pointed) - Number(b === pointed));

  type SvgEvent = MouseEvent & { readonly currentTarget: Element };
  function headAt({ clientX, clientY, currentTarget }: SvgEvent): number | null {
    const { left, top } = currentTarget.getBoundingClientRect();
    return nearestOutline(outlines, [clientX - left - x, clientY - top - y], REACH);
  }
  function onClick(event: SvgEvent): void {
    const label = (event.target as Element).closest<SVGElement>(".aw-radar-label");
    const head = headAt(event);
    if (label?.dataset.key !== undefined) props.explain?.(label.dataset.key);
    else if (head !== null) props.select?.(head);
  }

  return (
    <svg
      class={pointed === null ? "aw-radar" : "aw-radar is-over"}
      role="img"
      aria-label={props.spoken}
      data-aw-part="radar"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      onPointerMove={(event) => props.point?.(headAt(event))}
      onPointerLeave={() => props.point?.(null)}
      onClick={onClick}
    >
      <g transform={`translate(${x} ${y})`}>
        {scale.rings.map((ring) => (
          <polygon
            key={ring}
            class={scale.low < 0 && ring === 0 ? "aw-radar-ring is-zero" : "aw-radar-ring"}
            points={metrics
              .map((_, axis) => axisPoint(axis, metrics.length, shareOf(ring, scale) * radius))
              .map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`)
              .join(" ")}
          />
        ))}
        {metrics.map(({ key }, axis) => {
          const [x2, y2] = axisPoint(axis, metrics.length, radius);
          const kind = absent[axis] == null ? "" : " is-absent";
          return <line key={key} class={`aw-radar-axis${kind}`} x2={x2} y2={y2} />;
        })}
        {order.map((head) => {
          const { line, points } = itemAt(outlines, head);
          const kind = `${head === chosenHead ? " is-chosen" : ""}${head === pointed ? " is-pointed" : ""}`;
          return (
            <g key={head} class={`aw-radar-head${kind}`} data-head={head}>
              <path d={line} />
              <Points
                points={points.map((point, i) => (isAlone(points, i) ? point : null))}
                r={2}
              />
            </g>
          );
        })}
        <g class="aw-radar-chosen">
          <path class="aw-radar-area" d={strong.area} />
          <path class="aw-radar-line" d={strong.line} />
          <Points points={strong.points} r={3} />
        </g>
        {chance.map((value, axis) => {
          if (!Number.isFinite(value)) return null;
          const [x, y] = axisPoint(axis, metrics.length, shareOf(value, scale) * radius);
          const [dx, dy] = axisPoint(axis + metrics.length / 4, metrics.length, CHANCE_MARK);
          const ends = { x1: x - dx, y1: y - dy, x2: x + dx, y2: y + dy };
          return <line key={axis} class="aw-radar-chance" {...ends} />;
        })}
        {/* Labels next to the first axis: the center, a ring, the rim. */}
        {[scale.low, itemAt(scale.rings, 1), scale.high].map((value, i) => (
          <text
            key={i}
            class="aw-radar-tick"
            x={5}
            y={+(4 - shareOf(value, scale) * radius).toFixed(2)}
          >
            {formatNumber(value, 2)}
          </text>
        ))}
        {metrics.map((metric, axis) => (
          <Label
            key={metric.key}
            metric={metric}
            at={axisPoint(axis, metrics.length, radius + LABEL.gap)}
            radius={radius}
            up={axis === 0}
            absent={absent[axis] ?? null}
          />
        ))}
      </g>
    </svg>
  );
}

const Points = ({ points, r }: { readonly points: Outline["points"]; readonly r: number }) =>
  points.map(
    (point, axis) =>
      point && <circle key={axis} cx={+point[0].toFixed(2)} cy={+point[1].toFixed(2)} r={r} />,
  );

/** True if both neighbors of an axis are N/A: no line shows its figure. */
const isAlone = (points: Outline["points"], axis: number): boolean =>
  points[(axis + 1) % points.length] === null &&
  points[(axis + points.length - 1) % points.length] === null;

function Label({
  metric: { key, name, meaning },
  at: [x, y],
  radius,
  up,
  absent,
}: {
  readonly metric: SpecializationMetric;
  readonly at: Point;
  readonly radius: number;
  readonly up: boolean;
  readonly absent: string | null;
}) {
  const top = up ? y - 16 : y + (y > radius / 2 ? 6 : -2);
  return (
    <g
      class={absent === null ? "aw-radar-label" : "aw-radar-label is-absent"}
      data-key={key}
      text-anchor={up ? "middle" : x > 0 ? "start" : "end"}
      transform={`translate(${x.toFixed(1)} ${top.toFixed(1)})`}
    >
      <title>{absent === null ? `${name}: ${meaning}` : `${name} is N/A: ${absent}`}</title>
      <text class="aw-radar-name">{absent === null ? name : `${name} –`}</text>
      <text class="aw-radar-meaning" y={14}>
        {absent === null ? meaning : "N/A"}
      </text>
    </g>
  );
}

/** `Radar of L3 · H5: syntax 0.31, semantics 0.42 …; entities not available`, for screen readers. */
export function spokenRadar(
  layer: number,
  head: number | "mean",
  metrics: readonly SpecializationMetric[],
  values: readonly number[],
): string {
  const figures = metrics.map(({ name }, axis) => {
    const value = values[axis] ?? Number.NaN;
    return `${name} ${Number.isNaN(value) ? "not available" : formatNumber(value)}`;
  });
  return `Radar of ${headName(layer, head)}: ${figures.join(", ")}`;
}
