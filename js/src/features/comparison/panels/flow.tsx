/** Changes of weights as lines from queries to keys: solid and orange for more in B, dashed and blue for less. */

import { type Mode, ramp } from "../../../draw/color/ramp";
import { signedIndex } from "../../../draw/color/scale";
import { curveOf } from "../../../draw/heatmap/flow";
import { largest } from "../../../figures/derive/matrix";
import { shorten } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import { signed } from "../../../ui/signs";
import type { Weights } from "../data";

const WIDTH = 320;
const LABELS = 96;
const LABEL_LETTERS = 13;
/** Distance of two tokens, px. */
const STEP = { least: 0.1, most: 22, label: 11 } as const;
const HEIGHT = 560;
const TOP = 22;
/** Lines beyond this many, and changes below this share of the largest, are illegible. */
const LINES = { most: 60, share: 0.04 } as const;
const THICK = 5;
/** A line paler than this is lost on the ground. */
const PALEST = 0.35;
const DASHES = "5 3";
const path = (x0: number, y0: number, x1: number, y1: number): string =>
  `M${x0},${y0}C${curveOf(x0, y0, x1, y1)}`;

/** The first of `places` and each later one that lies at least `least` from those taken. */
export function apart(places: readonly number[], least: number): Set<number> {
  const taken = new Set<number>();
  for (const place of places) {
    if ([...taken].every((other) => Math.abs(other - place) >= least)) taken.add(place);
  }
  return taken;
}

/** Cells with the largest changes, the largest last. */
function strongest({ change, most }: Weights): number[] {
  const large: number[] = [];
  // No iterators here: this runs over every cell at every head.
  for (let at = 0; at < change.length && most > 0; at++) {
    if (Math.abs(change[at] as number) >= LINES.share * most) large.push(at);
  }
  return largest(
    large.map((at) => Math.abs(itemAt(change, at))),
    LINES.most,
  )
    .map((place) => itemAt(large, place))
    .reverse();
}

/** `row`: the query whose lines stand out; -1 for all. */
export function Flow({
  names,
  keys,
  weights,
  row,
  mode,
  choose,
}: {
  readonly names: readonly string[];
  /** Names of the matched keys; in one text they are the same. */
  readonly keys: readonly string[];
  readonly weights: Weights | null;
  readonly row: number;
  readonly mode: Mode;
  readonly choose: (row: number) => void;
}) {
  const longest = Math.max(names.length, keys.length, 1);
  const step = Math.min(STEP.most, Math.max(STEP.least, HEIGHT / longest));
  const y = (i: number): number => TOP + (i + 0.5) * step;
  const { css } = ramp("signed", mode);
  const cells = weights === null ? [] : strongest(weights);
  const { change, most, columns } = weights ?? { change: new Float32Array(), most: 1, columns: 1 };
  const line = (at: number) => {
    const value = itemAt(change, at);
    const [query, key] = [Math.floor(at / columns), at % columns];
    const part = Math.abs(value) / most;
    const shade = Math.sign(value) * (PALEST + (1 - PALEST) * part);
    return (
      <path
        key={at}
        class={`aw-compare-link${row >= 0 && query !== row ? " is-faint" : ""}`}
        d={path(LABELS, y(query), WIDTH - LABELS, y(key))}
        fill="none"
        stroke={itemAt(css, signedIndex(shade * 0.85, 1))}
        stroke-width={Math.max(1, Math.min(THICK, step) * part)}
        stroke-dasharray={value < 0 ? DASHES : undefined}
        data-query={query}
      >
        <title>{`${names[query]} → ${keys[key]}: ${signed(value, 3)}`}</title>
      </path>
    );
  };
  const side = (right: boolean) => {
    const x = right ? WIDTH - LABELS + 6 : LABELS - 6;
    const anchor = right ? "start" : "end";
    const ends = [...cells]
      .reverse()
      .map((at) => (right ? at % columns : Math.floor(at / columns)));
    const named = apart(ends, STEP.label / step);
    return (
      <>
        {(right ? keys : names).map((name, i) => {
          if (step < STEP.label && !named.has(i)) return null;
          const query = right
            ? {}
            : { "data-row": i, class: i === row ? "is-chosen" : "", onClick: () => choose(i) };
          return (
            <text
              key={i}
              x={x}
              y={y(i)}
              text-anchor={anchor}
              dominant-baseline="central"
              {...query}
            >
              {shorten(name, LABEL_LETTERS)}
            </text>
          );
        })}
        <text class="aw-compare-axis" x={x} y={TOP - 12} text-anchor={anchor}>
          {right ? "key" : "query"}
        </text>
      </>
    );
  };
  return (
    <svg
      class="aw-compare-flow"
      width={WIDTH}
      height={TOP + step * longest + 4}
      role="img"
      data-aw-part="difference-flow"
      aria-label={`Flow of ${cells.length} changed weights: solid orange lines mean more in B, dashed blue ones less`}
    >
      {cells.map(line)}
      {side(false)}
      {side(true)}
    </svg>
  );
}
