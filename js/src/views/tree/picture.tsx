/** The tree as SVG: edges as wide as their weights, tokens as pills; and its legend. */

import { rampValue } from "../../draw/color/scale";
import { exact, formatNumber } from "../../figures/format";
import type { Scale } from "../../state/selection";
import { memo } from "../../ui/memo";
import {
  edgePath,
  INDEX_GAP,
  NUMBER_GAP,
  numberPlace,
  PILL_HEIGHT,
  ROW,
  type TreeBox,
  type TreeLayout,
} from "./layout";

/** Width of the edge of the largest weight, px; the least is what a screen still shows. */
const EDGE = { most: 12, least: 0.75 } as const;
/** Width that a finger needs, px. */
const TARGET = 24;
const CHEVRON = { open: "M2,-4L-2,0L2,4", closed: "M-2,-4L2,0L-2,4" } as const;

const depthColor = (depth: number) => ({ "--aw-depth": `var(--aw-depth-${depth})` });
const edgeWidth = (share: number): number => Math.max(EDGE.least, EDGE.most * share);
const classes = (...names: (string | false)[]): string => names.filter(Boolean).join(" ");

/** How the tokens of a tree are drawn and named. */
export interface Look {
  error(weight: number): number;
  /** 0..1 of the widest edge. */
  share(weight: number): number;
  spoken(box: TreeBox): string;
  /** The whole token, where the pill shows it cut. */
  whole(box: TreeBox): string | null;
  token(box: TreeBox): number;
}

export const Picture = memo(function Picture({
  layout,
  look,
  label,
  entry,
  lit,
}: {
  readonly layout: TreeLayout;
  readonly look: Look;
  readonly label: string;
  /** Path of the token that Tab enters. */
  readonly entry: string;
  /** Paths from the root to the token that is pointed at. */
  readonly lit: ReadonlySet<string>;
}) {
  const { boxes, name, width, height } = layout;
  const siblings = new Map<TreeBox | null, number>();
  for (const { parent } of boxes) siblings.set(parent, (siblings.get(parent) ?? 0) + 1);
  // Wide edges first: thin ones stay in sight.
  const edges = boxes
    .filter(({ parent }) => parent !== null)
    .sort((a, b) => (b.node.weight ?? 0) - (a.node.weight ?? 0));
  return (
    <svg
      class={classes("aw-tree-svg", name === "force" && "is-force", lit.size > 1 && "has-lit")}
      role="tree"
      data-aw-part="tree"
      aria-label={label}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
    >
      <g class="aw-tree-edges" aria-hidden="true">
        {edges.map((box) => (
          <path
            key={box.path}
            class={classes("aw-tree-edge", lit.has(box.path) && "is-lit")}
            data-path={box.path}
            d={box.parent === null ? "" : edgePath(name, box.parent, box)}
            stroke-width={edgeWidth(look.share(box.node.weight ?? 0)).toFixed(2)}
            style={depthColor(box.node.depth)}
          />
        ))}
      </g>
      <g class="aw-tree-nodes" role="none">
        {boxes.map((box) => (
          <Token
            key={box.path}
            box={box}
            layout={layout}
            look={look}
            siblings={siblings.get(box.parent) ?? 1}
            lit={lit.has(box.path)}
            tab={box.path === entry}
          />
        ))}
      </g>
    </svg>
  );
});

const Token = memo(function Token({
  box,
  layout: { name, density },
  look,
  siblings,
  lit,
  tab,
}: {
  readonly box: TreeBox;
  readonly layout: TreeLayout;
  readonly look: Look;
  /** Children of its parent, itself included. */
  readonly siblings: number;
  readonly lit: boolean;
  readonly tab: boolean;
}) {
  const { node, label, parent, width, inner, open } = box;
  // The weight belongs to its token when it is drawn next to it.
  const beside = name === "tidy" ? Math.ceil(box.numberWidth) + NUMBER_GAP : 0;
  const whole = look.whole(box);
  const error = node.weight === null ? 0 : look.error(node.weight);
  const number = node.weight === null ? null : formatNumber(node.weight, undefined, error);
  const at = numberPlace(name, box);
  // Its visible label first, for users of voice control.
  const written = [label.text, label.index, number].filter((text) => text !== null).join(" ");
  return (
    <g
      class={classes(
        "aw-tree-node",
        parent === null && "is-root",
        inner && !open && "is-closed",
        lit && "is-lit",
      )}
      role="treeitem"
      tabindex={tab ? 0 : -1}
      transform={`translate(${box.x},${box.y})`}
      style={depthColor(node.depth)}
      data-aw-part="tree-node"
      data-path={box.path}
      data-token={look.token(box)}
      aria-level={node.depth + 1}
      aria-posinset={Math.max(node.order, 1)}
      aria-setsize={siblings}
      aria-expanded={inner ? open : undefined}
      aria-selected={parent === null}
      aria-label={`${written}: ${look.spoken(box)}`}
    >
      {whole !== null && <title>{whole}</title>}
      <rect class="aw-tree-hit" x={-beside} y={-ROW / 2} width={width + beside} height={ROW} />
      <rect
        class="aw-tree-pill"
        x={0}
        y={-PILL_HEIGHT / 2}
        width={width}
        height={PILL_HEIGHT}
        rx={4}
      />
      <text class="aw-tree-label" x={density.pad} dy="0.35em">
        {label.text}
      </text>{" "}
      {label.index !== null && (
        <text
          class="aw-tree-at"
          x={(density.pad + label.textWidth + INDEX_GAP).toFixed(1)}
          dy="0.35em"
        >
          {label.index}
        </text>
      )}{" "}
      {inner && (
        <g
          class="aw-tree-toggle"
          aria-hidden="true"
          transform={`translate(${width - density.chevron / 2 - 3},0)`}
        >
          <rect
            class="aw-tree-hit"
            x={-density.chevron / 2 - 1}
            y={-ROW / 2}
            width={Math.max(TARGET, density.chevron + 4)}
            height={ROW}
          />
          <path class="aw-tree-chevron" d={open ? CHEVRON.open : CHEVRON.closed} />
        </g>
      )}
      {node.weight !== null && (
        <text
          class="aw-tree-number aw-number"
          x={at.x - box.x}
          y={at.y - box.y}
          dy="0.35em"
          text-anchor={at.anchor}
          data-aw-value={exact(node.weight, error)}
        >
          {number}
        </text>
      )}
    </g>
  );
});

/** Sizes of the legend, px. */
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
  const format = (value: number): string => formatNumber(value, undefined, off);
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
        data-aw-value={value === undefined ? undefined : exact(value, off)}
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
      class={classes("aw-tree-legend", alone && "aw-tree-alone")}
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
