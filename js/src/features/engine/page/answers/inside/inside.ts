/** Answers of the view Inside: parts of a layer, embeddings, and how tokens change from layer to layer. */

import { f32 } from "../../../../../protocol/arrays";
import { windowOf } from "../../../../../protocol/slices/arrays";
import type { NdArray, Slice, SliceRequest } from "../../../../../protocol/types";
import type { EngineRun } from "../../engine-run";
import { type Answers, refused } from "../contract";
import { VECTORS_OF_HEADS } from "../heads";
import { hiddenPath } from "./path";

/** Element by element, as float32. */
const sum = (a: Float32Array, b: Float32Array): Float32Array =>
  a.map((value, i) => value + (b[i] as number));

/** A tensor of a layer by name, `[n, width]`; null for another name. */
async function ofLayer(run: EngineRun, name: string, layer: number): Promise<Float32Array | null> {
  switch (name) {
    case "layer_input":
      return run.hidden(layer);
    case "layer_output":
    case "ffn_norm":
      return run.hidden(layer + 1);
    case "attention_sum":
      return sum(await run.hidden(layer), (await run.layerParts(layer)).attention_output);
    case "ffn_sum": {
      const parts = await run.layerParts(layer);
      return sum(parts.attention_norm, parts.ffn_output);
    }
    case "attention_output":
    case "attention_norm":
    case "ffn_activation":
    case "ffn_output":
      return (await run.layerParts(layer))[name];
    default:
      return null;
  }
}

/** A tensor of the embeddings by name, `[n, hidden]`; null for another name. */
async function ofEmbeddings(run: EngineRun, name: string): Promise<Float32Array | null> {
  if (name === "norm" || name === "output") return run.hidden(0);
  const parts = ["token", "position", "segment"];
  if (name !== "sum" && !parts.includes(name)) return null;
  const all = await run.queue.of(run.input, (engine) => engine.embeddings());
  const size = all.length / parts.length;
  const part = (index: number) => all.subarray(index * size, (index + 1) * size);
  if (name !== "sum") return part(parts.indexOf(name));
  return sum(sum(part(0), part(2)), part(1)); // the model's order
}

/** The fixed position encodings of Vaswani et al. 2017: attn_widget/features/inside/hidden.py. */
function sinusoid(n: number, width: number): Float32Array {
  return Float32Array.from({ length: n * width }, (_, i) => {
    const [position, column] = [Math.floor(i / width), i % width];
    const angle = position / 10_000 ** ((column - (column % 2)) / width);
    return column % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
  });
}

async function tensor(run: EngineRun, request: SliceRequest<"tensor">): Promise<Slice> {
  const { name, layer, head } = request;
  const { hidden_size: width, max_length } = run.meta.model;
  if (name === "position_table" || name === "sinusoid") {
    const table =
      name === "sinusoid"
        ? sinusoid(max_length, width)
        : await run.queue.take(({ engine }) => engine.positionTable());
    return windowOf(f32(table, table.length / width, width), request);
  }
  if (name === "hidden" && layer != null)
    return windowOf(f32(await run.hidden(layer), run.n, width), request);
  const tensor =
    layer == null
      ? await ofEmbeddings(run, name)
      : head == null && (await ofLayer(run, name, layer));
  if (tensor) return windowOf(f32(tensor, run.n, tensor.length / run.n), request);
  const vectors = VECTORS_OF_HEADS[name];
  if (vectors === undefined || layer == null || head == null) throw refused("This tensor");
  return windowOf(f32(await vectors(run, layer, head), run.n, run.meta.model.head_dim), request);
}

/** ||after - before|| / ||before|| of each row; NaN for a zero vector. */
function ratio(before: Float32Array, after: Float32Array, n: number): Float32Array {
  const width = before.length / n;
  return Float32Array.from({ length: n }, (_, row) => {
    let [change, length] = [0, 0];
    for (let i = row * width; i < (row + 1) * width; i++) {
      const value = before[i] as number;
      change += Math.fround((after[i] as number) - value) ** 2;
      length += value ** 2;
    }
    return length > 0 ? Math.sqrt(change) / Math.sqrt(length) : Number.NaN;
  });
}

/** `residual_bars` of attn_widget/features/inside/hidden.py. */
async function residuals(run: EngineRun): Promise<Slice> {
  const [layers] = run.shape;
  const { n } = run;
  const [attention, ffn] = [new Float32Array(layers * n), new Float32Array(layers * n)];
  for (let layer = 0; layer < layers; layer++) {
    const parts = await run.layerParts(layer);
    attention.set(ratio(await run.hidden(layer), parts.attention_norm, n), layer * n);
    ffn.set(ratio(parts.attention_norm, await run.hidden(layer + 1), n), layer * n);
  }
  const arrays = new Map([
    ["attention", f32(attention, layers, n)],
    ["ffn", f32(ffn, layers, n)],
  ]);
  return { data: {}, arrays };
}

/** Rows that sum to 1; NaN in a row without weight. */
function shares(matrix: Float32Array, n: number): Float64Array {
  const normalized = Float64Array.from(matrix);
  for (let row = 0; row < n; row++) {
    const part = normalized.subarray(row * n, (row + 1) * n);
    const total = part.reduce((all, value) => all + value, 0);
    for (let i = 0; i < n; i++) part[i] = total > 0 ? (part[i] as number) / total : Number.NaN;
  }
  return normalized;
}

/** Jensen-Shannon distance of neighboring layers' mean heads: attn_widget/figures/rollout.py. */
function layerChange(run: EngineRun): Slice {
  const [layers] = run.shape;
  const { n } = run;
  const changes: number[] = [];
  let before = shares(run.weights(0, "mean"), n);
  for (let layer = 1; layer < layers; layer++) {
    const after = shares(run.weights(layer, "mean"), n);
    let [total, count] = [0, 0];
    for (let row = 0; row < n; row++) {
      let divergence = 0;
      for (let i = row * n; i < (row + 1) * n; i++) {
        const [p, q] = [before[i] as number, after[i] as number];
        const middle = (p + q) / 2;
        if (p > 0) divergence += p * Math.log(p / middle);
        if (q > 0) divergence += q * Math.log(q / middle);
        if (Number.isNaN(middle)) divergence = Number.NaN;
      }
      if (Number.isNaN(divergence)) continue;
      total += Math.sqrt(Math.max(divergence / 2, 0));
      count++;
    }
    changes.push(count > 0 ? total / count : Number.NaN);
    before = after;
  }
  return { data: {}, arrays: new Map([["change", f32(Float32Array.from(changes), layers - 1)]]) };
}

async function path(run: EngineRun): Promise<Slice> {
  const [layers] = run.shape;
  const states: Float32Array[] = [];
  for (let layer = 0; layer <= layers; layer++) states.push(await run.hidden(layer));
  return { data: {}, arrays: hiddenPath(states, run.n) };
}

/** Facts of the model, which Python answered when the page was made. */
function architecture(run: EngineRun): Slice {
  const data = run.metadata.architecture;
  if (data === undefined) throw refused("What the model is made of");
  return { data, arrays: new Map<string, NdArray>() };
}

export const INSIDE: Answers = {
  tensor,
  residuals,
  layer_change: layerChange,
  hidden_path: path,
  architecture,
};
