/** One row of colored cells per method, aligned by token. */

import { inkOn, type Mode, ramp } from "../../draw/color/ramp";
import { largestOf, signedIndex } from "../../draw/color/scale";
import { isSign, pickLabels } from "../../draw/heatmap/axis";
import type { Unit } from "../../figures/derive/units";
import { shorten } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { memo } from "../../ui/memo";
import { sumOfUnit } from "./sum";

/** Height of a strip, px. */
const ROW = 20;
/** Cells at least this wide have their tokens written along the row, px; narrower ones upwards. */
const ACROSS = 34;
/** Distance of labels written upwards, px: those of the largest contributions where not all fit. */
const LABEL_GAP = 12;
/** Narrowest cell with a sign, px. */
const SIGNED = 10;
const LABEL_HEIGHT = { across: 18, upwards: 64 } as const;
/** Characters of a label. */
const ACROSS_CHARACTER = 7;
const LONGEST_UPWARDS = 9;

export type Labels = keyof typeof LABEL_HEIGHT;

/** Direction of the labels in a strip `width` px wide; across only if all of them fit. */
export function labelsOf(labels: readonly string[], width: number): Labels {
  const cell = width / labels.length;
  const longest = Math.max(...labels.map((label) => [...label].length));
  return cell >= ACROSS && longest * ACROSS_CHARACTER <= cell ? "across" : "upwards";
}

/** The tokens above the strips; `values` are the contributions of the chosen method. */
export function Header({
  labels,
  values,
  width,
}: {
  readonly labels: readonly string[];
  readonly values: readonly number[];
  readonly width: number;
}) {
  const way = labelsOf(labels, width);
  const height = LABEL_HEIGHT[way];
  const cell = width / labels.length;
  const sizes = labels.map((_, i) => Math.abs(values[i] ?? 0) || 0);
  const track = { start: 0, size: cell, count: labels.length };
  const written =
    way === "across" ? labels.keys() : pickLabels(track, [0, width], LABEL_GAP, sizes);
  return (
    <svg class="aw-why-labels" width={width} height={height} aria-hidden="true">
      {Array.from(written, (i) => {
        const [x, label] = [(i + 0.5) * cell, itemAt(labels, i)];
        const place =
          way === "across" || isSign(label)
            ? ({ x, y: height - 6, "text-anchor": "middle" } as const)
            : { transform: `translate(${x + 3.5} ${height - 5}) rotate(-90)` };
        return (
          <text key={i} {...place}>
            {way === "across" ? label : shorten(label, LONGEST_UPWARDS)}
          </text>
        );
      })}
    </svg>
  );
}

/** Hatching of a cell that passes the end of the ramp, as in the ribbon. */
function hatching(x: number, width: number): string {
  return Array.from({ length: Math.floor((width + ROW) / 5) }, (_, k) => {
    const from = k * 5 - ROW;
    const [a, b] = [Math.max(from, 0), Math.min(from + ROW, width)];
    return `M${(x + a).toFixed(1)} ${(ROW - (a - from)).toFixed(1)}L${(x + b).toFixed(1)} ${(ROW - (b - from)).toFixed(1)}`;
  }).join("");
}

/** One method's row: a cell a unit with its `data-token`, each sign with its own mark where there is room. */
export const Strip = memo(function Strip({
  values,
  units,
  width,
  mode,
}: {
  readonly values: ArrayLike<number>;
  readonly units: readonly Unit[];
  readonly width: number;
  readonly mode: Mode;
}) {
  const all = units.map((unit) => sumOfUnit(values, unit));
  const most = largestOf(
    all,
    units.map(({ special }) => special),
  );
  const cell = width / all.length;
  const gap = cell > 6 ? 1 : 0;
  const { css, rgb } = ramp("signed", mode);
  return (
    <svg class="aw-why-cells" width={width} height={ROW} aria-hidden="true">
      {all.map((value, i) => {
        const absent = Number.isNaN(value);
        const index = signedIndex(value, most);
        return [
          <rect
            x={+(i * cell).toFixed(2)}
            y={0}
            width={+Math.max(cell - gap, 0.5).toFixed(2)}
            height={ROW - 1}
            data-token={itemAt(units, i).token}
            class={absent ? "is-absent" : ""}
            fill={absent ? undefined : itemAt(css, index)}
          />,
          Math.abs(value) > most && (
            <path class="aw-why-overflow" d={hatching(i * cell, cell - gap)} />
          ),
          // A sign is shown without color too, where it matters.
          value < 0 && cell >= SIGNED && Math.abs(value) > most / 8 && (
            <text
              x={(i + 0.5) * cell}
              y={ROW / 2 + 4}
              text-anchor="middle"
              fill={inkOn(itemAt(rgb, index))}
            >
              −
            </text>
          ),
        ];
      })}
    </svg>
  );
});
