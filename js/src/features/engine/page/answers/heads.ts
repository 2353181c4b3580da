/** Answers about heads: weights, scores, vectors, rollout, metrics, patterns. */

import { f32, upTo } from "../../../../protocol/arrays";
import { product, rowsOf } from "../../../../protocol/slices/arrays";
import { ATTENTION } from "../../../../protocol/slices/attention";
import type { NdArray, Slice, SliceRequest } from "../../../../protocol/types";
import type { EngineRun } from "../engine-run";
import type { Answers } from "./contract";
import { METRIC_KEYS, metricArrays, metricScale } from "./metrics";

async function qkv(run: EngineRun, request: SliceRequest<"qkv">): Promise<Slice> {
  const { layer, head } = request;
  const arrays = new Map<string, NdArray>();
  for (const which of ["query", "key", "value"] as const) {
    const part = await run.projection(which, layer, head);
    arrays.set(which.charAt(0), f32(part, run.n, run.meta.model.head_dim));
  }
  return rowsOf({ data: { scaling: run.scaling }, arrays }, request);
}

/** Mean weight on neighbors and on repeated tokens: attn_widget/figures/patterns.py. */
function patterns({ n, shape, attention, meta }: EngineRun): Slice {
  const [layers, heads] = shape;
  const { text } = meta.tokens;
  const chance: Record<string, number | null> = { previous: null, next: null };
  if (n > 1) chance.previous = chance.next = 1 / n;
  const mean = (offset: -1 | 1): Float32Array =>
    Float32Array.from({ length: layers * heads }, (_, head) => {
      let sum = 0;
      for (let i = 0; i + 1 < n; i++) {
        const query = offset < 0 ? i + 1 : i;
        sum += attention[head * n * n + query * n + query + offset] as number;
      }
      return sum / (n - 1);
    });
  /** On the tokens `after` the earlier ones equal to the query: 0 for these themselves, or 1. */
  function onRepeats(name: string, after: 0 | 1): Float32Array {
    const rows = text.map((id, i) =>
      upTo(i + after).flatMap((j) => (j >= after && text[j - after] === id ? [j] : [])),
    );
    const queries = rows.filter(({ length }) => length > 0).length;
    chance[name] = queries > 0 ? rows.flat().length / n / queries : null;
    return Float32Array.from({ length: layers * heads }, (_, head) => {
      const at = (i: number, j: number): number => attention[(head * n + i) * n + j] as number;
      const sum = rows.reduce((all, keys, i) => keys.reduce((to, j) => to + at(i, j), all), 0);
      return queries > 0 ? sum / queries : Number.NaN;
    });
  }
  const arrays = new Map<string, NdArray>([
    ["pattern:previous", { data: mean(-1), shape }],
    ["pattern:next", { data: mean(1), shape }],
    ["pattern:duplicate", { data: onRepeats("duplicate", 0), shape }],
    ["pattern:induction", { data: onRepeats("induction", 1), shape }],
  ]);
  return { data: { keys: ["previous", "next", "duplicate", "induction"], chance }, arrays };
}

/** Tensors of one head, `[n, head_dim]`, by name. */
export const VECTORS_OF_HEADS: Readonly<
  Record<string, (run: EngineRun, layer: number, head: number) => Promise<Float32Array>>
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
  ...ATTENTION,
  qkv,
  metrics(run, { tau }) {
    const arrays = metricArrays(run.attention, run.shape, run.n, tau);
    return { data: { keys: METRIC_KEYS, tau, scale: metricScale(run.n, tau) }, arrays };
  },
  patterns,
};
