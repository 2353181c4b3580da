/** The legend of the tree: the colors of its levels, and the widths of its edges. */

import { rampValue } from "../../draw/color/scale";
import { exact, formatNumber } from "../../figures/format";
import type { Scale } from "../../state/selection";
import { depthColor, edgeWidth } from "./picture";

/** Sizes, px. */
const HEIGHT = 20;
const SAMPLE = 24;
const GAP = 6;
const GROUP_GAP = 20;
/** Shares of the widest edge that are shown. */
const WIDTHS = [0.1, 0.5, 1] as const;

export function Legend({
  quantity,
  depth,
  max,
  scale,
  error,
  alone,
  measure,
  room,
}: {
  readonly quantity: string;
  readonly depth: number;
  readonly max: number;
  readonly scale: Scale;
  readonly error: number;
  readonly alone: boolean;
  readonly measure: (text: string) => number;
  readonly room: number;
}) {
  const off = scale === "unit" ? 0 : error;
  const format = (value: number): string => formatNumber({ value, error: off });
  const name = scale === "sqrt" ? `${quantity} (width by its root)` : quantity;
  const wide = (text: string): number => Math.ceil(measure(text)) + GAP;
  type Item = readonly [width: number, color: number | null, text: string, value?: number];
  const levels = Array.from({ length: depth }, (_, i): Item => [4, i + 1, String(i + 1)]);
  const widths = WIDTHS.map((share): Item => {
    const value = rampValue(share, max, scale);
    return [edgeWidth(share), null, format(value), value];
  });
  const spanOf = (title: string, items: readonly Item[]): number =>
    items.reduce((sum, [, , text]) => sum + SAMPLE + GAP + wide(text), wide(title));
  const row = (title: string, items: readonly Item[], x: number, y: number) => {
    let at = x + wide(title);
    const text = (words: string, x: number, value?: number) => (
      <text
        class="aw-tree-legend-text"
        x={x}
        y={y}
        dy="0.35em"
        data-aw-value={value === undefined ? undefined : exact({ value, error: off })}
      >
        {words}
      </text>
    );
    return [
      text(title, x),
      ...items.map(([width, color, words, value]) => {
        const left = at;
        at += SAMPLE + GAP + wide(words);
        return (
          <>
            <path
              class={color === null ? "aw-tree-sample" : "aw-tree-edge"}
              d={`M${left},${y}h${SAMPLE}`}
              stroke-width={width}
              style={color === null ? undefined : depthColor(color)}
            />
            {text(words, left + SAMPLE + GAP, value)}
          </>
        );
      }),
    ];
  };
  const [first, second] = [spanOf("level", levels), spanOf(name, widths)];
  const below = first + GROUP_GAP + second > room;
  const next = below ? { x: 0, y: 1.5 * HEIGHT } : { x: first - GAP + GROUP_GAP, y: HEIGHT / 2 };
  const [width, height] = [Math.max(first, next.x + second), next.y + HEIGHT / 2];
  return (
    <svg
      class={alone ? "aw-tree-legend aw-tree-alone" : "aw-tree-legend"}
      role="img"
      data-aw-part="tree-legend"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      aria-label={`Color: level of the tree, 1 to ${depth}. Width of a line: ${quantity}, the widest ${format(rampValue(1, max, scale))}.`}
    >
      {row("level", levels, 0, HEIGHT / 2)}
      {row(name, widths, next.x, next.y)}
    </svg>
  );
}
