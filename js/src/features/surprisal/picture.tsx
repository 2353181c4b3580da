/** The text by surprisal: a bar over each word, in lines as a page has them, and the mean. */

import { exact, formatNumber } from "../../figures/format";
import type { WordRow } from "./data";

/** px */
const SIZE = {
  text: 12,
  number: 9,
  bar: 44,
  thick: 16,
  label: 18,
  gap: 8,
  pad: 5,
  least: 26,
} as const;
const LINE = SIZE.number + 2 + SIZE.bar + SIZE.label + SIZE.gap;

export interface Placed {
  readonly row: WordRow;
  readonly x: number;
  readonly width: number;
  readonly line: number;
}

/** Words from left to right in lines of `width`; a word that is longer has a line of its own, and passes its end. */
export function placed(
  rows: readonly WordRow[],
  width: number,
  measure: (text: string) => number,
): Placed[] {
  let [x, line] = [0, 0];
  return rows.map((row) => {
    const own = Math.ceil(Math.max(SIZE.least, measure(row.text) + 2 * SIZE.pad));
    if (x > 0 && x + own > width) [x, line] = [0, line + 1];
    const place = { row, x, width: own, line };
    x += own;
    return place;
  });
}

export function SurprisalPicture({
  words,
  mean,
  focus,
  measure,
  width,
}: {
  readonly words: readonly WordRow[];
  /** Bits; null without a mean. */
  readonly mean: number | null;
  /** The focus token. */
  readonly focus: number | null;
  readonly measure: (text: string, size: number) => number;
  readonly width: number;
}) {
  const places = placed(words, width, (text) => measure(text, SIZE.text));
  const top = Math.max(1e-9, ...words.map(({ bits }) => (Number.isNaN(bits) ? 0 : bits)));
  const lines = (places.at(-1)?.line ?? 0) + 1;
  const whole = Math.max(width, ...places.map((each) => each.x + each.width));
  const height = lines * LINE;
  const ends = Array.from({ length: lines }, (_, line) =>
    Math.max(0, ...places.filter((each) => each.line === line).map((each) => each.x + each.width)),
  );
  const ground = (line: number) => line * LINE + SIZE.number + 2 + SIZE.bar;
  return (
    <svg
      class="aw-surprisal-svg"
      data-aw-part="surprisal"
      role="img"
      aria-label={`Surprisal of ${words.length} words, in bits`}
      viewBox={`0 0 ${whole} ${height}`}
      width={whole}
      height={height}
    >
      {places.map(({ row, x, width: own, line }) => {
        const { text, bits, first, end } = row;
        const known = !Number.isNaN(bits);
        const tall = known ? (bits / top) * SIZE.bar : 0;
        const here = focus !== null && focus >= first && focus < end;
        const middle = x + own / 2;
        return (
          <g
            key={first}
            class={`aw-surprisal-word${here ? " is-focus" : ""}`}
            data-token={first}
            {...(known && { "data-aw-value": exact(bits) })}
          >
            <title>
              {known ? `${text}: ${formatNumber(bits)} bits` : `${text}: not predicted`}
            </title>
            <rect
              class="aw-surprisal-hit"
              {...{ x, y: line * LINE, width: own, height: LINE - SIZE.gap }}
            />
            {known && (
              <rect
                class="aw-surprisal-bar"
                x={middle - SIZE.thick / 2}
                y={ground(line) - tall}
                width={SIZE.thick}
                height={tall}
              />
            )}
            <text
              class="aw-surprisal-number"
              x={middle}
              y={ground(line) - tall - 2}
              text-anchor="middle"
            >
              {known ? bits.toFixed(1) : ""}
            </text>
            <text
              class="aw-surprisal-text"
              x={middle}
              y={ground(line) + SIZE.text + 1}
              text-anchor="middle"
            >
              {text}
            </text>
          </g>
        );
      })}
      {mean !== null &&
        ends.map((end, line) => {
          const y = ground(line) - (mean / top) * SIZE.bar;
          return <line key={line} class="aw-surprisal-mean" x1={0} x2={end} y1={y} y2={y} />;
        })}
    </svg>
  );
}
