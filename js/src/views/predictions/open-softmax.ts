/** The softmax that the reader has opened, and its load. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { latest } from "../../protocol/asking";
import { isAbort, messageOf } from "../../protocol/failure";
import type { Source } from "../../protocol/types";
import { watch } from "../../ui/mount";
import type { Column } from "./answers";
import { type Entry, type Predictions, type Softmax, softmaxOfRow, wholeSoftmax } from "./data";

/** The softmax that is open, and the cell from which it was opened. */
interface Opened {
  readonly position: number;
  readonly tokenId: number;
  readonly from: Column;
}

export function openSoftmax(
  source: Source,
  current: ReadonlySignal<Predictions | null>,
  visible: ReadonlySignal<readonly number[]>,
  until: AbortSignal,
) {
  const opened = signal<Opened | null>(null);
  const softmax = signal<{ softmax: Softmax; chosen: Entry } | { failure: string } | null>(null);

  async function loadSoftmax(pick: Opened, shown: Predictions, signal: AbortSignal): Promise<void> {
    const own = softmaxOfRow(shown, pick.position, source.meta.model.vocab_size);
    const chosen = own.entries.find(({ id }) => id === pick.tokenId);
    softmax.value = chosen === undefined ? softmax.peek() : { softmax: own, chosen };
    try {
      const { position, tokenId } = pick;
      const whole = await wholeSoftmax(source, shown.mode, position, tokenId, signal);
      if (!signal.aborted && whole !== null) softmax.value = whole;
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      // The predictions themselves hold enough for the equation.
      if (chosen === undefined) softmax.value = { failure: messageOf(error) };
    }
  }
  const next = latest(until);
  let openedAt: number | null = null;
  watch(() => {
    const pick = opened.value;
    const untilNext = next();
    if (pick?.position !== openedAt) softmax.value = null;
    openedAt = pick?.position ?? null;
    const shown = current.peek();
    if (pick !== null && shown !== null) void loadSoftmax(pick, shown, untilNext);
  }, until);
  watch(() => {
    const { value } = opened;
    if (value !== null && !visible.value.includes(value.position)) opened.value = null;
  }, until);

  return { opened, softmax };
}
