/** Below a long matrix: what each key in view receives. */

import type { Range } from "../../figures/long/levels";
import type { Palette } from "../color/theme";
import type { Geometry } from "../heatmap/types";

/** Bars below the plot, px. */
export const FOOT = { gap: 6, height: 22, below: 2 } as const;
/** From this size of a cell on (px) bars are set apart. */
const APART_FROM = 10;

/** A bar a pixel, the tallest of its tokens. */
export function paintFoot(
  context: CanvasRenderingContext2D,
  g: Geometry,
  columns: Range,
  received: Float32Array,
  colors: Palette,
): void {
  const foot = g.top + g.height + FOOT.gap + FOOT.height;
  const [first, last] = [
    Math.max(0, Math.floor(columns[0])),
    Math.min(received.length, Math.ceil(columns[1])),
  ];
  let most = 0;
  for (let j = first; j < last; j++) most = Math.max(most, received[j] as number);
  context.fillStyle = colors.line;
  context.fillRect(g.left, foot, g.width, 1);
  context.fillStyle = colors.muted;
  const bars = Math.min(g.width, last - first);
  const step = (last - first) / Math.max(bars, 1);
  for (let bar = 0; bar < bars; bar++) {
    const from = Math.floor(first + bar * step);
    const to = Math.max(from + 1, Math.floor(first + (bar + 1) * step));
    let tallest = 0;
    for (let j = from; j < to && j < last; j++) tallest = Math.max(tallest, received[j] as number);
    const tall = most > 0 ? (tallest / most) * FOOT.height : 0;
    const x = Math.max(g.left, g.columns.start + from * g.columns.size);
    const end = Math.min(g.left + g.width, g.columns.start + to * g.columns.size);
    const gap = g.columns.size >= APART_FROM ? 1 : 0;
    context.fillRect(x + gap, foot - tall, Math.max(end - x - gap, 0.5), tall);
  }
  context.font = `10px ${colors.font}`;
  context.textAlign = "right";
  context.textBaseline = "alphabetic";
  context.fillText("received", g.left - 8, foot);
}
