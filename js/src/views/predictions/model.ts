/** State of the predictions as signals: which mode is shown, how far its run is, what the reader has opened or masked. */

import { batch, computed, signal } from "@preact/signals-core";
import { formatCount, tokenScheme } from "../../figures/format";
import { explain, isAbort } from "../../protocol/failure";
import { signalOf, watch } from "../../ui/mount";
import type { RunContext } from "../contract";
import { type Answer, answerAt, type Column } from "./answers";
import {
  append,
  type Entry,
  hitsOf,
  type Mode,
  openingMode,
  type Predictions,
  paintedPredictions,
  piecesOf,
  predictionsRequest,
  type Softmax,
  slicedPredictions,
  softmaxOfRow,
  wholeSoftmax,
} from "./data";

export const TOP_K = 5;
/** Why a run was aborted: by the reader, who keeps what has come. */
const CANCELED = "canceled";
const NEEDS_KERNEL =
  "Masked predictions are new forward passes and need a running kernel; the predictions saved with this " +
  "page stay on screen.";

/** The softmax that is open, and the cell from which it was opened. */
export interface Opened {
  readonly position: number;
  readonly tokenId: number;
  readonly from: Column;
}

export function createPredictionsModel(context: RunContext, until: AbortSignal) {
  const { source, state, act, announce, report } = context;
  const { meta } = source;
  const { tokens, masked, model } = meta;
  const n = tokens.text.length;

  const selection = signalOf(state.get, (changed) =>
    state.on(["token", "special"], changed, until),
  );
  const current = signal<Predictions | null>(null);
  const mode = signal<Mode>(openingMode(source, TOP_K));
  const busy = signal(false);
  /** Replaces the summary. */
  const message = signal<string | null>(null);
  /** How far the masked run is; null where none runs or was stopped. */
  const progress = signal<{ readonly done: number; readonly running: boolean } | null>(null);
  const opened = signal<Opened | null>(null);
  const softmax = signal<{ softmax: Softmax; chosen: Entry } | { failure: string } | null>(null);
  /** Masked positions, runs that were started included. */
  const masks = signal<ReadonlySet<number>>(new Set(masked.map(({ token }) => token)));

  const summary = computed(() =>
    current.value === null ? "" : hitsOf(current.value, tokens, selection.value.special),
  );
  const status = computed(() => message.value ?? summary.value);
  const scheme = computed(() =>
    tokenScheme(
      [...tokens.text, ...Object.values(current.value?.vocabulary ?? {})],
      tokens.surface,
    ),
  );
  /** Positions whose rows are shown. */
  const visible = computed(() =>
    tokens.special.flatMap((special, i) => (special && !selection.value.special ? [] : [i])),
  );
  let known: { mode: Mode | null; answers: Answer[] } = { mode: null, answers: [] };
  /** Answers by position; those of a piece that came earlier are the same objects. */
  const answers = computed((): readonly Answer[] => {
    const shown = current.value;
    if (shown === null) return [];
    if (shown.mode !== known.mode) known = { mode: shown.mode, answers: [] };
    const { answers } = known;
    for (let i = answers.length; i < shown.done; i++) {
      answers.push(answerAt(shown, i, meta, scheme.value));
    }
    return answers.slice(0, shown.done);
  });

  let loading: AbortController | null = null;
  let run: Predictions | null = null;

  function fill(next: Predictions): void {
    const first = current.peek() === null;
    batch(() => {
      opened.value = null;
      current.value = next;
      message.value = null;
      busy.value = false;
    });
    const name = next.mode === "masked" ? "Masked" : "As is";
    if (!first) announce(`${name}: ${status.peek()}`);
  }

  function wait(text: string): void {
    busy.value = true;
    message.value = text;
  }

  /** Ask piece by piece; each one is shown as it comes, and stays whatever becomes of the next. */
  async function runMasked(signal: AbortSignal): Promise<void> {
    if (run !== null) fill(run);
    for (const rows of piecesOf(n, run?.done ?? 0)) {
      progress.value = { done: rows[0], running: true };
      if (current.peek()?.mode !== "masked") {
        wait(`Running ${formatCount(n)} inputs, each with one token masked …`);
      }
      const request = predictionsRequest("masked", TOP_K, rows);
      const piece = slicedPredictions(await source.slice(request, { signal }));
      signal.throwIfAborted();
      run = append(run, piece);
      if (current.peek()?.mode !== "masked") fill(run);
      else {
        current.value = run;
        message.value = null;
      }
    }
    progress.value = null;
  }

  /** Show `wanted`: at once when it came with the first paint, else when the kernel has answered. */
  async function show(wanted: Mode): Promise<void> {
    loading?.abort();
    const request = new AbortController();
    loading = request;
    until.addEventListener("abort", () => request.abort(), { signal: request.signal });
    mode.value = wanted;
    progress.value = null;
    const painted = paintedPredictions(source);
    try {
      if (painted?.mode === wanted) fill(painted);
      else if (wanted === "masked" && source.live) await runMasked(request.signal);
      else {
        wait("Loading predictions …");
        const asked = predictionsRequest(wanted, TOP_K);
        const answer = await source.slice(asked, { signal: request.signal });
        if (request.signal.aborted) return;
        fill(slicedPredictions(answer));
      }
      busy.value = false;
    } catch (error) {
      if (until.aborted || loading !== request) return;
      const canceled = request.signal.reason === CANCELED;
      busy.value = false;
      if (isAbort(error) && !canceled) return;
      message.value = null;
      if (wanted === "masked" && run !== null) {
        if (current.peek()?.mode !== "masked") fill(run);
        progress.value = { done: run.done, running: false };
      } else {
        progress.value = null;
        // The requested mode is unavailable: fall back to the predictions of the first paint.
        if (current.peek() === null && painted !== null) fill(painted);
        mode.value = current.peek()?.mode ?? "as_is";
      }
      if (canceled) return;
      if (wanted === "masked" && !source.live) message.value = NEEDS_KERNEL;
      else {
        const { message: text, hint } = explain(error);
        report(text, hint);
      }
    }
  }

  /** Mask a token, or show it again, with the other masks as they are; a new run follows. */
  function toggleMask(position: number): void {
    if (act === null) return;
    const before = masks.peek();
    const next = new Set(before);
    if (!next.delete(position)) next.add(position);
    masks.value = next;
    const name = masked.find(({ token }) => token === position)?.text ?? tokens.text[position];
    announce(`${name} ${next.has(position) ? "masked" : "as in the text"}: running.`);
    act({ kind: "mask", tokens: [...next].sort((a, b) => a - b) }).catch((error: unknown) => {
      masks.value = before;
      const { message: text, hint } = explain(error);
      report(text, hint);
    });
  }

  async function loadSoftmax(pick: Opened, shown: Predictions, signal: AbortSignal): Promise<void> {
    const own = softmaxOfRow(shown, pick.position, model.vocab_size);
    const chosen = own.entries.find(({ id }) => id === pick.tokenId);
    softmax.value = chosen === undefined ? softmax.peek() : { softmax: own, chosen };
    try {
      const { position, tokenId } = pick;
      const whole = await wholeSoftmax(source, shown.mode, position, tokenId, signal);
      if (!signal.aborted && whole !== null) softmax.value = whole;
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      const { message: text, hint } = explain(error);
      // The predictions themselves hold enough for the equation.
      if (chosen === undefined) softmax.value = { failure: `${text} ${hint}`.trim() };
    }
  }
  let asking: AbortController | null = null;
  let openedAt: number | null = null;
  watch(() => {
    const pick = opened.value;
    asking?.abort();
    if (pick?.position !== openedAt) softmax.value = null;
    openedAt = pick?.position ?? null;
    const shown = current.peek();
    if (pick === null || shown === null) return;
    asking = new AbortController();
    void loadSoftmax(pick, shown, asking.signal);
  }, until);
  watch(() => {
    const { value } = opened;
    if (value !== null && !visible.value.includes(value.position)) opened.value = null;
  }, until);
  state.on(
    ["token", "special"],
    () => {
      if (!busy.peek()) message.value = null;
    },
    until,
  );
  until.addEventListener("abort", () => asking?.abort(), { once: true });

  return {
    selection,
    current,
    mode,
    busy,
    status,
    progress,
    opened,
    softmax,
    masks,
    visible,
    answers,
    scheme,
    show,
    cancel: () => loading?.abort(CANCELED),
    toggleMask,
  };
}

export type PredictionsModel = ReturnType<typeof createPredictionsModel>;
