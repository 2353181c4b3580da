/** One token's row of a tensor, out of the slice `token_row` of a saved page (attn_widget/page/focus_row.py). */

import { SliceFailure } from "./failure";
import { itemAt, required } from "./required";
import type { Slice, SliceRequest } from "./types";

/** Error and remedy for any other token. */
export const ONE_TOKEN = "This saved page has these numbers for one token only.";
export const NEEDS_KERNEL = "It needs a kernel: open the text in a notebook.";

export const needsKernel = (what: string): SliceFailure =>
  new SliceFailure(`${what} is not in this saved page.`, NEEDS_KERNEL, true);

/** The row that `request` asks for; null where `saved` is of another token, or lacks the tensor. */
export function rowOf(saved: Slice, request: SliceRequest<"tensor">, n: number): Slice | null {
  const { name, layer, head, rows, cols } = request;
  const { token, widths, heads } = saved.data as unknown as {
    token: number;
    widths: Readonly<Record<string, number>>;
    heads: readonly number[];
  };
  if (rows == null || rows[0] !== token || rows[1] !== token + 1) return null;
  const array = saved.arrays.get(layer == null ? name : `${name}:${layer}`);
  if (array === undefined) return null;
  const columns = itemAt(array.shape, array.shape.length - 1);
  const place = array.shape.length === 1 ? 0 : heads.indexOf(head ?? -1);
  if (place < 0) return null;
  const [left, right] = [cols?.[0] ?? 0, Math.min(cols?.[1] ?? columns, columns)];
  const data = (array.data as Float32Array).slice(place * columns + left, place * columns + right);
  return {
    data: { shape: [n, required(widths[name], `The width of "${name}"`)] },
    arrays: new Map([["tensor", { data, shape: [1, data.length] }]]),
  };
}
