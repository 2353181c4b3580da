/** State of the predictions as signals: which mode is shown, how far its run is, what the reader has opened or masked. */

import { batch, computed, signal } from "@preact/signals-core";
import { formatCount, tokenScheme } from "../../figures/format";
import { onChange, selectionOf, setTo, watch } from "../../ui/mount";
import type { RunContext } from "../contract";
import { type Answer, answerAt } from "./answers";
import { hitsOf, type Mode, openingMode, type Predictions } from "./data";
import { createLists, TOP_K } from "./lists";
import { openSoftmax } from "./open-softmax";
import { countedIn, subjectOf } from "./subject";

const NEEDS_KERNEL =
  "Masked predictions are new forward passes and need a running kernel; the predictions saved with this " +
  "page stay on screen.";

/** The masked tokens, and the action that masks another one. */
function createMasks({ source, act, announce, report }: RunContext) {
  const { tokens, masked } = source.meta;
  /** Positions; runs that were started are included. */
  const masks = signal<ReadonlySet<number>>(new Set(masked.map(({ token }) => token)));

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
      report(error);
    });
  }

  return { masks, toggleMask };
}

export function createPredictionsModel(context: RunContext, until: AbortSignal) {
  const { source, state, act, announce, report } = context;
  const { meta } = source;
  const { tokens } = meta;
  const n = tokens.text.length;

  const selection = selectionOf(state, ["token", "special"], until);
  const mode = signal<Mode>(openingMode(source, TOP_K));

  const { lists, painted, pieces, askAll } = createLists(source, state, until);
  const list = computed(() => lists[mode.value].state.value);
  let shown: Predictions | null = null;
  /** The list of the chosen mode; the one before it as long as nothing of it is here. */
  const current = computed((): Predictions | null => {
    shown = list.value.value ?? shown;
    return shown;
  });
  const busy = computed(() => list.value.status === "running" && list.value.value === null);
  /** Progress of the masked run; null where none runs or was stopped. */
  const progress = computed(() => {
    const { status, done, value } = pieces.state.value;
    const running = status === "running";
    const unfinished = value !== null && (status === "stopped" || status === "failed");
    const shown = mode.value === "masked" && (running || unfinished);
    return shown ? { done: running ? done : (value?.known.size ?? 0), running } : null;
  });

  /** Shown in place of the summary, up to the next choice. */
  const refusal = signal<string | null>(null);

  const summary = computed(() =>
    current.value === null ? "" : hitsOf(current.value, countedIn(meta)),
  );
  const status = computed(() => {
    if (!busy.value) return refusal.value ?? summary.value;
    return lists[mode.value] === pieces
      ? `Running ${formatCount(n)} inputs, each with one token masked …`
      : "Loading predictions …";
  });
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
  /** The position that the sentence speaks of; null as long as a run goes on. */
  const subject = computed(() =>
    current.value === null || progress.value?.running === true
      ? null
      : subjectOf(current.value, visible.value, meta),
  );
  const { opened, softmax } = openSoftmax(source, current, visible, until);
  let cached: { mode: Mode | null; answers: (Answer | null)[] } = { mode: null, answers: [] };
  /** Answers by position, null where none is known; those of a piece that came earlier are the same objects. */
  const answers = computed((): readonly (Answer | null)[] => {
    const shown = current.value;
    if (shown === null) return [];
    const before = shown.mode === cached.mode ? cached.answers : [];
    const now = tokens.text.map((_, i) =>
      shown.known.has(i) ? (before[i] ?? answerAt(shown, i, meta, scheme.value)) : null,
    );
    cached = { mode: shown.mode, answers: now };
    return now;
  });

  for (const of of ["as_is", "masked", "next"] as const) {
    onChange(lists[of].state, () => mode.peek() === of && follow(of), until);
  }
  /** Report why a list did not come, and show another one in its place. */
  function follow(of: Mode): void {
    const { status, value, failure } = lists[of].state.peek();
    if (status !== "stopped" && status !== "failed") return;
    if (value === null) mode.value = (current.peek() ?? painted)?.mode ?? "as_is";
    if (failure === null) return;
    if (of === "masked" && !source.live) refusal.value = NEEDS_KERNEL;
    else report(failure);
  }

  let before: Mode | null = null;
  watch(() => {
    const now = current.value?.mode ?? null;
    if (now !== before && before !== null && now !== null) {
      opened.value = null;
      const name = { masked: "Masked", as_is: "As is", next: "Next token" }[now];
      announce(`${name}: ${status.peek()}`);
    }
    before = now;
  }, until);

  /** Show `wanted`: at once what of it is here, and the rest when the kernel has answered. */
  function show(wanted: Mode, asked = true): void {
    if (asked) askAll();
    const before = mode.peek();
    if (before !== wanted) lists[before].stop();
    batch(() => {
      refusal.value = null;
      if (lists[wanted].state.peek().status !== "done") void lists[wanted].start();
      mode.value = wanted;
    });
  }

  /** Run the text up to a position, and a token after it. */
  function goOn(position: number, token: number): void {
    act?.({ kind: "continue", position, token }).catch(report);
  }

  state.on(["token", "special"], setTo(refusal, null), until);

  return {
    selection,
    current,
    mode,
    busy,
    status,
    progress,
    opened,
    softmax,
    visible,
    subject,
    answers,
    scheme,
    show,
    cancel: () => lists[mode.peek()].stop(),
    ...createMasks(context),
    goOn: act === null ? null : goOn,
  };
}

export type PredictionsModel = ReturnType<typeof createPredictionsModel>;
