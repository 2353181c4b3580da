/** Two texts and their score: what is asked, the matrix of the answer, what is pointed at, and what is typed. */

import { batch, computed, signal, untracked } from "@preact/signals-core";
import { onAbort } from "../../protocol/abort";
import { asking } from "../../protocol/asking";
import { isAbort, messageOf } from "../../protocol/failure";
import { Task } from "../../protocol/task";
import { modeSignal, selectionOf, watch } from "../../ui/mount";
import type { ViewContext } from "../../views/contract";
import {
  type Asked,
  askDeletions,
  askPairs,
  askRow,
  askSimilar,
  type Deletions,
  type MatrixKind,
  type Pairs,
  pairsRequest,
  type Row,
  type Shown,
  type SideName,
  type Similar,
  shownOf,
  type Term,
  wordlessOf,
} from "./data";
import { type Editing, sameUnit, type UnitOfText } from "./texts";

/** The word that is pointed at, or pinned. */
function createPlace() {
  const place = signal<UnitOfText | null>(null);
  const pinned = signal<UnitOfText | null>(null);
  return {
    pinned,
    pointAt: computed(() => pinned.value ?? place.value),
    point(next: UnitOfText | null): void {
      if (!sameUnit(place.peek(), next)) place.value = next;
    },
    pin(next: UnitOfText | null): void {
      pinned.value = sameUnit(pinned.peek(), next) ? null : next;
    },
    /** Another answer, or other units: what was pointed at is no more. */
    forget(): void {
      batch(() => {
        place.value = null;
        pinned.value = null;
      });
    },
  };
}

/** The answer to what is asked, and its matrix. */
function createAnswer({ source, state, report, signal: until }: ViewContext) {
  const selection = selectionOf(state, ["words"], until);
  const ranking = source.meta.similarity?.ranking ?? null;
  const passage = signal<number | undefined>(ranking?.passages[0]?.index);
  /** Texts that were typed in a page whose model runs there. */
  const typed = signal<readonly [string, string] | null>(null);
  const asked = computed<Asked>(() => ({
    ...(passage.value !== undefined && { passage: passage.value }),
    ...(typed.value !== null && { texts: typed.value }),
  }));
  const kind = signal<MatrixKind | null>(null);

  /**
   * The answer, what it is about, and, where texts are typed, the matrix that takes a moment alone: until the next answer
   * is here, all that is shown is of this one.
   */
  const similar = asking<{
    readonly at: Asked;
    readonly found: Similar;
    readonly quick: Pairs | null;
  }>(until, report);
  /** The matrix of the passage and kind that are shown. */
  const tasks = new Map<string, Task<Pairs>>();
  const task = computed<Task<Pairs> | null>(() => {
    const answer = similar.answer.value;
    const chosen = kind.value ?? answer?.found.matrices[0];
    if (answer === null || chosen === undefined) return null;
    const { at } = answer;
    const key = JSON.stringify(pairsRequest(chosen, at));
    let task = tasks.get(key);
    if (task === undefined) {
      task = new Task<Pairs>((step) => askPairs(source, chosen, at, step), until);
      tasks.set(key, task);
    }
    return task;
  });
  /** True of a matrix that the reader asks for: two inputs that are no texts have rows meanwhile. */
  const waits = (chosen: MatrixKind | null): boolean => {
    const found = similar.answer.value?.found;
    if (found === undefined || !source.live || wordlessOf(found).length < 2) return false;
    const which = chosen ?? found.matrices[0];
    return which !== undefined && found.slow?.includes(which) === true;
  };
  watch(() => {
    const now = task.value;
    if (now?.state.peek().status === "idle" && !waits(kind.value))
      untracked(() => void now.start());
  }, until);
  const shown = computed<Shown | null>(() => {
    const answer = similar.answer.value;
    if (answer === null) return null;
    const pairs = task.value?.state.value.value ?? answer.quick;
    return shownOf(answer.found, pairs, selection.value.words);
  });
  /** Scores without each word, for the answer that is shown; the matrix comes first. */
  const deletions = asking<{ readonly of: Similar; readonly found: Deletions | null }>(until);
  watch(() => {
    const answer = similar.answer.value;
    if (answer === null || shown.value?.matrix == null) return;
    untracked(() => {
      if (deletions.answer.peek()?.of === answer.found) return;
      void deletions.ask(async (signal) => ({
        of: answer.found,
        found: await askDeletions(source, answer.at, signal),
      }));
    });
  }, until);
  return {
    selection,
    ranking,
    passage,
    typed,
    asked,
    kind,
    waits,
    similar,
    tasks,
    task,
    shown,
    deletions,
  };
}

/** Asks again: for another passage, or for texts that were typed. */
function createActions(
  { source, report, signal: until }: ViewContext,
  { passage, typed, asked, similar, tasks }: ReturnType<typeof createAnswer>,
  forget: () => void,
) {
  /** The passage that the chosen one is compared with. */
  const against = signal<number | null>(null);
  const second = asking<{ readonly passage: number; readonly found: Similar }>(until, report);
  async function load(): Promise<void> {
    const at = asked.peek();
    await similar.ask(async (signal) => {
      const found = await askSimilar(source, at, { signal });
      forget();
      return { at, found, quick: null };
    });
  }
  /** Show what is typed; of a text that cannot be read the last picture stays. */
  async function follow(
    texts: readonly [string, string],
    refuse: (error: unknown) => void,
  ): Promise<void> {
    for (const task of tasks.values()) task.stop();
    tasks.clear();
    typed.value = texts;
    const at = asked.peek();
    await similar.ask(async (signal) => {
      try {
        const found = await askSimilar(source, at, { signal });
        const quick = await askPairs(source, "output", at, { signal });
        forget();
        return { at, found, quick };
      } catch (error) {
        if (!isAbort(error)) refuse(error);
        throw new DOMException("Told where it was typed.", "AbortError");
      }
    });
  }
  function choose(next: number): void {
    batch(() => {
      passage.value = next;
      if (against.peek() === next) against.value = null;
    });
    void load();
  }
  function compare(next: number | null): void {
    against.value = next;
    if (next !== null)
      void second.ask(async (signal) => {
        const found = await askSimilar(source, { passage: next }, { signal });
        return { passage: next, found };
      });
  }
  return { against, second, load, follow, choose, compare };
}

/** Texts that may be typed; null where nothing could read them. */
function createEditing(
  { source, act }: ViewContext,
  { ranking, typed }: ReturnType<typeof createAnswer>,
  follow: ReturnType<typeof createActions>["follow"],
): Editing | null {
  const { meta } = source;
  const given = (): Record<SideName, string> => {
    const [a, b] = typed.peek() ?? [meta.text, meta.text_pair ?? ""];
    return { a, b };
  };
  const follows = source.has?.({ kind: "similar", texts: ["", ""] }) === true;
  if (ranking !== null || (act === null && !follows)) return null;
  return {
    side: signal<SideName | null>(null),
    refused: signal(""),
    follows,
    given,
    run(side, text) {
      const texts = given();
      texts[side] = text;
      const { a, b } = texts;
      const refuse = (error: unknown) => {
        this.refused.value = messageOf(error);
      };
      this.refused.value = "";
      if (act !== null) act({ kind: "run", text: a, text_pair: b }).catch(refuse);
      else void follow([a, b], refuse);
    },
  };
}

/** A pointer that rests so long (ms) on a token wants its row. */
const REST_MS = 80;

/** The row of what is pointed at, where the matrix is not there. */
function createRows(
  { source, signal: until }: ViewContext,
  { similar, shown }: ReturnType<typeof createAnswer>,
  { pointAt }: ReturnType<typeof createPlace>,
) {
  const rows = asking<Row>(until);
  let resting: ReturnType<typeof setTimeout> | undefined;
  onAbort(until, () => clearTimeout(resting));
  watch(() => {
    const [at, answer, now] = [pointAt.value, similar.answer.value, shown.value];
    clearTimeout(resting);
    if (at === null || answer === null || now === null || now.matrix !== null) return;
    if (!source.live || wordlessOf(answer.found).length < 2) return;
    const ask = () => rows.ask((signal) => askRow(source, at, answer.at, { signal }));
    resting = setTimeout(() => void ask(), REST_MS);
  }, until);
  return computed(() => {
    const [at, row] = [pointAt.value, rows.answer.value];
    return row !== null && at?.side === row.side && at.unit === row.unit ? row : null;
  });
}

export function createSimilarityModel(host: Element, context: ViewContext) {
  const { state, signal: until } = context;
  const answer = createAnswer(context);
  const place = createPlace();
  const actions = createActions(context, answer, place.forget);
  /** Tokens of a place that is named and pointed at. */
  const outlined = signal<NonNullable<Term["place"]> | null>(null);
  state.on(["words"], place.forget, until);
  return {
    ...answer,
    ...place,
    ...actions,
    context,
    outlined,
    row: createRows(context, answer, place),
    mode: modeSignal(host, until),
    editing: createEditing(context, answer, actions.follow),
  };
}

export type SimilarityModel = ReturnType<typeof createSimilarityModel>;
