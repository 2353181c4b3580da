/** The tree as SVG: edges as wide as their weights, and tokens, each a pill, a label, a toggle and a weight. */

import { exact, formatNumber } from "../../figures/format";
import { required } from "../../protocol/required";
import type { Num } from "../../protocol/types";
import { memo } from "../../ui/memo";
import type { Facts } from "./facts";
import {
  type Density,
  INDEX_GAP,
  PILL_HEIGHT,
  type Placement,
  ROW,
  type TreeBox,
  type TreeLabel,
  type TreeLayout,
} from "./layout";

/** Width of the edge of the largest weight, px; the least is what a screen still shows. */
const EDGE = { most: 12, least: 0.75 } as const;
/** Width that a finger needs, px. */
const TARGET = 24;
const CHEVRON = { open: "M2,-4L-2,0L2,4", closed: "M-2,-4L2,0L-2,4" } as const;

/** A token, or another node that is drawn as one. */
export interface NodeFacts
  extends Pick<Facts, "name" | "token" | "weight" | "siblings" | "share" | "spoken"> {
  /** True if its edge leads to another question, and is no share of its parent. */
  readonly dashed?: boolean;
}

export const depthColor = (depth: number) => ({ "--aw-depth": `var(--aw-depth-${depth})` });
export const edgeWidth = (share: number): number => Math.max(EDGE.least, EDGE.most * share);
const classes = (...names: (string | false)[]): string => names.filter(Boolean).join(" ");

export const Picture = memo(function Picture({
  layout: { boxes, placement, density, width, height },
  facts,
  label,
  entry,
  highlighted,
}: {
  readonly layout: TreeLayout;
  /** By path. */
  readonly facts: ReadonlyMap<string, NodeFacts>;
  readonly label: string;
  /** Path of the token that Tab enters. */
  readonly entry: string;
  /** Paths from the root to the token that is pointed at. */
  readonly highlighted: ReadonlySet<string>;
}) {
  const factsOf = ({ path }: TreeBox): NodeFacts => required(facts.get(path), "The token");
  // Wide edges first: thin ones stay in sight.
  const byWidth = [...boxes].sort((a, b) => (b.node.weight ?? 0) - (a.node.weight ?? 0));
  return (
    <svg
      class={classes(
        "aw-tree-svg",
        placement.name === "force" && "is-force",
        highlighted.size > 1 && "has-highlight",
      )}
      role="tree"
      data-aw-part="tree"
      aria-label={label}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
    >
      <g aria-hidden="true">
        {byWidth.map(
          (box) =>
            box.parent !== null && (
              <path
                key={box.path}
                class={classes(
                  "aw-tree-edge",
                  highlighted.has(box.path) && "is-highlighted",
                  factsOf(box).dashed === true && "is-dashed",
                )}
                data-path={box.path}
                d={placement.edge(box.parent, box)}
                stroke-width={edgeWidth(factsOf(box).share).toFixed(2)}
                style={depthColor(box.node.depth)}
              />
            ),
        )}
      </g>
      <g role="none">
        {boxes.map((box) => (
          <Token
            key={box.path}
            box={box}
            facts={factsOf(box)}
            placement={placement}
            density={density}
            highlighted={highlighted.has(box.path)}
            tab={box.path === entry}
          />
        ))}
      </g>
    </svg>
  );
});

const Token = memo(function Token({
  box,
  facts,
  placement,
  density,
  highlighted,
  tab,
}: {
  readonly box: TreeBox;
  readonly facts: NodeFacts;
  readonly placement: Placement;
  readonly density: Density;
  readonly highlighted: boolean;
  readonly tab: boolean;
}) {
  const { node, label, width, inner, open } = box;
  const { name, weight } = facts;
  // The weight belongs to its token when it is drawn next to it.
  const before = placement.before(box);
  // Its visible label first, for users of voice control.
  const written = [label.text, label.index, weight && formatNumber(weight)]
    .filter((text) => text !== null)
    .join(" ");
  return (
    <g
      class={classes(
        "aw-tree-node",
        node.parent === null && "is-root",
        inner && !open && "is-closed",
        highlighted && "is-highlighted",
      )}
      role="treeitem"
      tabindex={tab ? 0 : -1}
      transform={`translate(${box.x},${box.y})`}
      style={depthColor(node.depth)}
      data-aw-part="tree-node"
      data-path={box.path}
      data-token={facts.token}
      aria-level={node.depth + 1}
      aria-posinset={Math.max(node.order, 1)}
      aria-setsize={facts.siblings}
      aria-expanded={inner ? open : undefined}
      aria-selected={node.parent === null}
      aria-label={`${written}: ${facts.spoken}`}
    >
      {label.text !== name && <title>{name}</title>}
      <Hit x={-before} width={width + before} />
      <rect
        class="aw-tree-pill"
        x={0}
        y={-PILL_HEIGHT / 2}
        width={width}
        height={PILL_HEIGHT}
        rx={4}
      />
      <Label {...label} x={density.pad} />
      {inner && <Toggle open={open} width={density.chevron} end={width} />}
      {weight !== null && <Weight weight={weight} {...placement.number(box)} />}
    </g>
  );
});

/** Invisible ground that takes the pointer. */
const Hit = ({ x, width }: { readonly x: number; readonly width: number }) => (
  <rect class="aw-tree-hit" x={x} y={-ROW / 2} width={width} height={ROW} />
);

/** The name, and the position where the name alone is not enough. */
const Label = ({ text, textWidth, index, x }: TreeLabel & { readonly x: number }) => (
  <>
    <text class="aw-tree-label" x={x} dy="0.35em">
      {text}
    </text>{" "}
    {index !== null && (
      <text class="aw-tree-at" x={(x + textWidth + INDEX_GAP).toFixed(1)} dy="0.35em">
        {index}
      </text>
    )}{" "}
  </>
);

/** Opens or closes what is below, at the `end` of a pill. */
function Toggle({
  open,
  width,
  end,
}: {
  readonly open: boolean;
  readonly width: number;
  readonly end: number;
}) {
  return (
    <g class="aw-tree-toggle" aria-hidden="true" transform={`translate(${end - width / 2 - 3},0)`}>
      <Hit x={-width / 2 - 1} width={Math.max(TARGET, width + 4)} />
      <path class="aw-tree-chevron" d={open ? CHEVRON.open : CHEVRON.closed} />
    </g>
  );
}

const Weight = ({
  weight,
  x,
  y,
  anchor,
}: { readonly weight: Num } & ReturnType<Placement["number"]>) => (
  <text
    class="aw-tree-number aw-number"
    x={x}
    y={y}
    dy="0.35em"
    text-anchor={anchor}
    data-aw-value={exact(weight)}
  >
    {formatNumber(weight)}
  </text>
);
