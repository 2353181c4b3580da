/** A classifier of texts: its head on the engine's hidden states (attn_widget/features/engine/classifier.py). */

import { f32 } from "../../../../protocol/arrays";
import { itemAt, required } from "../../../../protocol/required";
import { firstLargest } from "../../../../protocol/ties";
import type { NdArray, Slice } from "../../../../protocol/types";
import type { EngineRun } from "../engine-run";
import type { ClassReader } from "../metadata";
import { type Answers, refused } from "./contract";

/** Epsilon of torch's LayerNorm. */
const EPS = 1e-5;

interface Tensor {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

const decoded = new WeakMap<ClassReader, ReadonlyMap<string, Tensor>>();

function tensorsOf(reader: ClassReader): ReadonlyMap<string, Tensor> {
  const cached = decoded.get(reader);
  if (cached !== undefined) return cached;
  const tensors = new Map(
    Object.entries(reader.tensors).map(([name, { shape, data }]) => {
      const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
      return [name, { shape, values: new Float32Array(bytes.buffer) }];
    }),
  );
  decoded.set(reader, tensors);
  return tensors;
}

/** W x + b. */
function linear(tensors: ReadonlyMap<string, Tensor>, name: string, x: Float64Array): Float64Array {
  const weight = required(tensors.get(`${name}.weight`), name).values;
  const bias = required(tensors.get(`${name}.bias`), name).values;
  return Float64Array.from(bias, (start, row) => {
    let sum = start;
    for (let i = 0; i < x.length; i++)
      sum += (weight[row * x.length + i] as number) * (x[i] as number);
    return sum;
  });
}

type States = { readonly values: Float32Array; readonly n: number; readonly width: number };

/** LayerNorm of the mean over all tokens. */
function mean({ values, n, width }: States, tensors: ReadonlyMap<string, Tensor>): Float64Array {
  const x = new Float64Array(width);
  for (let i = 0; i < n * width; i++)
    x[i % width] = (x[i % width] as number) + (values[i] as number) / n;
  const center = x.reduce((sum, value) => sum + value, 0) / width;
  const variance = x.reduce((sum, value) => sum + (value - center) ** 2, 0) / width;
  const weight = required(tensors.get("norm.weight"), "norm").values;
  const bias = required(tensors.get("norm.bias"), "norm").values;
  const scale = 1 / Math.sqrt(variance + EPS);
  return x.map((value, d) => (value - center) * scale * itemAt(weight, d) + itemAt(bias, d));
}

function first({ values, width }: States, tensors: ReadonlyMap<string, Tensor>): Float64Array {
  return linear(tensors, "pooler", Float64Array.from(values.subarray(0, width))).map(Math.tanh);
}

/** The largest value of each filter over the windows of the text, at least 0; windows of zeros fill a short text. */
function maxima({ values, n, width }: States, tensors: ReadonlyMap<string, Tensor>): Float64Array {
  const pooled: number[] = [];
  for (let i = 0; ; i++) {
    const convolution = tensors.get(`convolutions.${i}.weight`);
    if (convolution === undefined) return Float64Array.from(pooled);
    const bias = required(tensors.get(`convolutions.${i}.bias`), "convolutions").values;
    const [filters = 0, , size = 0] = convolution.shape;
    for (let filter = 0; filter < filters; filter++) {
      // [width][size] as [size][width], so that a window is read in a row.
      const kernel = new Float32Array(size * width);
      for (let d = 0; d < width; d++)
        for (let k = 0; k < size; k++)
          kernel[k * width + d] = convolution.values[(filter * width + d) * size + k] as number;
      let most = 0;
      for (let start = 0; start <= Math.max(0, n - size); start++) {
        let sum = itemAt(bias, filter);
        const from = start * width;
        const count = Math.min(size, n - start) * width;
        for (let j = 0; j < count; j++) sum += (kernel[j] as number) * (values[from + j] as number);
        most = Math.max(most, sum);
      }
      pooled.push(most);
    }
  }
}

const POOLED = { mean, first, cnn: maxima } as const;

interface Opened {
  readonly logits: Float32Array;
  readonly exponentials: Float64Array;
  readonly sum: Float64Array;
  readonly probabilities: Float64Array;
}

/** `class_probabilities` of attn_widget/model/classification.py. */
function opened(logits: Float32Array, activation: ClassReader["activation"]): Opened {
  const wide = Float64Array.from(logits);
  const unknown = wide.map(() => Number.NaN);
  if (activation === "identity")
    return { logits, exponentials: unknown, sum: unknown, probabilities: unknown };
  if (activation === "sigmoid") {
    const exponentials = wide.map((z) => Math.exp(-z));
    const sum = exponentials.map((exponential) => 1 + exponential);
    return { logits, exponentials, sum, probabilities: sum.map((value) => 1 / value) };
  }
  const largest = Math.max(...wide);
  const exponentials = wide.map((z) => Math.exp(z - largest));
  const total = exponentials.reduce((sum, value) => sum + value, 0);
  const probabilities = exponentials.map((exponential) => exponential / total);
  return { logits, exponentials, sum: Float64Array.of(total), probabilities };
}

/** Classes of a run, or of the same text with all heads on. */
export async function classesOf(
  run: EngineRun,
  reader: ClassReader,
  intact: boolean,
): Promise<Opened> {
  const { n_layers, hidden_size: width } = run.meta.model;
  const input = intact ? { ...run.input, off: [] } : run.input;
  const values = await run.queue.of(input, (engine) => engine.hidden(n_layers));
  const tensors = tensorsOf(reader);
  const pooled = POOLED[reader.kind]({ values, n: run.n, width }, tensors);
  return opened(Float32Array.from(linear(tensors, "classifier", pooled)), reader.activation);
}

/** The likeliest class with all heads on; null without a classifier. */
export async function intactClass(run: EngineRun) {
  const reader = run.metadata.classifier;
  if (!reader) return null;
  const { logits, probabilities } = await classesOf(run, reader, true);
  const best = firstLargest(logits);
  return { label: itemAt(reader.labels, best), probability: itemAt(probabilities, best) };
}

async function classification(run: EngineRun): Promise<Slice> {
  const reader = run.metadata.classifier;
  if (!reader) throw refused("The class of a text");
  const { labels, activation, note } = reader;
  const { logits, exponentials, sum, probabilities } = await classesOf(run, reader, false);
  const row = (values: Float64Array): NdArray => f32(Float32Array.from(values), 1, labels.length);
  const arrays = new Map<string, NdArray>([
    ["logits", f32(logits, 1, labels.length)],
    ["exp", row(exponentials)],
    ["sum", { data: sum, shape: [sum.length] }],
    ["probabilities", row(probabilities)],
  ]);
  return { data: { labels, task: "sequence", activation, note }, arrays };
}

export const CLASSES: Answers = { classification };
