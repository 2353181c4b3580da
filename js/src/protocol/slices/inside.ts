/** Slices of the model's own tensors; a saved page has those of some heads, and one token's row of all (attn_widget/features/inside/token_row.py). */

import { f32 } from "../arrays";
import { NEEDS_KERNEL, needsKernel, ONE_TOKEN, SliceFailure } from "../failure";
import { arrayOf, itemAt, required } from "../required";
import { NAMES } from "../saved/names";
import type { SavedRun } from "../saved/run";
import type { Answers, Knows, NdArray, Slice, Window } from "../slice";
import { product, windowOf } from "./arrays";

interface Tensor {
  readonly name: string;
  readonly layer?: number | null;
  readonly head?: number | null;
  readonly rows?: Window | null;
  readonly cols?: Window | null;
}

export interface TensorFields {
  readonly tensor: Tensor;
  readonly token_row: object;
}

/** Tensors of a head, each by the one of its recorded vectors that it is or is made of. */
const VECTORS: Readonly<Record<string, string>> = {
  query: "q",
  key: "k",
  value: "v",
  head_output: "v",
};

/** The recorded vectors that a tensor of a head is or is made of, `[n, head_dim]`. */
function vectorsOf(run: SavedRun, { name, layer, head }: Tensor): NdArray | null {
  const short = VECTORS[name];
  if (short === undefined || layer == null || head == null) return null;
  const asked = { kind: "qkv", layer, head };
  return run.recorded(asked)?.arrays.get(short) ?? null;
}

/** The row that is asked for; null where `saved` is of another token, or lacks the tensor. */
function rowOf(run: SavedRun, { name, layer, head, rows, cols }: Tensor): Slice | null {
  const saved = run.tokenRow;
  if (saved === null) return null;
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
    data: { shape: [run.n, required(widths[name], `The width of "${name}"`)] },
    arrays: new Map([["tensor", f32(data, 1, data.length)]]),
  };
}

export const TENSORS = {
  async tensor(run, request) {
    const { name, layer, head } = request;
    const vectors = vectorsOf(run, request);
    if (vectors === null) {
      const row = rowOf(run, request);
      if (row !== null) return row;
      const token = run.tokenRow?.data.token as number | undefined;
      const own = token !== undefined && rowOf(run, { ...request, rows: [token, token + 1] });
      throw own ? new SliceFailure(ONE_TOKEN, NEEDS_KERNEL, true) : needsKernel(NAMES.tensor);
    }
    if (name !== "head_output") return windowOf(vectors, request);
    const slice = await run.ask({ kind: "weights", layer, head });
    const [n, width] = vectors.shape as [number, number];
    const output = product(arrayOf(slice, "weights").data, vectors.data, n, width);
    return windowOf(f32(output, n, width), request);
  },
} satisfies Answers<SavedRun, TensorFields>;

export const HAS_TENSORS: Knows<SavedRun, TensorFields> = {
  tensor: (run, request) => vectorsOf(run, request) !== null || rowOf(run, request) !== null,
};
