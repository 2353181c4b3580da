/** Answers about heads: weights, scores, vectors, rollout, metrics, patterns. */

import { rolloutStep } from "../../../protocol/rollout";
import { f32, product, rowsOf } from "../../../protocol/snapshot-tensors";
import type { NdArray, Slice, SliceRequest } from "../../../protocol/types";
import { type Ran, within } from "../ran";
import type { Answers } from "./contract";
import { METRIC_KEYS, metricArrays, metricScale } from "./metrics";

const LAST_LAYERS = 6;

const square = (name: string, data: Float32Array, request: SliceRequest, n: number): Slice =>
  rowsOf({ data: {}, arrays: new Map([[name, f32(data, n, n)]]) }, request, n);

async function scores(run: Ran, layer: number, head: number): Promise<Float32Array> {
  const { n, scaling } = run;
  const width = run.meta.model.head_dim;
  const queries = await run.projection("query", layer, head);
  const keys = await run.projection("key", layer, head);
  const mean = new Float32Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      let sum = 0;
      for (let d = 0; d < width; d++)
        sum += (queries[i * width + d] as number) * (keys[j * width + d] as number);
      mean[i * n + j] = sum * scaling;
    }
  }
  return mean;
}

async function qkv(run: Ran, { layer, head, rows }: SliceRequest<"qkv">): Promise<Slice> {
  const width = run.meta.model.head_dim;
  const [start, stop] = rows ?? [0, run.n];
  const arrays = new Map<string, NdArray>();
  for (const which of ["query", "key", "value"] as const) {
    const part = await run.projection(which, layer, head);
    const cut = part.slice(start * width, stop * width);
    arrays.set(which.charAt(0), f32(cut, stop - start, width));
  }
  return { data: { scaling: run.scaling }, arrays };
}

function rollout(run: Ran, layer: number): Float64Array {
  within("layer", layer, run.meta.model.n_layers);
  let product: Float64Array | null = null;
  for (let one = 0; one <= layer; one++)
    product = rolloutStep(run.weights(one, "mean"), product, run.n);
  return product as Float64Array;
}

/** Mean weight on the token before, and on the token after: attn_widget/figures/patterns.py. */
function patterns({ n, shape, attention }: Ran): Slice {
  const [layers, heads] = shape;
  const mean = (offset: -1 | 1): Float32Array =>
    Float32Array.from({ length: layers * heads }, (_, head) => {
      let sum = 0;
      for (let i = 0; i + 1 < n; i++) {
        const query = offset < 0 ? i + 1 : i;
        sum += attention[head * n * n + query * n + query + offset] as number;
      }
      return sum / (n - 1);
    });
  const arrays = new Map<string, NdArray>([
    ["pattern:previous", { data: mean(-1), shape }],
    ["pattern:next", { data: mean(1), shape }],
  ]);
  return { data: { keys: ["previous", "next"], chance: 1 / n }, arrays };
}

/** Tensors of one head, `[n, head_dim]`, by name. */
export const VECTORS_OF_HEADS: Readonly<
  Record<string, (run: Ran, layer: number, head: number) => Promise<Float32Array>>
> = {
  query: (run, layer, head) => run.projection("query", layer, head),
  key: (run, layer, head) => run.projection("key", layer, head),
  value: (run, layer, head) => run.projection("value", layer, head),
  async head_output(run, layer, head) {
    const values = await run.projection("value", layer, head);
    return product(run.weights(layer, head), values, run.n, run.meta.model.head_dim);
  },
};

export const HEADS: Answers = {
  weights: (run, asked) => square("weights", run.weights(asked.layer, asked.head), asked, run.n),
  scores: async (run, asked) =>
    square("scores", await scores(run, asked.layer, asked.head), asked, run.n),
  qkv,
  rollout: (run, asked) =>
    square("weights", Float32Array.from(rollout(run, asked.layer)), asked, run.n),
  metrics(run, { tau }) {
    const arrays = metricArrays(run.attention, run.shape, run.n, tau);
    return { data: { keys: METRIC_KEYS, tau, scale: metricScale(run.n, tau) }, arrays };
  },
  patterns,
  first_token(run, { head }) {
    const { n } = run;
    const all = Array.from({ length: run.meta.model.n_layers }, (_, i) => i);
    const layers = all.slice(-LAST_LAYERS);
    const weights = new Float32Array(layers.length * n);
    layers.forEach((layer, row) => {
      weights.set(run.weights(layer, head).subarray(0, n), row * n);
    });
    return { data: { layers }, arrays: new Map([["weights", f32(weights, layers.length, n)]]) };
  },
};
