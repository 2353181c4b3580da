/** Predictions out of logits, as `attn_widget/model/predictions.py` makes them. */

import { itemAt } from "../../../../protocol/required";
import type { NdArray } from "../../../../protocol/types";

/** The ids of the largest logits, best first; the smaller id first on a tie. */
export function best(row: Float32Array, count: number): number[] {
  const positions: number[] = [];
  let least = -Infinity;
  for (let id = 0; id < row.length; id++) {
    const logit = row[id] as number;
    if (positions.length === count && logit <= least) continue;
    let place = positions.length;
    while (place > 0 && (row[positions[place - 1] as number] as number) < logit) place--;
    positions.splice(place, 0, id);
    if (positions.length > count) positions.pop();
    least = row[positions[positions.length - 1] as number] as number;
  }
  return positions;
}

/** The largest of a row, and the sum of `exp(logit - largest)`. */
export function sumOf(row: Float32Array): { largest: number; sum: number } {
  let largest = -Infinity;
  for (let id = 0; id < row.length; id++) largest = Math.max(largest, row[id] as number);
  let sum = 0;
  for (let id = 0; id < row.length; id++) sum += Math.exp((row[id] as number) - largest);
  return { largest, sum };
}

/** One more than the number of larger logits. */
export function rankOf(row: Float32Array, id: number): number {
  const own = itemAt(row, id);
  let rank = 1;
  for (let other = 0; other < row.length; other++) if ((row[other] as number) > own) rank++;
  return rank;
}

/** The arrays of predictions of several positions, filled row by row. */
export class PredictionTable {
  readonly #k: number;
  readonly #ids: Int32Array;
  readonly #logits: Float32Array;
  readonly #probabilities: Float32Array;
  readonly #max: Float32Array;
  readonly #logSum: Float64Array;
  readonly #rank: Int32Array;
  readonly #own: Float32Array;

  constructor(rows: number, k: number) {
    this.#k = k;
    this.#ids = new Int32Array(rows * k);
    this.#logits = new Float32Array(rows * k);
    this.#probabilities = new Float32Array(rows * k);
    this.#max = new Float32Array(rows);
    this.#logSum = new Float64Array(rows);
    this.#rank = new Int32Array(rows);
    this.#own = new Float32Array(rows);
  }

  /** `original`: the token that really stands there. */
  fill(at: number, row: Float32Array, original: number): void {
    const { largest, sum } = sumOf(row);
    const logSum = largest + Math.log(sum);
    best(row, this.#k).forEach((id, i) => {
      const logit = itemAt(row, id);
      this.#ids[at * this.#k + i] = id;
      this.#logits[at * this.#k + i] = logit;
      this.#probabilities[at * this.#k + i] = Math.exp(logit - logSum);
    });
    this.#max[at] = largest;
    this.#logSum[at] = logSum;
    this.#rank[at] = rankOf(row, original);
    this.#own[at] = Math.exp(itemAt(row, original) - logSum);
  }

  /** Every predicted token once. */
  get ids(): number[] {
    return [...new Set(this.#ids)];
  }

  get arrays(): Map<string, NdArray> {
    const list = [this.#max.length, this.#k];
    const column = [this.#max.length];
    return new Map<string, NdArray>([
      ["prediction_ids", { data: this.#ids, shape: list }],
      ["prediction_probabilities", { data: this.#probabilities, shape: list }],
      ["prediction_logits", { data: this.#logits, shape: list }],
      ["logit_max", { data: this.#max, shape: column }],
      ["log_sum_exp", { data: this.#logSum, shape: column }],
      ["original_rank", { data: this.#rank, shape: column }],
      ["original_probability", { data: this.#own, shape: column }],
    ]);
  }
}
