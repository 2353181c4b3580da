/** State of the sums of a pinned cell as signals: what is asked, what is open, and the answers. */

import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import { required } from "../../protocol/required";
import type { SliceRequest, Source } from "../../protocol/types";
import { SELECTION_KEYS } from "../../state/state";
import { modeSignal, selectionOf, signalOf, watch } from "../../ui/mount";
import type { PinnedCell, ViewContext } from "../../views/contract";
import { toCsv } from "../exports/csv";
import { download } from "../exports/deliver";
import { askAhead, isShort } from "./ahead";
import { createWay, memoryOf } from "./back";
import {
  type Against,
  askCell,
  askEffects,
  askTrace,
  type By,
  type CellRequest,
  cellRequest,
  type Effects,
  effectsRequest,
  type Found,
  isAnswered,
  type OfCell,
  ofCell,
  SIDES,
  type Traced,
  traceRequest,
} from "./data";
import { checkedOf } from "./groups";
import { namesOf } from "./names";
import { createOff } from "./off";
import { panelOf } from "./panel";
import type { Follow } from "./sums";
import { sumsTable } from "./table";
import { taskOf } from "./task-of";

/** Levels of a trace. */
const DEPTH = 3;

const pairOf = (cell: PinnedCell | null): string => `${cell?.query} ${cell?.key}`;

const checkedParts = (of: Found) => ({ key: checkedOf(of, "key"), query: checkedOf(of, "query") });

/** The sum that is asked for, and what the panel opens about it. */
function createAnswers(
  source: Source,
  request: ReadonlySignal<CellRequest | null>,
  { checking, traceOpen }: Readonly<Record<"checking" | "traceOpen", ReadonlySignal<boolean>>>,
  until: AbortSignal,
) {
  const answered = computed(() => request.value !== null && isAnswered(source, request.value));
  const question = computed(() => (answered.value ? request.value : null));
  const task = taskOf<CellRequest, Found>(question, (of, step) => askCell(source, of, step), until);
  const found = computed(() => task.value?.state.value.value ?? null);
  /** Question for effects and trace, about the cell on screen. */
  const further = computed(() =>
    found.value === null || question.value === null
      ? null
      : { ...ofCell(question.value), by: found.value.by },
  );
  /** False for what a saved page lacks. */
  const checks = computed(() => {
    const [of, now] = [further.value, found.value];
    if (of === null || now === null) return false;
    const parts = checkedParts(now);
    return SIDES.every((side) => isAnswered(source, effectsRequest(of, side, parts[side])));
  });
  const traces = computed(
    () => further.value !== null && isAnswered(source, traceRequest(further.value, DEPTH)),
  );
  const wanted = (open: ReadonlySignal<boolean>, there: ReadonlySignal<boolean>) =>
    computed(() => (open.value && there.value ? further.value : null));
  const check = taskOf<OfCell, Effects>(
    wanted(checking, checks),
    (of, step) => askEffects(source, of, checkedParts(required(found.peek(), "The sum")), step),
    until,
  );
  const trace = taskOf<OfCell, Traced>(
    wanted(traceOpen, traces),
    (of, step) => askTrace(source, of, DEPTH, step),
    until,
  );
  const effects = computed(() => check.value?.state.value.value ?? null);

  /** Questions that the panel may open next about the sum on screen; none while the reader waits for an answer, or has canceled it. */
  const next = computed((): readonly SliceRequest[] => {
    const [of, now, at] = [further.value, found.value, request.value];
    const waits = [task, check, trace].some(({ value }) =>
      ["running", "stopped"].includes(value?.state.value.status ?? ""),
    );
    if (of === null || now === null || at === null || waits) return [];
    const parts = checkedParts(now);
    const other = now.others.find((each) => each !== now.by);
    const all = [
      ...SIDES.map((side) => effectsRequest(of, side, parts[side])),
      ...(now.others.includes("parts") ? [traceRequest(of, DEPTH)] : []),
      ...(other ? [{ ...at, by: other === now.others[0] ? null : other }] : []),
    ];
    return all.filter((each) => isAnswered(source, each));
  });
  const traced = computed(() => trace.value?.state.value.value ?? null);
  return { answered, task, found, checks, traces, check, effects, trace, traced, next };
}

export function createQkModel(
  place: HTMLElement,
  context: ViewContext,
  cell: ReadonlySignal<PinnedCell | null>,
) {
  const { source, state, signal: until } = context;
  const names = namesOf(source.meta);
  const first = cell.peek();
  // A saved page has the sums that were open when it was saved.
  const held =
    !source.live && first !== null && isAnswered(source, cellRequest(first, "others", null));
  const { open, intact } = memoryOf(state, held);
  const way = createWay(state, cell, until);
  const panel = panelOf(state, source.meta);
  const { compared, by, pairsOpen, traceOpen, headsOpen, checking } = panel;
  /** The pair whose row of keys is open. */
  const listed = signal<string | null>(null);

  const request = computed(() => {
    const of = cell.value;
    if (!open.value || of === null || of.merged) return null;
    const { against, pair } = compared.value;
    const holds = typeof against === "string" || pair === pairOf(of);
    return cellRequest(of, holds ? against : "others", by.value);
  });
  const { next, ...answers } = createAnswers(source, request, { checking, traceOpen }, until);
  const { found, effects } = answers;
  const { tokens, masked, heads_off = [] } = source.meta;
  /** The cell in a run with all heads on. */
  const intactKey = computed(() => JSON.stringify([tokens.text, masked, cell.value]));
  watch(() => {
    if (heads_off.length === 0 && found.value !== null)
      intact.set(intactKey.value, found.value.weight);
  }, until);
  if (source.live && isShort(source)) {
    const chosen = selectionOf(state, SELECTION_KEYS, until);
    // Whatever the reader chooses is another question, which comes first.
    askAhead(
      source,
      computed(() => chosen.value && [...next.value]),
      until,
    );
  }

  const follow: Follow = (side, { layer, head, source: read }) => {
    const at = cell.peek();
    if (at === null || layer === null || head === null || read === null) return;
    // On the key side the head stands at the key, and read its own source there.
    way.go({ layer, head, query: side === "query" ? at.query : at.key, key: read });
  };

  return {
    place,
    live: source.live,
    ...answers,
    /** True for a sum of the pinned cell that the kernel computes, or the page has. */
    has(against: Against, split: By | null): boolean {
      const at = cell.peek();
      return at !== null && isAnswered(source, cellRequest(at, against, split));
    },
    until,
    cell,
    names,
    mode: modeSignal(place, until),
    matrix: signalOf(context.matrix.get, (changed) => context.matrix.on(changed, until)),
    open,
    way,
    /** The first of the ways is what is given without a choice: one question, not two. */
    split(chosen: By): void {
      by.value = chosen === found.peek()?.others[0] ? null : chosen;
    },
    by,
    pairsOpen,
    traceOpen,
    headsOpen,
    checking,
    listing: computed(() => listed.value === pairOf(cell.value)),
    list(open: boolean): void {
      listed.value = open ? pairOf(cell.peek()) : null;
    },
    /** True where heads can be switched off. */
    switches: context.act !== null && !source.meta.parts,
    headsAreOff: heads_off.length > 0,
    /** Weight of the cell with all heads on, where some are off and it has been seen. */
    intact: computed(() => (heads_off.length > 0 ? (intact.get(intactKey.value) ?? null) : null)),
    panel,
    Off: createOff(context, panel),
    choose(against: Against): void {
      compared.value = { against, pair: pairOf(cell.peek()) };
      listed.value = null;
    },
    follow,
    save(of: Found, { layer, head, query, key }: PinnedCell): void {
      const csv = toCsv(sumsTable(of, effects.peek(), names));
      download(
        new Blob([csv], { type: "text/csv" }),
        `attn_widget-why_here-L${layer}H${head}-${query}-${key}.csv`,
      );
    },
  };
}

export type QkModel = ReturnType<typeof createQkModel>;
