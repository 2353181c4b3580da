/** State of the view Why as signals: the target, each method's contributions, their test, and what can be chosen. */

import { batch, computed, signal } from "@preact/signals-core";
import { firstUnits } from "../../draw/text-line";
import { askTargets, type Described, nameOf } from "../../figures/targets";
import { explain, isAbort, isLasting } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { Target } from "../../protocol/types";
import { signalOf } from "../../ui/mount";
import type { ViewContext } from "../contract";
import { askChoices, type Choice, type Question, questionOf, targetFrom } from "./choices";
import { askContributions, askTrust, type Contributions, METHODS, type Trust } from "./data";
import { sentence } from "./trust";

/** Up to so many tokens everything is computed unasked. */
const SHORT = 48;

/** How far a method is. `waiting`: it takes long, and is started by a button. */
export type Stage =
  | { readonly of: "waiting" | "idle" }
  | { readonly of: "running"; readonly share: number | null; readonly cancel: () => void }
  | { readonly of: "failed"; readonly reason: string }
  | { readonly of: "known"; readonly found: Contributions };

/** The test of the methods: not asked for, offered, running (a share is known after the first step), or its result in words. */
export type Test =
  | { readonly of: "none" | "offered" }
  | { readonly of: "running"; readonly share: number | null; readonly cancel: () => void }
  | { readonly of: "said"; readonly text: string };

const IDLE: Stage = { of: "idle" };

/** The panels below the strips. */
export interface Below {
  clear(): void;
  heads(of: Described, atOnce: boolean, signal: AbortSignal): void;
  lens(of: Described, signal: AbortSignal): void;
}

export function createWhyModel(context: ViewContext, below: Below) {
  const { source, state, signal: until, announce, report } = context;
  const { tokens, model, masked } = source.meta;
  const short = tokens.text.length <= SHORT || !source.live;

  const matrix = signalOf(context.matrix.get, (changed) => context.matrix.on(changed, until));
  /** As the matrix has them: tokens or words, with or without special ones. */
  const units = computed(() => matrix.value?.units ?? firstUnits(source.meta, state.get().special));
  const method = signalOf(
    () => state.get().method,
    (changed) => state.on(["method"], changed, until),
  );
  const shown = signal<Described | null>(null);
  /** The target and its value, once the first method has answered. */
  const titled = signal<{ readonly of: Described; readonly value: number } | null>(null);
  const stages = signal<readonly Stage[]>(METHODS.map(() => IDLE));
  const trust = signal<Trust | null>(null);
  const test = signal<Test>({ of: "none" });
  const untested = signal(false);
  /** Nothing can be explained. */
  const absent = signal(false);
  const proposed = signal<readonly Described[] | null>(null);
  /** Choices for a question; null in a saved page. */
  const listing = signal<{ question: Question; choices: readonly Choice[] } | null>(null);

  const foundAt = (index: number): Contributions | null => {
    const stage = stages.value[index];
    return stage?.of === "known" ? stage.found : null;
  };
  const found = (key: string): Contributions | null =>
    foundAt(METHODS.findIndex((method) => method.key === key));
  /** The chosen method, if it is here; else the first one that is. */
  const current = computed((): Contributions | null => {
    const known = METHODS.some(({ key }) => key === method.value) ? method.value : "decomposition";
    return found(known) ?? METHODS.map((_, i) => foundAt(i)).find((one) => one !== null) ?? null;
  });

  let life = new AbortController();
  until.addEventListener("abort", () => life.abort(), { once: true });
  const setStage = (index: number, stage: Stage): void => {
    stages.value = stages.peek().map((old, i) => (i === index ? stage : old));
  };

  async function compute(index: number): Promise<void> {
    const target = shown.peek()?.target;
    if (target === undefined) return;
    const { signal: ends } = life;
    const request = new AbortController();
    const running = (share: number | null): void =>
      setStage(index, { of: "running", share, cancel: () => request.abort() });
    running(null);
    try {
      const found = await askContributions(source, target, itemAt(METHODS, index).key, {
        signal: AbortSignal.any([ends, request.signal]),
        progress: (done, total) => running(total > 0 ? done / total : 0),
      });
      if (!ends.aborted) setStage(index, { of: "known", found });
    } catch (error) {
      if (ends.aborted) return;
      const { message, hint } = explain(error);
      const reason = isLasting(error) ? message : `${message} ${hint}`.trim();
      const again = isAbort(error) || /cancel/.test(message);
      setStage(index, again ? { of: "waiting" } : { of: "failed", reason });
    }
  }

  /** Test all methods that have answered. */
  async function runTest(): Promise<void> {
    const target = shown.peek()?.target;
    const known = METHODS.filter((_, i) => stages.peek()[i]?.of === "known").map(({ key }) => key);
    if (target === undefined || known.length === 0) return;
    const { signal: ends } = life;
    const request = new AbortController();
    const running = (share: number | null): void => {
      test.value = { of: "running", share, cancel: () => request.abort() };
    };
    running(null);
    try {
      const answer = await askTrust(source, target, known, {
        signal: AbortSignal.any([ends, request.signal]),
        progress: (done, total) => running(total > 0 ? done / total : 0),
      });
      if (ends.aborted) return;
      batch(() => {
        trust.value = answer;
        untested.value = false;
        test.value = { of: "said", text: sentence(answer) };
      });
    } catch (error) {
      if (ends.aborted) return;
      const { message, hint } = explain(error);
      const why = isLasting(error) ? "" : "The methods cannot be tested: ";
      test.value = isAbort(error)
        ? { of: "offered" }
        : { of: "said", text: `${why}${message} ${hint}`.trim() };
      untested.value = true;
    }
  }

  /** Explain a target: the first method at once, the others one after the other. */
  async function explainTarget(of: Described): Promise<void> {
    life.abort();
    life = new AbortController();
    const { signal: ends } = life;
    batch(() => {
      shown.value = of;
      trust.value = null;
      test.value = { of: "none" };
      untested.value = !short;
      stages.value = METHODS.map(() => ({ of: "waiting" }));
    });
    below.clear();
    list();
    await compute(0);
    if (ends.aborted) return;
    const first = current.value;
    if (first !== null) titled.value = { of, value: first.value };
    if (of.of === "token") below.lens(of, ends);
    for (const [i, { quick }] of METHODS.entries()) {
      if (i === 0 || (!short && !quick)) continue;
      await compute(i);
      if (ends.aborted) return;
    }
    if (short) await runTest();
    else test.value = { of: "offered" };
    if (!ends.aborted) below.heads(of, short, ends);
  }

  /** Targets with their words: of the page, and those that were explained before. */
  const known = new Map<string, Described>();

  async function open(): Promise<void> {
    try {
      const targets = await askTargets(source, until);
      if (until.aborted) return;
      for (const target of targets) known.set(JSON.stringify(target.target), target);
      proposed.value = targets;
      const [first] = targets;
      if (state.get().target !== null) await take();
      else if (first !== undefined) state.set({ target: first.target });
      else {
        list();
        refuse("This text has no word to explain.", "Choose a word in the ribbon.");
      }
    } catch (error) {
      if (isAbort(error) || until.aborted) return;
      const { message, hint } = explain(error);
      refuse(message, hint);
    }
  }

  function refuse(message: string, hint: string): void {
    absent.value = true;
    test.value = { of: "said", text: `${message} ${hint}`.trim() };
  }

  /** Explain the selected target. */
  async function take(): Promise<void> {
    const { target } = state.get();
    if (target === null || proposed.peek() === null) return;
    absent.value = false;
    const key = JSON.stringify(target);
    try {
      const of =
        known.get(key) ??
        (await askContributions(source, target, "decomposition", { signal: until }));
      if (until.aborted) return;
      known.set(key, of);
      announce(`Explaining ${nameOf(of)}.`);
      await explainTarget(of);
    } catch (error) {
      if (isAbort(error) || until.aborted) return;
      // The earlier explanation stays on screen.
      const { message, hint } = explain(error);
      report(message, hint);
      const earlier = shown.peek();
      if (earlier !== null) state.set({ target: earlier.target });
      else refuse(message, hint);
    }
  }

  // -- choices ----------------------------------------------------------------------------------

  const choose = (target: Target): void => state.set({ target });
  const firstWord = Math.max(0, tokens.special.indexOf(false));
  const question = (): Question => {
    const chosen = shown.peek();
    if (chosen !== null) return questionOf(chosen.target);
    return model.has.mlm
      ? { of: "token", position: firstWord, masked: true }
      : { of: "class", position: null };
  };
  let asking: AbortController | null = null;

  /** Ask for the choices of a question and list them; with `pick` the likeliest becomes the target. */
  async function list(of: Question = question(), pick = false): Promise<void> {
    if (!source.live) return;
    asking?.abort();
    const request = new AbortController();
    asking = request;
    const ends = AbortSignal.any([until, request.signal]);
    try {
      const choices = await askChoices(source, of, ends);
      if (ends.aborted) return;
      const [first, second] = choices;
      if (pick && first !== undefined) choose(targetFrom(of, first.id, second?.id ?? null));
      else listing.value = { question: of, choices };
    } catch (error) {
      if (isAbort(error) || ends.aborted) return;
      listing.value = { question: of, choices: [] };
      const { message, hint } = explain(error);
      report(message, hint);
    }
  }

  /** A word that the reader writes: the kernel knows whether the vocabulary has it. */
  async function write(of: Question, word: string): Promise<void> {
    try {
      const target = targetFrom(of, word, shown.peek()?.target.token ?? null);
      const request = { kind: "contributions", target, method: "decomposition" } as const;
      const answer = await source.slice(request, { signal: until });
      choose(answer.data.target as Target);
    } catch (error) {
      if (isAbort(error)) return;
      const { message, hint } = explain(error);
      report(message, hint);
    }
  }

  /** List what would be explained at the focus token. */
  function move(): void {
    const { token } = state.get();
    const now = question();
    if (proposed.peek() === null || now.of !== "token" || token === null || tokens.special[token]) {
      return;
    }
    const hidden = !masked.some((one) => one.token === token);
    void list(token === now.position ? now : { of: "token", position: token, masked: hidden });
  }

  state.on(["target"], () => void take(), until);
  state.on(["token"], move, until);
  return {
    matrix,
    units,
    shown,
    titled,
    stages,
    trust,
    test,
    untested,
    absent,
    proposed,
    listing,
    current,
    found,
    firstWord,
    compute,
    runTest,
    open,
    choose,
    list,
    write,
    stop: () => life.abort(),
  };
}

export type WhyModel = ReturnType<typeof createWhyModel>;
