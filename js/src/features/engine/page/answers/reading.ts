/** Answers of the model's heads: predictions, the softmax opened, next sentence. */

import { f32 } from "../../../../protocol/arrays";
import { SliceFailure } from "../../../../protocol/failure";
import { arrayOf, itemAt } from "../../../../protocol/required";
import type { NdArray, Slice, SliceOptions, SliceRequest } from "../../../../protocol/types";
import { type EngineRun, type Mode, within } from "../engine-run";
import { intactClass } from "./classes";
import type { Answers } from "./contract";
import { best, PredictionTable, rankOf, sumOf } from "./logits";
import { described, readAsIs } from "./read";

export const TOP_K = 5;
const MAX_PREDICTIONS = 100;
const OPENED = 20;

async function predictions(
  run: EngineRun,
  { mode: of, top_k = TOP_K, rows }: SliceRequest<"predictions">,
  { signal, progress }: SliceOptions,
): Promise<Slice> {
  const mode = modeOf(of);
  within("top_k", top_k - 1, MAX_PREDICTIONS);
  const [start, stop] = rows ?? [0, run.n];
  if (mode === "as_is") {
    return run.queue.take(async (turn) => {
      const table = await readAsIs(turn, run.input, run.originals, top_k, [start, stop]);
      return { data: await described(turn, table, mode, top_k), arrays: table.arrays };
    });
  }
  // A pass for every position, one turn each: a text that is typed meanwhile need not wait for all.
  const table = new PredictionTable(stop - start, top_k);
  for (let position = start; position < stop; position++) {
    signal?.throwIfAborted();
    table.fill(position - start, await run.row(position, mode), run.originalOf(position));
    progress?.(position - start + 1, stop - start);
  }
  const data = await run.queue.take((turn) => described(turn, table, mode, top_k));
  return { data, arrays: table.arrays };
}

/** An encoder has no mode `next`. */
const modeOf = (mode: SliceRequest<"softmax">["mode"]): Mode =>
  mode === "masked" ? "masked" : "as_is";

async function softmax(
  run: EngineRun,
  { position, mode: of, token_ids }: SliceRequest<"softmax">,
): Promise<Slice> {
  const mode = modeOf(of);
  const row = await run.row(position, mode);
  const { largest, sum } = sumOf(row);
  const ids = token_ids ?? best(row, OPENED);
  for (const id of ids) within("token_ids", id, row.length);
  const names = await run.queue.take(({ engine }) => engine.tokens(ids));
  const entries = ids.map((id, i) => {
    const logit = itemAt(row, id);
    const exp = Math.exp(logit - largest);
    return { id, token: names[i], logit, exp, probability: exp / sum, rank: rankOf(row, id) };
  });
  const opened = {
    position,
    logit_max: largest,
    sum_exp: sum,
    log_sum_exp: largest + Math.log(sum),
    vocab_size: row.length,
    entries,
  };
  return { data: opened, arrays: new Map() };
}

async function nextSentence(run: EngineRun): Promise<Slice> {
  if (run.meta.text_pair === null) {
    throw new SliceFailure(
      "There is one text, and the next-sentence head compares two.",
      "Give text_pair.",
    );
  }
  const logits = await run.queue.of(run.input, (engine) => engine.nextSentence());
  const { largest, sum } = sumOf(logits);
  const exponentials = logits.map((logit) => Math.exp(logit - largest));
  const shares = exponentials.map((exponential) => exponential / sum);
  const arrays = new Map<string, NdArray>([
    ["logits", f32(logits, 1, 2)],
    ["exp", f32(exponentials, 1, 2)],
    ["sum", { data: Float64Array.of(sum), shape: [1] }],
    ["probabilities", f32(shares, 1, 2)],
  ]);
  return { data: { labels: ["is next", "is not next"] }, arrays };
}

/** First choices with all heads on, and what this run leaves of their probability. */
async function intact(run: EngineRun): Promise<Slice> {
  const classes = await intactClass(run);
  if (!run.meta.model.has.mlm) return { data: { vocabulary: {}, classes }, arrays: new Map() };
  const input = { ...run.input, off: [] };
  const size = [run.n];
  return run.queue.take(async (turn) => {
    const before = await readAsIs(turn, input, run.originals, 1, [0, run.n]);
    const ids = arrayOf(before, "prediction_ids").data;
    const first = arrayOf(before, "prediction_probabilities").data;
    const now = await readAsIs(turn, run.input, Array.from(ids), 1, [0, run.n]);
    const left = arrayOf(now, "original_probability").data;
    const { vocabulary } = await described(turn, before, "as_is", 1);
    const arrays = new Map<string, NdArray>([
      ["ids", { data: Int32Array.from(ids), shape: size }],
      ["probabilities", { data: Float64Array.from(first), shape: size }],
      ["left", { data: Float64Array.from(left), shape: size }],
    ]);
    return { data: { vocabulary, classes }, arrays };
  });
}

export const READING: Answers = { predictions, softmax, next_sentence: nextSentence, intact };
