/** Slices of one head's attention, and rollout, for runs whose matrices are read in the page. */

import { f32, upTo } from "../arrays";
import { type Cells, walk } from "../cells";
import { SliceFailure } from "../failure";
import type { Meta } from "../meta";
import { type Pause, pauses } from "../pauses";
import type {
  Answers,
  HeadIndex,
  NdArray,
  OfHead,
  OfHeadOrMean,
  Rows,
  Slice,
  SliceOptions,
  Window,
} from "../slice";
import { rowsOf } from "./arrays";
import type { Rollouts } from "./rollout";

export interface AttentionFields {
  readonly weights: OfHeadOrMean & Rows;
  /** One link in every head. */
  readonly pair_weights: { readonly rows: Window; readonly cols: Window };
  readonly scores: OfHead & Rows;
  readonly qkv: OfHead & Rows;
  readonly rollout: { readonly layer: number } & Rows;
  readonly first_token: { readonly head: HeadIndex };
}

export type HeadQuantity = "weights" | "scores";

/** A run whose matrices are read in the page. */
export interface MatrixRun {
  readonly meta: Meta;
  readonly n: number;
  /** Layers that it has. */
  readonly layers: readonly number[];
  readonly rollouts: Rollouts;
  /** True if its matrices were rounded when they were saved: answers computed from them say so. */
  readonly coded: boolean;
  cells(quantity: HeadQuantity, layer: number, head: HeadIndex): Cells | Promise<Cells>;
}

/** Layers whose first token the view Task shows. */
const LAST_LAYERS = 6;
/** A rollout multiplies whole matrices, one for every layer (`ROLLOUT_TOKENS`, attn_widget/analysis/long/detail.py). */
const ROLLOUT_TOKENS = 2048;

/** Rows of a matrix, `[rows, n]`; NaN where the mask forbids. */
export async function readRows(cells: Cells, rows: Window, pause: Pause): Promise<Float32Array> {
  const { n } = cells;
  const values = new Float32Array((rows[1] - rows[0]) * n);
  await walk(cells, rows, [0, n], pause, (part, first) => values.set(part, (first - rows[0]) * n));
  return values;
}

/** Rows of weights or scores, with 0 or -Infinity where the mask forbids. */
async function matrixRows(
  run: MatrixRun,
  quantity: HeadQuantity,
  { layer, head, rows }: OfHeadOrMean & Rows,
  { signal }: SliceOptions,
): Promise<Slice> {
  const cells = await run.cells(quantity, layer, head);
  const [start, stop] = rows ?? [0, run.n];
  const values = await readRows(cells, [start, stop], pauses(signal));
  const arrays = new Map<string, NdArray>([[quantity, f32(values, stop - start, cells.n)]]);
  if (cells.mask === null) return { data: {}, arrays };
  const none = quantity === "scores" ? Number.NEGATIVE_INFINITY : 0;
  const allowed = Uint8Array.from(values, (value) => (Number.isNaN(value) ? 0 : 1));
  for (let i = 0; i < values.length; i++) if (allowed[i] === 0) values[i] = none;
  if (quantity === "weights")
    arrays.set("allowed", { data: allowed, shape: [stop - start, cells.n] });
  return { data: {}, arrays };
}

/** A link in every head, `[L, H]`, NaN where the mask forbids it: the mean over its queries of the sum over its keys. */
async function pairWeights(
  run: MatrixRun,
  { rows, cols }: AttentionFields["pair_weights"],
): Promise<Slice> {
  const { n_layers, n_heads } = run.meta.model;
  const weights = new Float32Array(n_layers * n_heads);
  for (let i = 0; i < weights.length; i++) {
    const cells = await run.cells("weights", Math.floor(i / n_heads), i % n_heads);
    const allowed = (await cells.read(rows, cols)).filter((weight) => !Number.isNaN(weight));
    const sum = allowed.reduce((all, weight) => all + weight, 0);
    weights[i] = allowed.length > 0 ? sum / (rows[1] - rows[0]) : Number.NaN;
  }
  return { data: {}, arrays: new Map([["weights", f32(weights, n_layers, n_heads)]]) };
}

/** The rollout of the mean heads through a layer, `[n, n]`. */
export async function rollout(run: MatrixRun, layer: number): Promise<Float64Array> {
  checkRollout(run, layer);
  if (run.n > ROLLOUT_TOKENS) {
    throw new SliceFailure(
      `Rollout multiplies ${run.n} x ${run.n} matrices, one per layer, so it is N/A for texts of more than ${ROLLOUT_TOKENS} tokens.`,
      "Choose weights, or a shorter text.",
    );
  }
  return run.rollouts.through("weights", layer, async (index) =>
    readRows(await run.cells("weights", index, "mean"), [0, run.n], pauses()),
  );
}

/** Refuses a rollout of weights or lengths up to `layer` that no pass has, or that the mask explains; without a layer, the first. */
export function checkRollout({ meta }: MatrixRun, layer = -1): void {
  if (meta.windows !== undefined)
    throw new SliceFailure("Rollout would join windows that the model has read separately.");
  if (meta.no_rollout !== undefined) throw new SliceFailure(meta.no_rollout);
  const limit = meta.mask?.rollout;
  if (!limit || layer < limit.layer) return;
  throw new SliceFailure(
    "From layer " +
      `${limit.layer} on a rollout shows the mask, not the model: attention that is uniform over the keys that the mask ` +
      `allows gives ${limit.share.toFixed(3)} of the last position to token ${limit.token} (${meta.tokens.text[limit.token]}).`,
    "Choose a lower layer, weights, or the rollout of ALTI.",
  );
}

/** The part of an answer that says whether its numbers are rounded. */
export const codedOf = ({ coded }: MatrixRun): Slice["data"] => (coded ? { coded } : {});

/** The answer that is one matrix, or the rows of it that were asked for. */
export const matrixSlice = (values: ArrayLike<number>, n: number, request: Rows): Slice =>
  rowsOf(
    { data: {}, arrays: new Map([["weights", f32(Float32Array.from(values), n, n)]]) },
    request,
  );

export const ATTENTION = {
  weights: (run, request, options) => matrixRows(run, "weights", request, options),
  pair_weights: pairWeights,
  scores: (run, request, options) => matrixRows(run, "scores", request, options),
  rollout: async (run, request) => matrixSlice(await rollout(run, request.layer), run.n, request),
  async first_token(run, { head }) {
    const { n } = run;
    const last = upTo(run.meta.model.n_layers).slice(-LAST_LAYERS);
    const layers = last.filter((layer) => run.layers.includes(layer));
    const weights = new Float32Array(layers.length * n);
    for (const [row, layer] of layers.entries()) {
      const cells = await run.cells("weights", layer, head);
      const first = await readRows(cells, [0, 1], pauses());
      weights.set(
        first.map((weight) => weight || 0), // NaN: forbidden
        row * n,
      );
    }
    const arrays = new Map([["weights", f32(weights, layers.length, n)]]);
    return { data: { layers, ...codedOf(run) }, arrays };
  },
} satisfies Answers<MatrixRun, AttentionFields>;
