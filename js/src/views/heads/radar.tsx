/** The radar: one axis a specialization, one outline a head. */
import type { SpecializationMetric } from "../../figures/catalog/types";
import { formatNumber } from "../../figures/format";
import { headName } from "../../figures/names";
import { cls, fixed, type Point, polygon } from "../../marks/plot";
import { itemAt } from "../../protocol/required";
import { axisPoint, nearestOutline, outline, type RadarScale, shareOf } from "./radar-geometry";

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
  readonly explain?: (key: string, label: SVGElement) => void;
}
type SvgEvent = MouseEvent & { readonly currentTarget: Element };

export function Radar(props: RadarProps) {
  const { metrics, scale, heads, chosen, chance, absent, pointed = null } = props;
  const count = metrics.length;
  const width = Math.min(props.width, WIDEST);
  const radius = Math.max(RADIUS.least, Math.min(RADIUS.most, width / 2 - LABEL.side));
  const height = 2 * radius + LABEL.top + LABEL.bottom;
  const [x, y] = [width / 2, LABEL.top + radius];
  const at = (axis: number, value: number): Point =>
    axisPoint(axis, count, shareOf(value, scale) * radius);
  const shape = (row: readonly number[]) =>
    outline(
      row.map((value) => shareOf(value, scale)),
      radius,
    );
  const outlines = heads.map(shape);
  const strong = shape(chosen);
  // The outline under the pointer lies in front of its layer, behind the chosen one.
  const order = [...outlines.keys()].sort((a, b) => Number(a === pointed) - Number(b === pointed));
  const dots = (points: readonly (Point | null)[], r: number) =>
    points.map(
      (point, i) => point && <circle key={i} cx={fixed(point[0])} cy={fixed(point[1])} r={r} />,
    );
  /** Points whose both neighbors are N/A: no line shows their figure. */
  const alone = (points: readonly (Point | null)[]) =>
    points.map((point, i) =>
      points[(i + 1) % count] === null && points[(i + count - 1) % count] === null ? point : null,
    );
  function headAt({ clientX, clientY, currentTarget }: SvgEvent): number | null {
    const { left, top } = currentTarget.getBoundingClientRect();
    return nearestOutline(outlines, [clientX - left - x, clientY - top - y], REACH);
  }
  function onClick(event: SvgEvent): void {
    const label = (event.target as Element).closest<SVGElement>(".aw-radar-label");
    const head = headAt(event);
    if (label !== null) props.explain?.(label.dataset.key ?? "", label);
    else if (head !== null) props.select?.(head);
  }
  const chanceMark = (value: number, axis: number) => {
    if (!Number.isFinite(value)) return null;
    const [[x, y], [dx, dy]] = [at(axis, value), axisPoint(axis + count / 4, count, CHANCE_MARK)];
    const [x1, y1, x2, y2] = [x - dx, y - dy, x + dx, y + dy];
    return <line key={axis} class="aw-radar-chance" {...{ x1, y1, x2, y2 }} />;
  };
  const label = ({ key, name, meaning }: SpecializationMetric, axis: number) => {
    const [x, y] = axisPoint(axis, count, radius + LABEL.gap);
    const top = axis === 0 ? y - 16 : y + (y > radius / 2 ? 6 : -2);
    const why = absent[axis] ?? null;
    return (
      <g
        key={key}
        class={cls("aw-radar-label", { absent: why !== null })}
        data-key={key}
        text-anchor={axis === 0 ? "middle" : x > 0 ? "start" : "end"}
        transform={`translate(${x.toFixed(1)} ${top.toFixed(1)})`}
      >
        <title>{why === null ? `${name}: ${meaning}` : `${name} is N/A: ${why}`}</title>
        <text class="aw-radar-name">{why === null ? name : `${name} –`}</text>
        <text class="aw-radar-meaning" y={14}>
          {why === null ? meaning : "N/A"}
        </text>
      </g>
    );
  };
  return (
    <svg
      class={cls("aw-radar", { over: pointed !== null })}
      role="img"
      aria-label={props.spoken}
      data-aw-part="radar"
      {...{ width, height, viewBox: `0 0 ${width} ${height}` }}
      onPointerMove={(event) => props.point?.(headAt(event))}
      onPointerLeave={() => props.point?.(null)}
      onClick={onClick}
    >
      <g transform={`translate(${x} ${y})`}>
        {scale.rings.map((ring) => (
          <polygon
            key={ring}
            class="aw-radar-ring"
            points={polygon(metrics.map((_, axis) => at(axis, ring)))}
          />
        ))}
        {metrics.map(({ key }, axis) => {
          const [x2, y2] = axisPoint(axis, count, radius);
          const name = cls("aw-radar-axis", { absent: absent[axis] != null });
          return <line key={key} class={name} {...{ x2, y2 }} />;
        })}
        {order.map((head) => {
          const { line, points } = itemAt(outlines, head);
          const is = { chosen: head === props.chosenHead, pointed: head === pointed };
          return (
            <g key={head} class={cls("aw-radar-head", is)} data-head={head}>
              <path d={line} />
              {dots(alone(points), 2)}
            </g>
          );
        })}
        <g class="aw-radar-chosen">
          <path class="aw-radar-area" d={strong.area} />
          <path class="aw-radar-line" d={strong.line} />
          {dots(strong.points, 3)}
        </g>
        {chance.map(chanceMark)}
        {/* Labels next to the first axis: the center, a ring, the rim. */}
        {[0, itemAt(scale.rings, 1), scale.high].map((value, i) => (
          <text key={i} class="aw-radar-tick" x={5} y={fixed(4 + at(0, value)[1])}>
            {formatNumber(value, 2)}
          </text>
        ))}
        {metrics.map(label)}
      </g>
    </svg>
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
