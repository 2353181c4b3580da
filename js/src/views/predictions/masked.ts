/** Masked predictions: one forward pass for every token, asked for piece by piece, with a way to stop. */

import { h, setAttributes } from "../../draw/dom";
import { formatCount } from "../../figures/format";
import type { Source } from "../../protocol/types";
import { append, type Predictions, predictionsRequest, slicedPredictions } from "./data";

/** Tokens that one question runs through the model: about 2 s of bert-base on two cores. */
const TOKENS_A_PIECE = 2_048;
const ROWS_MOST = 16;

export interface MaskedRun {
  /** Answers so far; null before the first. */
  readonly predictions: Predictions | null;
  readonly complete: boolean;
  /** Ask for the next piece; what has come stays, whatever becomes of it. */
  next(signal: AbortSignal): Promise<void>;
}

export function createMaskedRun(source: Source, topK: number): MaskedRun {
  const n = source.meta.tokens.text.length;
  // Always the same pieces: those that were answered once are answered from the cache.
  const rows = Math.min(Math.max(Math.floor(TOKENS_A_PIECE / n), 1), ROWS_MOST);
  let predictions: Predictions | null = null;
  return {
    get predictions() {
      return predictions;
    },
    get complete() {
      return predictions?.done === n;
    },
    async next(signal) {
      const start = predictions?.done ?? 0;
      const request = predictionsRequest("masked", topK, [start, Math.min(start + rows, n)]);
      const piece = slicedPredictions(await source.slice(request, { signal }));
      if (!signal.aborted) predictions = append(predictions, piece);
    },
  };
}

export interface MaskedProgress {
  readonly element: HTMLElement;
  running(done: number): void;
  stopped(done: number): void;
  hide(): void;
}

/** `23 / 60 tokens`, a line that grows, and a button to stop or to go on. */
export function createMaskedProgress(
  n: number,
  { cancel, resume }: { cancel(): void; resume(): void },
): MaskedProgress {
  const words = h("span", { role: "status" });
  const fill = h("span", { class: "aw-masked-fill" });
  const bar = h(
    "span",
    {
      class: "aw-masked-bar",
      role: "progressbar",
      "aria-label": "Masked inputs that have run",
      "aria-valuemin": 0,
      "aria-valuemax": n,
    },
    fill,
  );
  const button = h("button", { class: "aw-plain-button" });
  let live = false;
  button.addEventListener("click", () => (live ? cancel() : resume()));
  const element = h(
    "div",
    { class: "aw-masked-progress", "data-aw-part": "masked-progress", hidden: true },
    bar,
    words,
    button,
  );
  function show(done: number, running: boolean): void {
    live = running;
    element.hidden = false;
    fill.style.inlineSize = `${(100 * done) / n}%`;
    setAttributes(bar, { "aria-valuenow": done });
    const count = `${formatCount(done)} / ${formatCount(n)} tokens`;
    words.textContent = running ? count : `Stopped: ${count}`;
    button.textContent = running ? "Cancel" : "Go on";
  }
  return {
    element,
    running: (done) => show(done, true),
    stopped: (done) => show(done, false),
    hide() {
      element.hidden = true;
    },
  };
}
