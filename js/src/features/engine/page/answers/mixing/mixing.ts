/** Answers about what attention carries: norms, mixing, ALTI, value zeroing, their rollouts, one pair. */

import type { Mixing } from "../../../../../catalog/selection";
import { f32 } from "../../../../../protocol/arrays";
import { SliceFailure } from "../../../../../protocol/failure";
import { rowsOf } from "../../../../../protocol/slices/arrays";
import { matrixSlice } from "../../../../../protocol/slices/attention";
import { rolloutStep, rowsNormalized } from "../../../../../protocol/slices/rollout";
import type { NdArray, Slice, SliceOptions, SliceRequest } from "../../../../../protocol/types";
import { type EngineRun, within } from "../../engine-run";
import type { Answers } from "../contract";
import { type Block, blockOf, centered, give, lengthOf, sharedOf, summedNorms } from "./block";

/** Layers times tokens squared: about a minute of layers that run again. */
const MAX_ZEROED = 1_500_000;
/** Time between two rests, in which the page draws and listens, ms. */
const WORK_MS = 30;

type Tell = (done: number) => Promise<void>;

/** Lets the page draw now and then, and ends where the answer is of no more use. */
function resting({ signal, progress }: SliceOptions, total: number): Tell {
  let rested = performance.now();
  return async (done) => {
    signal?.throwIfAborted();
    if (performance.now() - rested < WORK_MS) return;
    progress?.(done, total);
    await new Promise((resolve) => setTimeout(resolve));
    rested = performance.now();
  };
}

/** `‖v_j^h W_O^h‖`, `[H, n]`. */
function lengths({ heads, n, width, carried }: Block): Float32Array {
  return Float32Array.from({ length: heads * n }, (_, at) =>
    lengthOf(carried.subarray(at * width, (at + 1) * width)),
  );
}

async function alti(block: Block, report: Tell): Promise<Float32Array> {
  const { n, width } = block;
  const { carried, own, spread, outputs } = sharedOf(block);
  const left = new Float32Array(n * n);
  const vector = new Float64Array(width);
  for (let i = 0; i < n; i++) {
    const [output, scale] = [outputs.subarray(i * width, (i + 1) * width), spread[i] as number];
    const whole = output.reduce((sum, value) => sum + Math.abs(value), 0);
    for (let j = 0; j < n; j++) {
      if (i === j) vector.set(own.subarray(i * width, (i + 1) * width));
      else give(block, carried, i, j, vector.fill(0));
      let away = 0;
      for (let d = 0; d < width; d++)
        away += Math.abs((output[d] as number) - (vector[d] as number) / scale);
      left[i * n + j] = Math.max(whole - away, 0);
    }
    await report(i);
  }
  return rowsNormalized(left, n);
}

function mixing(block: Block): Map<string, NdArray> {
  const { n, width } = block;
  const { carried, own, sums, spread } = sharedOf(block);
  const norms = summedNorms(block, carried);
  const ratio = new Float32Array(n);
  for (let i = 0; i < n; i++) {
    const kept = own.subarray(i * width, (i + 1) * width);
    const self = lengthOf(kept);
    norms[i * n + i] = self;
    const others = sums.slice(i * width, (i + 1) * width).map((x, d) => x - (kept[d] as number));
    const context = lengthOf(others);
    ratio[i] = context + self > 0 ? context / (context + self) : 0;
  }
  const weights = Float32Array.from(
    norms,
    (value, at) => value / (spread[Math.floor(at / n)] as number),
  );
  return new Map([
    ["weights", f32(weights, n, n)],
    ["ratio", f32(ratio, n)],
  ]);
}

/** `1 - cos` of a layer's output and that without the values of each key, rows divided by their sums. */
async function valueZeroing(run: EngineRun, layer: number, report: Tell): Promise<Float32Array> {
  const { n } = run;
  const width = run.meta.model.hidden_size;
  const whole = await run.hidden(layer + 1);
  const matrix = new Float32Array(n * n);
  for (let key = 0; key < n; key++) {
    const without = await run.queue.of(run.input, (engine) => engine.withoutToken(layer, key));
    for (let i = 0; i < n; i++) {
      const [intact, zeroed] = [whole, without].map((rows) => {
        const row = rows.subarray(i * width, (i + 1) * width);
        const length = lengthOf(row) || 1;
        return Float64Array.from(row, (value) => value / length);
      }) as [Float64Array, Float64Array];
      matrix[i * n + key] =
        lengthOf(intact.map((value, d) => value - (zeroed[d] as number))) ** 2 / 2;
    }
    await report(key);
  }
  return rowsNormalized(matrix, n);
}

function checkZeroed({ n }: EngineRun, quantity: Mixing, layers: number): void {
  if (quantity === "value_zeroing" && layers * n * n > MAX_ZEROED)
    throw new SliceFailure(
      `Value zeroing would run ${layers} layers again for each of ${n} tokens, which takes this page minutes.`,
      "Take one layer, or a shorter text.",
    );
}

/** A quantity of a layer, `[n, n]`; of a head with `head`. */
async function ofLayer(
  run: EngineRun,
  quantity: Mixing,
  layer: number,
  report: Tell,
): Promise<Map<string, NdArray>> {
  const { n } = run;
  within("layer", layer, run.meta.model.n_layers);
  const weightsOf = (data: Float32Array) => new Map([["weights", f32(data, n, n)]]);
  if (quantity === "value_zeroing") return weightsOf(await valueZeroing(run, layer, report));
  const block = await blockOf(run, layer);
  if (quantity === "alti") return weightsOf(await alti(block, report));
  if (quantity === "mixing") return mixing(block);
  return weightsOf(Float32Array.from(summedNorms(block, block.carried)));
}

async function ofHead(run: EngineRun, layer: number, head: number): Promise<Map<string, NdArray>> {
  const { n } = run;
  within("layer", layer, run.meta.model.n_layers);
  within("head", head, run.meta.model.n_heads);
  const block = await blockOf(run, layer);
  const long = lengths(block).subarray(head * n, (head + 1) * n);
  const weights = block.weights.subarray(head * n * n, (head + 1) * n * n);
  return new Map([
    [
      "weights",
      f32(
        weights.map((weight, at) => weight * (long[at % n] as number)),
        n,
        n,
      ),
    ],
  ]);
}

async function answer(
  run: EngineRun,
  request: SliceRequest<"mixing">,
  options: SliceOptions,
): Promise<Slice> {
  const { quantity, layer, head } = request;
  checkZeroed(run, quantity, 1);
  const arrays =
    head != null && quantity === "norms"
      ? await ofHead(run, layer, head)
      : await ofLayer(run, quantity, layer, resting(options, run.n));
  return rowsOf({ data: {}, arrays }, request);
}

async function rolled(
  run: EngineRun,
  request: SliceRequest<"mixing_rollout">,
  options: SliceOptions,
): Promise<Slice> {
  const { quantity, layer } = request;
  const { n } = run;
  within("layer", layer, run.meta.model.n_layers);
  checkZeroed(run, quantity, layer + 1);
  const report = resting(options, (layer + 1) * n);
  let product: Float64Array | null = null;
  for (let index = 0; index <= layer; index++) {
    const step = await ofLayer(run, quantity, index, (done) => report(index * n + done));
    const rows = rowsNormalized(step.get("weights")?.data as Float32Array, n);
    product = rolloutStep(rows, product, n, quantity === "norms" ? 0.5 : 0);
    await report((index + 1) * n);
  }
  return matrixSlice(product as Float64Array, n, request);
}

/** The vector of one pair, and the sum that closes: parts of the output along its own direction. */
async function pair(
  run: EngineRun,
  { layer, query, key }: SliceRequest<"mixing_pair">,
): Promise<Slice> {
  const { n } = run;
  within("layer", layer, run.meta.model.n_layers);
  within("query", query, n);
  within("key", key, n);
  const block = await blockOf(run, layer);
  const { width } = block;
  const shared = sharedOf(block);
  const scale = shared.spread[query] as number;
  const own = shared.own.subarray(query * width, (query + 1) * width);
  const vectorOf = (j: number): Float32Array =>
    Float32Array.from(
      j === query ? own : give(block, shared.carried, query, j, new Float64Array(width)),
      (value) => value / scale,
    );
  const { attention_norm } = await run.layerParts(layer);
  const output = attention_norm.subarray(query * width, (query + 1) * width);
  const length = lengthOf(output);
  const toward = (vector: ArrayLike<number>): number => {
    let sum = 0;
    for (let d = 0; d < width; d++) sum += (vector[d] as number) * (output[d] as number);
    return sum / (length || 1);
  };
  let all = 0;
  for (let j = 0; j < n; j++) all += toward(vectorOf(j));
  const vector = vectorOf(key);
  const part = toward(vector);
  const context = lengthOf(
    shared.sums.slice(query * width, (query + 1) * width).map((x, d) => x - (own[d] as number)),
  );
  const self = lengthOf(own);
  const data = {
    length: lengthOf(vector),
    of_layer: lengthOf(give(block, block.carried, query, key, new Float64Array(width))),
    ratio: context + self > 0 ? context / (context + self) : 0,
    key: part,
    others: all - part,
    bias: toward(centered(block, block.bias)) / scale,
    shift: toward(block.shift),
    output: length,
  };
  return { data, arrays: new Map([["vector", f32(vector, width)]]) };
}

async function valueLengths(
  run: EngineRun,
  { layer }: SliceRequest<"value_lengths">,
): Promise<Slice> {
  within("layer", layer, run.meta.model.n_layers);
  if ((run.meta.heads_off ?? []).length > 0)
    throw new SliceFailure("Heads are off in this run: weights do not tell what they carry.", "");
  const [, heads] = run.shape;
  const block = await blockOf(run, layer);
  return { data: {}, arrays: new Map([["lengths", f32(lengths(block), heads, run.n)]]) };
}

export const CARRIED: Answers = {
  mixing: answer,
  mixing_rollout: rolled,
  mixing_pair: pair,
  value_lengths: valueLengths,
};
