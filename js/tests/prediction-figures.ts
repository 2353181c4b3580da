/** Predictions of the tiny text: seeded logits, and the arrays and answers that follow from them. */

import { itemAt } from "../src/protocol/required";
import type { NdArray } from "../src/protocol/types";
import type { Mode } from "../src/views/predictions/data";
import { float32, IDS, N, random, softmax, TOKENS, VOCABULARY } from "./tiny-text";

const text = (id: number): string => {
  const position = IDS.indexOf(id);
  return position >= 0 ? itemAt(TOKENS, position) : id === 20 ? "</script>" : `w${id}`;
};

/** Logits of every position and mode, float32 as a model gives them. */
export const LOGITS: Record<Mode, number[][]> = (() => {
  const next = random(1);
  const draw = (pull: number): number[][] =>
    IDS.map((own) =>
      Array.from({ length: VOCABULARY }, (_, id) =>
        Math.fround(6 * next() - 3 + (id === own ? pull : 0)),
      ),
    );
  const logits = { as_is: draw(5), masked: draw(0) };
  return { ...logits, next: draw(0) };
})();

export const descending = (logits: readonly number[]): number[] =>
  logits.map((_, id) => id).sort((a, b) => itemAt(logits, b) - itemAt(logits, a));

const logSumExp = (row: readonly number[]): number =>
  Math.max(...row) + Math.log(row.reduce((total, z) => total + Math.exp(z - Math.max(...row)), 0));

export function predictionArrays(
  mode: Mode,
  k: number,
  [start, stop]: readonly [number, number] = [0, N],
): Map<string, NdArray> {
  const [rows, own, n] = [LOGITS[mode].slice(start, stop), IDS.slice(start, stop), stop - start];
  const top = rows.map((row) => descending(row).slice(0, k));
  return new Map<string, NdArray>([
    ["prediction_ids", { data: Int32Array.from(top.flat()), shape: [n, k] }],
    [
      "prediction_logits",
      float32(
        top.flatMap((ids, i) => ids.map((id) => itemAt(itemAt(rows, i), id))),
        n,
        k,
      ),
    ],
    [
      "prediction_probabilities",
      float32(
        top.flatMap((ids, i) => ids.map((id) => itemAt(softmax(itemAt(rows, i)), id))),
        n,
        k,
      ),
    ],
    [
      "logit_max",
      float32(
        rows.map((row) => Math.max(...row)),
        n,
      ),
    ],
    ["log_sum_exp", { data: Float64Array.from(rows.map(logSumExp)), shape: [n] }],
    [
      "original_rank",
      {
        data: Int32Array.from(rows.map((row, i) => descending(row).indexOf(itemAt(own, i)) + 1)),
        shape: [n],
      },
    ],
    [
      "original_probability",
      float32(
        rows.map((row, i) => itemAt(softmax(row), itemAt(own, i))),
        n,
      ),
    ],
  ]);
}

export function describe(mode: Mode, k: number) {
  const ids = LOGITS[mode].flatMap((row) => descending(row).slice(0, k));
  return { mode, top_k: k, vocabulary: Object.fromEntries(ids.map((id) => [id, text(id)])) };
}

export function openSoftmax(mode: Mode, position: number, wanted?: readonly number[]) {
  const row = itemAt(LOGITS[mode], position);
  const largest = Math.max(...row);
  const sum = row.reduce((total, z) => total + Math.exp(z - largest), 0);
  const order = descending(row);
  return {
    position,
    logit_max: largest,
    sum_exp: sum,
    log_sum_exp: largest + Math.log(sum),
    vocab_size: VOCABULARY,
    entries: (wanted ?? order.slice(0, 20)).map((id) => ({
      id,
      token: text(id),
      logit: itemAt(row, id),
      exp: Math.exp(itemAt(row, id) - largest),
      probability: Math.exp(itemAt(row, id) - largest) / sum,
      rank: order.indexOf(id) + 1,
    })),
  };
}
