/** Hidden states: their strips by layer, their length and turn, and all of them in one plane. */

import { signal } from "@preact/signals-core";
import { byTouch } from "../../../draw/touch";
import { exact, formatNumber, formatPercent } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import { memo } from "../../../ui/memo";
import { Name } from "../bars";
import { at, type Content, ofDimensions, type StageContext, strip } from "../content";
import { type Changes, firstWindow } from "../data";
import { argmax } from "../dimensions";

const CHART = { width: 320, height: 84, left: 44, right: 10, top: 8, bottom: 18 } as const;

/** A value for each layer as a line, with a title on each point, the extreme one marked. */
function chart(
  title: string,
  values: readonly number[],
  first: number,
  [low, high]: readonly [number, number],
  marked: number,
) {
  const { width, height, left, right, top, bottom } = CHART;
  const x = (i: number): number =>
    left + ((width - left - right) * i) / Math.max(1, values.length - 1);
  const y = (value: number): number =>
    top + (height - top - bottom) * (1 - (value - low) / (high - low || 1));
  const every = Math.ceil(values.length / 9);
  const named = (i: number): boolean =>
    i % every === 0 ||
    (i === values.length - 1 && i + first - Math.floor(i / every) * every >= every / 2);
  return (
    <figure class="aw-inside-figure">
      <figcaption class="aw-title">{title}</figcaption>
      <svg
        class="aw-inside-chart"
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="img"
        aria-label={`${title} by layer: ${values.map((v, i) => `L${i + first} ${formatNumber(v)}`).join(", ")}`}
      >
        <path
          class="aw-chart-axis"
          d={`M${left} ${y(low)}H${width - right}M${left} ${y(high)}H${width - right}`}
        />
        {[low, high].map((value, i) => (
          <text key={i} x={left - 6} y={y(value) + 4} text-anchor="end">
            {formatNumber(value)}
          </text>
        ))}
        <polyline
          class="aw-chart-line"
          points={values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ")}
        />
        {values.map((value, i) => [
          <circle
            class={`aw-chart-dot${i === marked ? " is-largest" : ""}`}
            cx={x(i)}
            cy={y(value)}
            r={i === marked ? 4 : 2.5}
            data-aw-value={exact(value)}
          >
            <title>{`L${i + first}: ${exact(value)}`}</title>
          </circle>,
          named(i) && <text x={x(i)} y={height - 4} text-anchor="middle">{`L${i + first}`}</text>,
        ])}
      </svg>
    </figure>
  );
}

const PLANE = { width: 380, height: 276, left: 30, right: 8, top: 8, bottom: 28 } as const;
/** Around the points, px. */
const PAD = 16;
/** A point this near (px) is the one that is pointed at. */
const NEAR = 14;
const LABEL = { width: 20, height: 12, away: 9 } as const;
/** Candidate positions of a label, as shares of its distance. */
const AWAY: readonly (readonly [number, number])[] = [
  [1, -0.6],
  [1, 0.9],
  [-1, -0.6],
  [-1, 0.9],
  [0, -1],
  [0, 1.3],
];

type Point = readonly [x: number, y: number];

/** Labels of points, free of points and of each other; null for one without a place. The first and the last always have one. */
export function placeLabels(points: readonly Point[]): (Point | null)[] {
  const { width, height, left, right, top, bottom } = PLANE;
  const [half, last] = [LABEL.width / 2, points.length - 1];
  const taken: Point[] = [];
  const labels: (Point | null)[] = points.map(() => null);
  for (const i of new Set([0, last, ...points.keys()])) {
    const [px, py] = itemAt(points, i);
    const others = points.filter((_, other) => other !== i);
    const free = AWAY.map(
      ([dx, dy]): Point => [px + dx * (LABEL.away + half - 4), py + dy * LABEL.away],
    ).find(
      ([x, y]) =>
        x > left + half &&
        x < width - right - half &&
        y > top + LABEL.height / 2 &&
        y < height - bottom - LABEL.height / 2 &&
        [...taken, ...others].every(
          ([ox, oy]) => Math.abs(ox - x) > LABEL.width - 3 || Math.abs(oy - y) > LABEL.height,
        ),
    );
    const label = free ?? (i === 0 || i === last ? ([px, py - LABEL.away] as const) : null);
    labels[i] = label;
    if (label !== null) taken.push(label);
  }
  return labels;
}

/** Every hidden state of every layer in the plane of their two principal directions. */
function plane(stage: StageContext, { path: { points, explained } }: Changes) {
  const { view, token, layer, name } = stage;
  const { tokens, model } = view.source.meta;
  const n = tokens.text.length;
  const states = model.n_layers + 1;
  const { width, height, left, right, top, bottom } = PLANE;
  const [wide, tall] = [width - left - right, height - top - bottom];
  /** Places of all values of a coordinate: as shares of their range. */
  const shares = (axis: 0 | 1): Float32Array => {
    const values = points.filter((_, i) => i % 2 === axis);
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
    return values.map((value) => (value - low) / (high - low || 1));
  };
  const [across, up] = [shares(0), shares(1)];
  const at = (l: number, i: number): Point => [
    left + PAD + (wide - 2 * PAD) * itemAt(across, l * n + i),
    top + tall - PAD - (tall - 2 * PAD) * itemAt(up, l * n + i),
  ];
  const own = Array.from({ length: states }, (_, l) => at(l, token));
  const labels = placeLabels(own);
  const round = (value: number): string => value.toFixed(1);
  const pointed = signal<{ readonly l: number; readonly i: number } | null>(null);
  const nearest = ({ currentTarget, clientX, clientY }: MouseEvent): typeof pointed.value => {
    const box = (currentTarget as Element).getBoundingClientRect();
    const ex = ((clientX - box.left) * width) / box.width;
    const ey = ((clientY - box.top) * height) / box.height;
    let best = { l: 0, i: 0, far: Infinity };
    for (let l = 0; l < states; l++) {
      for (let i = 0; i < n; i++) {
        const [px, py] = at(l, i);
        const far = (px - ex) ** 2 + (py - ey) ** 2;
        if (far < best.far) best = { l, i, far };
      }
    }
    return best.far < NEAR ** 2 ? best : null;
  };
  const point = (found: typeof pointed.value): void => {
    pointed.value = found;
  };
  const Read = memo(() => {
    const found = pointed.value;
    return (
      <figcaption class="aw-view-note">
        {found === null ? "The path of " : null}
        <Name text={found === null ? name : itemAt(tokens.text, found.i)} />
        {found === null
          ? `, L0 (the embeddings) to L${states - 1}; other tokens faint. ${byTouch() ? "Tap one to read and follow it." : "Hover over one to read it; click to follow it."}`
          : ` (${found.i}) in L${found.l}`}
      </figcaption>
    );
  });
  return (
    <figure class="aw-inside-figure aw-inside-plane-figure">
      <h4 class="aw-title">All layers in one plane</h4>
      <svg
        class="aw-inside-plane"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`Hidden states of all tokens in layers 0 to ${states - 1} in the plane of two principal components`}
        data-aw-part="hidden-path"
        onPointerMove={(event) => point(nearest(event))}
        onPointerLeave={() => point(null)}
        onClick={(event) => {
          const found = nearest(event);
          if (found !== null) view.state.set({ token: found.i });
        }}
      >
        <rect
          class="aw-plane-frame"
          x={left + 0.5}
          y={top + 0.5}
          width={wide - 1}
          height={tall - 1}
          rx={4}
        />
        {own.map((_, l) => (
          // The shade is the layer: faint at first, stronger towards the end.
          <path
            key={l}
            class="aw-plane-dots"
            data-layer={l}
            stroke-opacity={(0.18 + (0.5 * l) / Math.max(1, states - 1)).toFixed(2)}
            d={tokens.text
              .map((_, i) => (i === token ? "" : `M${at(l, i).map(round).join(" ")}h0`))
              .join("")}
          />
        ))}
        <polyline
          class="aw-plane-path"
          points={own.map((place) => place.map(round).join(",")).join(" ")}
        />
        <text class="aw-plane-axis" x={left + wide / 2} y={height - 8}>
          {`component 1: ${formatPercent(itemAt(explained, 0))} of the variance`}
        </text>
        <text
          class="aw-plane-axis"
          x={0}
          y={0}
          transform={`translate(16 ${top + tall / 2}) rotate(-90)`}
        >
          {`component 2: ${formatPercent(itemAt(explained, 1))} of the variance`}
        </text>
        {[...new Set([0, states - 1, ...own.keys()])].map((l) => {
          const [[px, py], label] = [itemAt(own, l), labels[l] ?? null];
          return [
            <circle
              class={`aw-plane-point${l === layer ? " is-chosen" : ""}`}
              cx={round(px)}
              cy={round(py)}
              r={l === layer + 1 ? 4.5 : 3.5}
            />,
            label !== null && (
              <text class="aw-plane-label" x={round(label[0])} y={round(label[1] + 4)}>
                {`L${l}`}
              </text>
            ),
          ];
        })}
      </svg>
      <Read />
    </figure>
  );
}

/** With more layers than this only some are written out. */
const MAX_READ = 9;

export async function hidden(stage: StageContext): Promise<Content> {
  const { view, token, arch, layer } = stage;
  const { model, tokens } = view.source.meta;
  const n = tokens.text.length;
  const last = model.n_layers;
  const [strips, found] = await Promise.all([
    Promise.all(
      Array.from({ length: last + 1 }, (_, l) =>
        strip(stage, "hidden", `L${l}`, "hidden states", { layer: l }),
      ),
    ),
    stage.changes(),
  ]);
  const column = (values: Float32Array): number[] =>
    Array.from({ length: values.length / n }, (_, l) => itemAt(values, l * n + token));
  const [lengths, turns] = [column(found.path.norms), column(found.path.cosines)];
  const least = Math.min(0, ...turns.filter((value) => !Number.isNaN(value)));
  const below = (
    <div class="aw-inside-columns">
      {plane(stage, found)}
      <div class="aw-inside-charts aw-stack">
        {chart("Length ‖h‖", lengths, 0, [0, Math.max(...lengths)], argmax(lengths))}
        {chart("Cosine to the layer before", turns, 1, [least, 1], argmax(turns.map((v) => -v)))}
        {arch.notes.map((note) => (
          <p key={note} class="aw-view-note">
            {note}
          </p>
        ))}
      </div>
    </div>
  );
  // A deep model is read where it begins, before and after the chosen layer, and where it ends.
  const read =
    strips.length <= MAX_READ ? [...strips.keys()] : [...new Set([0, layer, layer + 1, last])];
  return ofDimensions(
    strips,
    firstWindow("hidden"),
    (i) =>
      read.map((l, k) => ({ sign: k === 0 ? "" : "→", label: `L${l}`, value: at(strips[l], i) })),
    {
      below,
      table: lengths.map((value, l) => {
        return ["norm", l, null, token, itemAt(tokens.text, token), null, value];
      }),
    },
  );
}
