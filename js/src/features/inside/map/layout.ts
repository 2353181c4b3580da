/** Positions of the map's boxes, wires and layers (px) for a given width. */

import { itemAt } from "../../../protocol/required";
import type { StageBox, StageId, Zone } from "../architecture";

interface Rect {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export interface Placed extends Rect {
  readonly stage: StageBox;
}

export interface Wire {
  /** `flow` carries the token on; `residual` is the way around a half of a layer. */
  readonly kind: "flow" | "residual";
  readonly d: string;
  /** Position and direction of the arrow's head. */
  readonly head: { readonly x: number; readonly y: number; readonly to: "right" | "down" | "up" };
}

interface Sign {
  readonly x: number;
  readonly y: number;
  readonly text: string;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Placed[];
  readonly wires: readonly Wire[];
  readonly signs: readonly Sign[];
  /** Names of zones, at the baseline. */
  readonly headings: readonly { x: number; y: number; zone: Zone | "layers" }[];
  /** The column of all layers; row `i` is at `y + i * pitch`. */
  readonly column: Rect & { readonly pitch: number };
  /** The frame of the opened layer. */
  readonly frame: Rect;
}

const BOX = 36;
const GAP = { wide: 14, narrow: 8 } as const;
/** Average width of a character of the interface's font, px, and the room around a text. */
export const CHARACTER = { title: 7.2, size: 6.2, capital: 2.8 } as const;
export const AROUND = 6;
const HEADING = 20;
/** Below a lane: the residual's way, and the way back to the left. */
const RAIL = 10;
const RETURN = 20;
const LANE = BOX + RETURN + HEADING;
const BLOCK_GAP = 20;
const PAD = { wide: 12, narrow: 9 } as const;
const COLUMN = { share: 0.27, least: 108, most: 208 } as const;
const WEDGE = 20;
/** A frame narrower than this takes the first half of a layer in two lanes. */
const WIDE = 470;
const PITCH = { least: 12, most: 34 } as const;
const BOX_MAX = 132;
const OUTPUT_MAX = 168;
/** The activation is wider than what leads to it. */
const SHARE: Partial<Record<StageId, number>> = { ffn_activation: 1.7, ffn_output: 1.3 };

const round = (value: number): number => Math.round(value);

/** A size as it may be written, longest first: whole, without the activation's name, without spaces. */
export function sizesOf({ size }: StageBox): readonly string[] {
  const bare = size.replace(/ [a-z]\S*$/i, "");
  return [size, bare, bare.replaceAll(" ", ""), ""];
}

const needed = (stage: StageBox): number =>
  Math.max(
    stage.short.length * CHARACTER.title,
    itemAt(sizesOf(stage), 1).length * CHARACTER.size,
  ) + AROUND;

/** Stages side by side from `x` on: of one width where that is enough for each, else each by what it needs. */
function row(
  stages: readonly StageBox[],
  { x, y, w }: Omit<Rect, "h">,
  gap: number,
  most: number,
): Placed[] {
  const total = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  const room = w - gap * (stages.length - 1);
  const shares = stages.map(({ id }) => SHARE[id] ?? 1);
  const even = shares.map((share) => Math.min(room / total(shares), most) * share);
  const needs = stages.map(needed);
  const spare = room - total(needs);
  const widths = even.every((width, i) => width >= itemAt(needs, i))
    ? even
    : needs.map((need) =>
        spare >= 0 ? need + spare / needs.length : (need * room) / total(needs),
      );
  let left = x;
  return stages.map((stage, i) => {
    const start = round(left);
    left += itemAt(widths, i);
    const placed = { stage, x: start, y, w: round(left) - start, h: BOX };
    left += gap;
    return placed;
  });
}

interface Lane {
  readonly stages: readonly StageBox[];
  readonly zone: Zone;
  readonly heading: boolean;
}

/** A lane, or its halves one below the other where its names have no room side by side. */
function fitting(lane: Lane, room: number, gap: number): Lane[] {
  const { stages } = lane;
  const need = stages.reduce((sum, stage) => sum + needed(stage) + gap, -gap);
  const half = Math.ceil(stages.length / 2);
  if (need <= room || half === stages.length) return [lane];
  return [
    { ...lane, stages: stages.slice(0, half) },
    { ...lane, stages: stages.slice(half), heading: false },
  ];
}

const middle = ({ y, h }: Rect): number => y + h / 2;

function across(a: Rect, b: Rect): Wire {
  return {
    kind: "flow",
    d: `M${a.x + a.w} ${middle(a)}H${b.x - 4}`,
    head: { x: b.x, y: middle(b), to: "right" },
  };
}

export function layoutMap(stages: readonly StageBox[], layers: number, width: number): Layout {
  const zone = (name: Zone): StageBox[] => stages.filter((stage) => stage.zone === name);
  const boxes: Placed[] = [];
  const wires: Wire[] = [];
  const signs: Sign[] = [];
  const headings: Layout["headings"][number][] = [];

  // The embeddings: an addition, and its norm.
  headings.push({ x: 0, y: 12, zone: "embeddings" });
  const top = row(zone("embeddings"), { x: 0, y: HEADING, w: width }, GAP.wide, BOX_MAX);
  boxes.push(...top);
  top.slice(1).forEach((box, i) => {
    const before = itemAt(top, i);
    if (box.stage.id === "norm" || box.stage.id === "output") wires.push(across(before, box));
    else {
      const x = (before.x + before.w + box.x) / 2;
      signs.push({ x, y: middle(box), text: box.stage.id === "sum" ? "=" : "+" });
    }
  });

  // The layers, and one of them opened.
  const blockTop = HEADING + BOX + BLOCK_GAP;
  const columnWidth = round(Math.min(Math.max(width * COLUMN.share, COLUMN.least), COLUMN.most));
  const frameX = columnWidth + WEDGE;
  const frameWidth = width - frameX;
  const attention = zone("attention");
  const wide = frameWidth >= WIDE;
  const gap = wide ? GAP.wide : GAP.narrow;
  const pad = wide ? PAD.wide : PAD.narrow;
  const inner = { x: frameX + pad + 8, w: frameWidth - 2 * pad - 8 };
  const cut = attention.findIndex(({ id }) => id === "attention_output");
  const planned: Lane[] = wide
    ? [{ stages: attention, zone: "attention", heading: true }]
    : [
        { stages: attention.slice(0, cut), zone: "attention", heading: true },
        { stages: attention.slice(cut), zone: "attention", heading: false },
      ];
  planned.push({ stages: zone("ffn"), zone: "ffn", heading: true });
  const lanes = planned.flatMap((lane) => fitting(lane, inner.w, gap));

  const railX = frameX + pad - 2;
  let y = blockTop + HEADING + 4;
  const placed = lanes.map((lane, i) => {
    if (lane.heading) headings.push({ x: inner.x, y: y - 8, zone: lane.zone });
    const boxes = row(lane.stages, { ...inner, y }, gap, BOX_MAX);
    const next = lanes[i + 1];
    y += next === undefined ? BOX + RAIL + 8 : next.heading ? LANE : BOX + RETURN + 8;
    return boxes;
  });
  const frameHeight = y - blockTop;
  placed.forEach((lane, i) => {
    boxes.push(...lane);
    lane.slice(1).forEach((box, k) => {
      wires.push(across(itemAt(lane, k), box));
    });
    // Into the lane: from the column, or back from the end of the lane above.
    const first = itemAt(lane, 0);
    const above = placed[i - 1]?.at(-1);
    const turn = above === undefined ? 0 : above.y + BOX + RETURN;
    wires.push({
      kind: "flow",
      d:
        above === undefined
          ? `M${frameX} ${middle(first)}H${first.x - 4}`
          : `M${above.x + above.w} ${middle(above)}h5V${turn}H${railX}V${middle(first)}H${first.x - 4}`,
      head: { x: first.x, y: middle(first), to: "right" },
    });
  });
  for (const name of ["attention", "ffn"] as const) {
    const lane = placed.find((boxes) => boxes.some(({ stage }) => stage.id === `${name}_sum`));
    const from = placed.find((boxes) => boxes.some(({ stage }) => stage.zone === name));
    const sum = lane?.find(({ stage }) => stage.id === `${name}_sum`);
    if (from === undefined || sum === undefined) continue;
    const x = sum.x + sum.w / 2;
    // Next to the way back of the lane above, not on it.
    const branch = name === "attention" ? railX - 5 : railX;
    wires.push({
      kind: "residual",
      d: `M${branch} ${middle(itemAt(from, 0))}V${sum.y + BOX + RAIL}H${x}V${sum.y + BOX + 4}`,
      head: { x, y: sum.y + BOX, to: "up" },
    });
  }

  const columnTop = blockTop + HEADING;
  const room = frameHeight - HEADING;
  const pitch = Math.min(Math.max(room / layers, PITCH.least), PITCH.most);
  const column = { x: 0, y: columnTop, w: columnWidth, h: pitch * layers, pitch };
  headings.push({ x: 0, y: blockTop + 12, zone: "layers" });
  const blockBottom = Math.max(columnTop + column.h, blockTop + frameHeight);
  const frame = { x: frameX, y: blockTop, w: frameWidth, h: frameHeight };

  // From the embeddings into the first layer, from the last one to the output.
  const last = itemAt(top, top.length - 1);
  const stem = columnWidth - 12;
  const between = HEADING + BOX + BLOCK_GAP / 2;
  wires.push({
    kind: "flow",
    d: `M${last.x + last.w / 2} ${last.y + BOX}V${between}H${stem}V${columnTop - 6}`,
    head: { x: stem, y: columnTop - 2, to: "down" },
  });
  const outTop = blockBottom + BLOCK_GAP + HEADING - 8;
  headings.push({ x: 0, y: outTop - 8, zone: "output" });
  const output = row(zone("output"), { x: 0, y: outTop, w: width }, GAP.wide, OUTPUT_MAX);
  boxes.push(...output);
  output.slice(1).forEach((box, i) => {
    wires.push(across(itemAt(output, i), box));
  });
  wires.push({
    kind: "flow",
    d: `M${stem} ${columnTop + column.h + 4}V${outTop - 4}`,
    head: { x: stem, y: outTop, to: "down" },
  });
  // In the order of the pipeline: the order of the keys.
  const order = stages.map(({ id }) => id);
  boxes.sort((a, b) => order.indexOf(a.stage.id) - order.indexOf(b.stage.id));
  return {
    width,
    height: outTop + BOX + 2,
    boxes,
    wires,
    signs,
    headings,
    column,
    frame,
  };
}
