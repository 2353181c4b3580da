/** Tokens around the root, pushed apart by forces until none covers another. The weight is below its pill. */

import {
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  forceX,
  forceY,
  type SimulationNodeDatum,
} from "d3-force";
import { tree } from "d3-hierarchy";
import { itemAt } from "../../protocol/required";
import { PILL_HEIGHT, type Placement, ROW, type TreeBox } from "./layout";

interface Body extends SimulationNodeDatum {
  readonly box: TreeBox;
  x: number;
  y: number;
}

const TICKS = 240;
/** Length of an edge at rest, px, before the stretch. */
const LINK = 2 * ROW;
const REPULSION = -8 * ROW;
/** Pull towards the middle. */
const GATHER = 0.08;
/** Height of a weight below its pill, px. */
const NUMBER_LINE = 16;
/** Height of both, px. */
const CELL = ROW + NUMBER_LINE;
/** Free space around a pill, px. */
const AIR = 6;
/** Passes that push overlapping pills apart at the end; each one halves what is left, or nearly. */
const SEPARATIONS = 200;

const breadth = ({ width, numberWidth }: TreeBox): number => Math.max(width, numberWidth);

export const force: Placement = {
  name: "force",
  label: "Force",
  drawnMax: 300,
  foot: CELL - ROW / 2,

  // From a fixed start and all steps at once: the same picture every time.
  place(root, room, { margin, stretch: most }) {
    // Around the root without a crossing, which forces would not undo.
    const around = tree<TreeBox>()
      .size([2 * Math.PI, 1])
      .separation((a, b) => (a.parent === b.parent ? 1 : 2) / Math.max(a.depth, 1))(root)
      .descendants();
    const bodies: Body[] = around.map(({ data, depth, x }) => {
      const radius = LINK * depth;
      return { box: data, x: radius * Math.sin(x), y: -radius * Math.cos(x) };
    });
    // Pills are wider than high: forces work in a space in which the average one is round.
    const width = bodies.reduce((sum, { box }) => sum + box.width, 0) / bodies.length;
    const stretch = Math.min(Math.max(width / CELL, 1), most);
    const index = new Map(bodies.map(({ box }, i) => [box, i]));
    const links = bodies.flatMap(({ box: { parent } }, target) => {
      const source = parent === null ? undefined : index.get(parent);
      return source === undefined ? [] : [{ source, target }];
    });
    forceSimulation(bodies)
      .force("link", forceLink(links).distance(LINK).strength(0.8))
      .force("charge", forceManyBody().strength(REPULSION))
      .force(
        "collide",
        forceCollide<Body>(({ box }) => breadth(box) / stretch / 2 + AIR),
      )
      .force("x", forceX(0).strength(GATHER))
      .force("y", forceY(0).strength(GATHER))
      .stop()
      .tick(TICKS);
    for (const body of bodies) body.x *= stretch;
    separate(bodies);
    const left = Math.min(...bodies.map(({ x, box }) => x - box.width / 2));
    const right = Math.max(...bodies.map(({ x, box }) => x + box.width / 2));
    const top = Math.min(...bodies.map(({ y }) => y));
    const spare = Math.max(0, (room - 2 * margin - (right - left)) / 2);
    for (const { box, x, y } of bodies) {
      box.x = Math.round(x - left - box.width / 2 + margin + spare);
      box.y = Math.round(y - top);
      box.bend = box.x + box.width / 2;
    }
  },

  edge: (from, to) => `M${from.x + from.width / 2},${from.y}L${to.x + to.width / 2},${to.y}`,
  number: ({ width }) => ({
    x: width / 2,
    y: PILL_HEIGHT / 2 + NUMBER_LINE / 2,
    anchor: "middle",
  }),
  before: () => 0,
};

/** Push pills apart until none overlaps, along the axis on which they overlap less. */
function separate(bodies: readonly Body[]): void {
  for (let pass = 0; pass < SEPARATIONS; pass++) {
    let touched = false;
    for (let i = 0; i < bodies.length; i++) {
      const a = itemAt(bodies, i);
      for (let j = i + 1; j < bodies.length; j++) {
        const b = itemAt(bodies, j);
        const down = CELL + AIR - Math.abs(b.y - a.y);
        if (down <= 0.5) continue;
        const across = (breadth(a.box) + breadth(b.box)) / 2 + AIR - Math.abs(b.x - a.x);
        if (across <= 0.5) continue;
        touched = true;
        if (down < across) {
          const shift = (b.y >= a.y ? down : -down) / 2;
          a.y -= shift;
          b.y += shift;
        } else {
          const shift = (b.x >= a.x ? across : -across) / 2;
          a.x -= shift;
          b.x += shift;
        }
      }
    }
    if (!touched) return;
  }
}
