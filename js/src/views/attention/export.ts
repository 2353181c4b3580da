/** Words in exports of the attention view: the rest of each row, and the part of the text in sight. */

import type { Geometry, Track } from "../../draw/heatmap/types";
import { restOf } from "../../figures/derive/matrix";
import { formatCount } from "../../figures/format";
import type { Matrix } from "../../figures/matrix";
import { keysOf } from "../../protocol/meta";
import type { Meta } from "../../protocol/types";

/** Tolerance (in cells) at the edge of a zoomed map. */
const EDGE = 1e-6;

/** Share of a learned sink in each row, `[queries]`: known where all keys are shown. */
export function restIn(
  { keys, queries, quantity, weights }: Matrix,
  meta: Meta,
): Float32Array | null {
  const tokens = keys.reduce((sum, { token, end }) => sum + end - token, 0);
  if (!meta.rest || quantity !== "weights" || tokens < keysOf(meta).text.length) return null;
  return restOf(weights, queries.length, keys.length);
}

/** The visible part of a zoomed map, in a sentence; null if all is visible. */
export function windowOf({
  rows,
  columns,
  left,
  top,
  width,
  height,
  zoomed,
}: Geometry): string | null {
  if (!zoomed) return null;
  const part = ({ start, size, count }: Track, from: number, extent: number): string => {
    const first = Math.max(0, Math.floor((from - start) / size + EDGE));
    const last = Math.min(count, Math.ceil((from + extent - start) / size - EDGE));
    return `${formatCount(first + 1)} to ${formatCount(last)} of ${formatCount(count)}`;
  };
  return `A part of the matrix: rows ${part(rows, top, height)}, columns ${part(columns, left, width)}.`;
}
