/** Predictions as a kernel lists them, read from the engine's rows. */

import { itemAt } from "../../../../protocol/required";
import type { ModelInput } from "../../input";
import type { Mode } from "../engine-run";
import type { Turn } from "../request-queue";
import { PredictionTable } from "./logits";

/** Rows of the vocabulary's size that are in memory at once. */
const ROWS_AT_ONCE = 32;

/** Predictions of the tokens as the model reads them; `originals`: those that stand in the text. */
export async function readAsIs(
  turn: Turn,
  input: ModelInput,
  originals: readonly number[],
  top_k: number,
  [start, stop]: readonly [number, number],
): Promise<PredictionTable> {
  await turn.run(input);
  const table = new PredictionTable(stop - start, top_k);
  for (let from = start; from < stop; from += ROWS_AT_ONCE) {
    const positions = Array.from(
      { length: Math.min(ROWS_AT_ONCE, stop - from) },
      (_, i) => from + i,
    );
    const logits = await turn.engine.logits(positions);
    const size = logits.length / positions.length;
    positions.forEach((position, i) => {
      const row = logits.subarray(i * size, (i + 1) * size);
      table.fill(position - start, row, itemAt(originals, position));
    });
  }
  return table;
}

export async function described(turn: Turn, { ids }: PredictionTable, mode: Mode, top_k: number) {
  const names = await turn.engine.tokens(ids);
  const vocabulary = Object.fromEntries(ids.map((id, i) => [String(id), itemAt(names, i)]));
  return { mode, top_k, vocabulary };
}
